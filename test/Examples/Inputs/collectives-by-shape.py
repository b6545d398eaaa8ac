"""collectives-by-shape.py MICRO-BATCHES: of `stgc explain --comm` on standard input, how often a rank joins each kind of
collective over each axis per micro-batch, by the dims of the tensors."""
import re
import sys

batches = int(sys.argv[1])
HEAD = re.compile(r"^  (\w+) +(\S+) +\S+ \S+ x (\d+) ")
LAYOUT = re.compile(r"^      \[([^\]]*)\] -> ")

counts, head = {}, None
for line in sys.stdin:
    if line.startswith("gradient sync"):
        break
    if match := HEAD.match(line):
        head = match
    elif head and (match := LAYOUT.match(line)):
        dims = ", ".join(dim.split("/")[0] for dim in match[1].split(" @ ")[0].split(", "))
        key = "%s %s [%s]" % (head[1], head[2], dims)
        counts[key] = counts.get(key, 0) + int(head[3])
        head = None
for key in sorted(counts):
    print("%s: %d" % (key, counts[key] // batches))
