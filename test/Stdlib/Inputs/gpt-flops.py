"""Compares the FLOPs of GPT reports with the published formula, from the sizes alone."""
import json
import sys
from fractions import Fraction

for name, report in json.load(sys.stdin).items():
    L, h, V, B, s = (report["sizes"][key] for key in ("L", "D", "V", "B", "S"))
    flops = report["flops"]
    published = 72 * B * L * s * h * h * (1 + Fraction(s, 6 * h) + Fraction(V, 12 * h * L)) / 3
    causal = published - 4 * B * L * h * s * s + 4 * B * L * h * (s * (s + 1) // 2)
    fits = "full" if flops["contraction"] == published else "causal" if flops["contraction"] == causal else None
    print("%s: contraction %s, causal pairs %s, hardware %s" % (
        name, "as the formula" if fits else "%s, not %s" % (flops["contraction"], published),
        "yes" if fits == "causal" else "no",
        "= contraction + other" if flops["hardware"] == flops["contraction"] + flops["other"] and flops["other"] > 0
        else flops["hardware"]))
