"""random-ranks.py WORLD COUNT: so many ranks of the world as a list for --ranks, the same in every run."""
import random
import sys

world, count = int(sys.argv[1]), int(sys.argv[2])
print(",".join(map(str, random.Random(5).sample(range(world), count))))
