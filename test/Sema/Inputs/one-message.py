"""one-message.py FOLDER: each program there says at a line's end which message it must get: `# <- [E213]`.

Exactly these messages must come, at these lines, from `stgc check`.
"""
import json
import os
import re
import subprocess
import sys

folder = sys.argv[1]
faults = 0
for name in sorted(os.listdir(folder)):
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    wanted = [(code, number) for number, line in enumerate(lines, 1) for code in re.findall(r"# <- \[(\w+)\]", line)]
    run = subprocess.run(["stgc", "check", "--format=json", path], stdout=subprocess.PIPE, check=False)
    messages = json.loads(run.stdout)
    got = [(message["code"], message.get("line", 0)) for message in messages]
    if got != wanted or run.returncode != 1:
        faults += 1
        print("%s: wanted %s, got:" % (name, wanted))
        for message in messages:
            print("  %s, line %s: %s" % (message["code"], message.get("line"), message["message"]))
sys.exit(1 if faults else 0)
