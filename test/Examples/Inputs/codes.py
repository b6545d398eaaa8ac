"""The codes of `stgc check --format=json`, each once, with how often it was said."""
import collections
import json
import sys

codes = collections.Counter(entry["code"] for entry in json.load(sys.stdin))
print(" ".join("%s*%d" % (code, codes[code]) for code in sorted(codes)))
