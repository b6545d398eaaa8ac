"""Prints of each workload of reports: ranks, parameters, active ones, GFLOP per token, what ranks compute more than once, kinds of
collectives."""
import json
import sys

for path in sys.argv[1:]:
    with open(path) as file:
        for name, run in json.load(file).items():
            flops = run["flops"]
            tokens = run["sizes"]["B"] * run["sizes"]["S"] * run["micro_batches"]
            repeated = flops["hardware"] / (flops["contraction"] + flops["other"]) - 1
            print(f"{name}: {run['ranks']} ranks in {len(run['classes'])} classes, {run['parameters']['total']} parameters,"
                  f" {run['parameters']['active']} active, {1e-9 * flops['contraction'] / tokens:.1f} GFLOP per token,"
                  f" {100 * repeated:.3f} % repeated")
            for row in run["communication"]:
                print(f"  {row['kind']} {row['axes']} {row['group_size']}: {row['count']} x {row['bytes'] // row['count']}")
