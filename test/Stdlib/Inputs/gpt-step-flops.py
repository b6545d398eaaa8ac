"""Compares the FLOPs of GPT training steps with the published formula, from the sizes alone."""
import json
import sys
from fractions import Fraction

for name, report in json.load(sys.stdin).items():
    L, h, H, V, s = (report["sizes"][key] for key in ("L", "D", "H", "V", "S"))
    B = report["sizes"]["B"] * report["micro_batches"]
    flops, ranks = report["flops"], report["ranks"]
    published = 72 * B * L * s * h * h * (1 + Fraction(s, 6 * h) + Fraction(V, 12 * h * L))
    once = flops["contraction"] + flops["other"]
    print("%s: %d ranks: contraction %s; hardware %s contraction + other" % (
        name, ranks, "as the formula" if flops["contraction"] == published
        else "%s, not %s" % (flops["contraction"], published),
        "=" if flops["hardware"] == once else "more than" if flops["hardware"] > once else "LESS THAN"))
    if flops["hardware"] != ranks * (flops["rank"]["contraction"] + flops["rank"]["other"]):
        print("  all ranks are not the sum of the ranks")
    # Each product over the pairs of queries and keys is 2 B s^2 h per layer; the workload `copied` does everything twice.
    backward = next(op for op in flops["ops"] if op["op"] == "attend_bwd")
    share = Fraction(2 if name == "copied" else 1, ranks)
    product, pairs = 2 * B * L * s * s * h * share, B * L * H * s * s * share
    print("  attend_bwd: %s products in contraction, %s in other" % (
        backward["contraction"] / product,
        "1 and element-wise work" if backward["other"] == product + 10 * pairs else backward["other"]))
