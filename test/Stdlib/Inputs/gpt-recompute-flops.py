"""Compares what GPT training steps compute again with published formulas, from the sizes alone."""
import json
import sys
from fractions import Fraction

reports = json.load(sys.stdin)
kept = reports["kept"]["flops"]
for name, report in reports.items():
    L, h, H, V, s = (report["sizes"][key] for key in ("L", "D", "H", "V", "S"))
    B = report["sizes"]["B"] * report["micro_batches"]
    flops, again = report["flops"], report["flops"]["recomputed"]
    layers, heads = 72 * B * L * s * h * h, 6 * B * s * h * V
    cores = Fraction(layers * s, 6 * h)  # both products of attention, forward and backward
    published = {
        "kept": 0,
        # A block's forward is a third of its step.
        "whole": 96 * B * L * s * h * h * (1 + Fraction(s, 6 * h) + Fraction(V, 16 * L * h)) - layers - cores - heads,
        # The last product of a block, 2 B s (4 h) h, is not needed.
        "blocks": (layers + cores) / 3 - 8 * B * L * s * h * h,
        "attention": cores / 3,
    }[name.removesuffix("_split")]
    print("%s: recomputed contractions %s; contractions %s; hardware grows by %s" % (
        name, "as the formula" if again["contraction"] == published else "%s, not %s" % (again["contraction"], published),
        "as kept" if flops["contraction"] == kept["contraction"] else "CHANGED",
        "what is recomputed" if report["ranks"] > 1 or
        flops["hardware"] - kept["hardware"] == again["contraction"] + again["other"] == flops["other"] - kept["other"]
        else "something else"))
