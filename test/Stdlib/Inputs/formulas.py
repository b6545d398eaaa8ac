"""formulas.py NUMBERS FORMULAS: works the formulas out with exact fractions and compares them with the numbers."""
import json
import re
import sys
from fractions import Fraction


def pairs(mask, queries, keys):
    """(query, key) pairs; query i stands at position keys - queries + i."""
    kind, size = mask
    if kind == "full":
        return queries * keys
    seen = [keys - queries + i + 1 for i in range(int(queries))]
    return Fraction(sum(seen if kind == "causal" else [min(count, size) for count in seen]))


def work_out(formula, sizes):
    names = {name: Fraction(value) for name, value in sizes.items()}
    names.update(pairs=pairs, full=("full", 0), causal=("causal", 0), window=lambda n: ("window", int(n)), F_=Fraction)
    text = re.sub(r"\b(\d+)\b", r"F_(\1)", formula.replace("^", "**"))
    text = re.sub(r"\*\*F_\((\d+)\)", r"**\1", text)
    return eval(text, {"__builtins__": {}}, names)


def walk(number, formula, sizes, path, results):
    if isinstance(number, dict):
        for key in number:
            walk(number[key], formula[key], sizes, path + [key], results)
    elif isinstance(number, list):
        for i, entry in enumerate(number):
            walk(entry, formula[i], sizes, path + [str(i)], results)
    elif isinstance(formula, str) and not isinstance(number, str):
        value = work_out(formula, sizes)
        results.append(value == number or abs(value - Fraction(number)) <= abs(value) / 10**15)
        if not results[-1]:
            print("%s: %s = %s, not %s" % (".".join(path), formula, value, number), file=sys.stderr)


def main(numbers_path, formulas_path):
    with open(numbers_path) as numbers_file, open(formulas_path) as formulas_file:
        numbers, formulas = json.load(numbers_file), json.load(formulas_file)
    for name in numbers:
        results = []
        walk(numbers[name], formulas[name], numbers[name]["sizes"], [name], results)
        print("%s: %d formulas, %d wrong" % (name, len(results), results.count(False)))


main(*sys.argv[1:])
