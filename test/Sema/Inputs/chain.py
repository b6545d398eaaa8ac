"""Programs at the bounds of elaboration: a chain of 200 layers, or 40 layers that call the next one twice."""
import sys

count, body = (200, "return l{0}(x)") if sys.argv[1] == "deep" else (40, "return l{0}(l{0}(x))")
print("stg 1")
for i in range(count):
    print("layer l%d(x[B, D]) -> [B, D] { %s }" % (i, body.format(i + 1)))
print("layer l%d(x[B, D]) -> [B, D] { return x * 2.0 }" % count)
print("model m(B = 2, D = 4) {\n  input x[B, D]\n  y = l0(x)\n  output y\n}")
