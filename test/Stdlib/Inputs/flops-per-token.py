"""Of reports of forward passes in JSON: per workload three times the contraction FLOPs per token, in GFLOP."""
import json
import sys

for name, report in json.load(sys.stdin).items():
    print("%s %.3f" % (name, 3e-9 * report["flops"]["contraction"] / (report["sizes"]["B"] * report["sizes"]["S"])))
