"""large.py KIND COUNT: prints a program with COUNT of something."""
import sys

kind, count = sys.argv[1], int(sys.argv[2])
model = "stg 1\nmodel m(B = 4) {\n  input x[B]\n  weight w[B]\n  y = %s\n  output y\n}"
programs = {
    "parentheses": lambda: model % ("(" * count + "x * w" + ")" * count),
    "static-parentheses": lambda: "stg 1\nlet n = " + "(" * count + "1" + ")" * count,
    "signs": lambda: model % ("-" * count + "x"),
    "calls": lambda: model % ("silu(" * count + "x" + ")" * count),
    "blocks": lambda: "stg 1\nmodel m(B = 4) {\n" + "if B > 0 {\n" * count + "}\n" * count + "}",
    "sum": lambda: model % " + ".join(["x"] * count),
    "products": lambda: model % " + ".join(["x * w"] * count),
    "static-sum": lambda: "stg 1\nlet n = %s\nmodel m(B = n) {\n  input x[B]\n  y = x * 2\n  output y\n}" % " + ".join(["1"] * count),
    "operands-that-disagree": lambda: model % (" + ".join(["x"] * count) + " + q"),
}
print(programs[kind]())
