"""Prints of each workload of reports: ranks, parameters, FLOPs of the model and computed again, the fullest rank's peak."""
import json
import sys

for path in sys.argv[1:]:
    with open(path) as file:
        for name, workload in json.load(file).items():
            classes = workload["memory"]["classes"]
            peak = workload["memory"]["peak"]
            assert peak == max(row["peak"] for row in classes), name
            assert all(row["peak"] == sum(row["alive"].values()) for row in classes), name
            flops = workload["flops"]
            print(f"{name}: {workload['ranks']} ranks, {workload['parameters']['total']} parameters,"
                  f" {flops['contraction']:.6e} + {flops['recomputed']['contraction']:.4e} FLOPs, {peak} bytes")
