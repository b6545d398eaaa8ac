"""Applies the edits that `stgc check --format=json FILE` offers, the first help of each message, to FILE itself.

Prints the code of each message and the new text of its line; exits with 1 if a message has no edits.
"""
import json
import subprocess
import sys

path = sys.argv[1]
run = subprocess.run(["stgc", "check", "--format=json", path], stdout=subprocess.PIPE, check=False)
messages = json.loads(run.stdout)
with open(path, "rb") as file:
    text = file.read()
edits = []
for message in messages:
    chosen = next((help["edits"] for help in message["helps"] if help["edits"]), None)
    if not chosen:
        sys.exit("%s: no edits: %s" % (message["code"], message["message"]))
    edits += chosen
for edit in sorted(edits, key=lambda edit: edit["begin"], reverse=True):
    text = text[: edit["begin"]] + edit["replacement"].encode() + text[edit["end"]:]
with open(path, "wb") as file:
    file.write(text)
for message in messages:
    print("%s: %s" % (message["code"], text.decode().splitlines()[message["line"] - 1].strip()))
