"""Compares the parameters of a report of models/gpt3.stg with the closed formula, from the sizes alone."""
import json
import sys

DIGITS = {"gpt3_125m": (1e6, 0, "M"), "gpt3_350m": (1e6, 0, "M"), "gpt3_760m": (1e6, 0, "M"), "gpt3_175b": (1e9, 0, "B")}

for name, report in json.load(sys.stdin).items():
    L, h, V, s = (report["sizes"][key] for key in ("L", "D", "V", "S"))
    formula = 12 * L * h * h + 13 * L * h + (V + s) * h + 2 * h
    total = report["parameters"]["total"]
    unit, digits, letter = DIGITS.get(name, (1e9, 1, "B"))
    against = "= formula" if total == formula else "below formula by %d" % (formula - total)
    print("%s %s, %.*f %s" % (name, against, digits, total / unit, letter))
