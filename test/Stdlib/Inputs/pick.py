"""pick.py KEY...: of a report in JSON on standard input, per workload its name and the value at each dotted key."""
import json
import sys

for name, report in json.load(sys.stdin).items():
    row = [name]
    for path in sys.argv[1:]:
        value = report
        for key in path.split("."):
            value = value[key]
        row.append(str(value))
    print(" ".join(row))
