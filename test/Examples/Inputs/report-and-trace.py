"""report-and-trace.py REPORT STATS: compares a report's figures of a rank with what its trace holds, both as JSON."""
import json
import sys

with open(sys.argv[1]) as report_file, open(sys.argv[2]) as stats_file:
    (report,), stats = json.load(report_file).values(), json.load(stats_file)
traced, = stats["classes"]
rank = report["classes"][0]
print("nodes %s" % ("alike" if (rank["nodes"], rank["ranks"]) == (traced["nodes"], traced["count"]) else "differ"))


def rows(communication):
    return sorted((row["kind"].upper(), row["axes"], row["group_size"], row["count"], row["bytes"])
                  for row in communication)


same = rows(report["communication"]) == rows(traced["communication"])
print("communication: %d rows %s" % (len(traced["communication"]), "alike" if same else "differ"))
# A node has at least one FLOP in a trace, and none of a fraction.
difference = stats["total"]["flops"] - report["flops"]["hardware"]
print("FLOPs %s" % ("alike" if 0 <= difference <= stats["total"]["nodes"] else "differ by %d" % difference))
