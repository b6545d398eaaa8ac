"""small-disk.py FOLDER FILE: builds FILE twice into a disk of 64 KiB mounted at FOLDER: once for 2 ranks, which fits, and
once for 300, which does not. The second must say so with exit status 3 and leave the first as it was.

Mounting needs root: without, says so and succeeds.
"""
import os
import subprocess
import sys

folder, program = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], stderr=subprocess.DEVNULL, check=False).returncode:
    print("skipped: a small disk cannot be mounted here")
    sys.exit(0)
try:
    out = os.path.join(folder, "out")

    def contents():
        return sorted((name, open(os.path.join(out, name), "rb").read()) for name in os.listdir(out))

    subprocess.run(["stgc", "build", program, "-w", "small", "-o", out], check=True, stdout=subprocess.DEVNULL)
    before = contents()
    run = subprocess.run(["stgc", "build", program, "-w", "large", "-o", out], stderr=subprocess.PIPE, check=False)
    message = run.stderr.decode()
    if run.returncode != 3 or "No space left on device" not in message or message.count("error[E606]") != 1:
        sys.exit("status %d, message: %s" % (run.returncode, message))
    if contents() != before or os.listdir(folder) != ["out"]:
        sys.exit("left behind: %s, %s" % (os.listdir(folder), os.listdir(out)))
    print("nothing half-written")
finally:
    subprocess.run(["umount", folder], check=True)
