"""Runs a set of traces on a network that costs nothing: replay-times.py DUMP TFLOPS GBPS PIPELINE

DUMP is what `stg-et dump` prints. A node begins when what it waits for has ended, and lasts its roofline in whole
nanoseconds if it computes; a receive waits for its send, a collective for nothing. For the nodes of forward and backward: prints
the makespan, the bubble, and the busy time of the first rank in each of the PIPELINE parts that the mesh begins with.
"""
import collections
import re
import sys


def read(path):
    """Per rank its nodes: (id, type, name, ids waited for, attributes)."""
    ranks = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("file "):
                nodes = ranks[int(line.split()[-1])] = []
            elif line[:1].isdigit():
                number, kind, name, rest = re.match(r'(\d+) (\w+) ("[^"]*"|\S+)(.*)', line).groups()
                waits = [int(each) for group in re.findall(r"(?:data|ctrl)=\[([^]]*)\]", rest)
                         for each in group.split(",")]
                nodes.append((int(number), kind, name.strip('"'), waits, dict(re.findall(r"(\w+)=([^ \[]+)", rest))))
    return ranks


def main(path, tflops, gbps, pipeline):
    ranks = read(path)
    ends = {rank: {} for rank in ranks}
    done = dict.fromkeys(ranks, 0)
    busy = dict.fromkeys(ranks, 0)
    sent = collections.defaultdict(list)  # (from, to, tag) -> when
    received = collections.Counter()
    makespan = 0

    def advance(rank):
        """Runs the next node of a rank, in the order of its file; False if its message is not there."""
        nonlocal makespan
        number, kind, name, waits, attributes = ranks[rank][done[rank]]
        end = max((ends[rank][each] for each in waits), default=0)
        if kind == "COMP":
            flops, moved = float(attributes["num_ops"]), float(attributes["tensor_size"])
            length = int(flops / min(gbps * 1e9 * (flops / moved), tflops * 1e12) * 1e9)
            end += length
            if name[0] in "FBWR":
                busy[rank] += length
                makespan = max(makespan, end)
        elif kind == "SEND":
            sent[rank, attributes["comm_dst"], attributes["comm_tag"]].append(end)
        elif kind == "RECV":
            message = int(attributes["comm_src"]), str(rank), attributes["comm_tag"]
            if received[message] == len(sent[message]):
                return False
            end = max(end, sent[message][received[message]])
            received[message] += 1
        ends[rank][number] = end
        done[rank] += 1
        return True

    moved = True
    while moved:
        moved = False
        for rank, nodes in ranks.items():
            while done[rank] < len(nodes) and advance(rank):
                moved = True
    assert all(done[rank] == len(nodes) for rank, nodes in ranks.items()), "ranks wait for ever"
    bubble = 1 - sum(busy.values()) / (makespan * len(ranks))
    print("makespan %.3f us, bubble %.1f %%" % (makespan / 1e3, 100 * bubble))
    for part in range(pipeline):
        print("%d %.3f us" % (part, busy[part * len(ranks) // pipeline] / 1e3))


main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
