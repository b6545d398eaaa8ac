"""cannot-mount.py: mounts that fail; see cannot-mount.test. The folder has train.stgb, an empty folder and a full one."""
import os
import subprocess

from mounting import LIMIT, run

with open("other", "w", encoding="utf-8") as other, open("nothing", "w", encoding="utf-8"):
    other.write("a text, not a bundle\n")

for status, arguments in ((3, ["missing.stgb", "empty"]), (3, ["full", "empty"]), (1, ["other", "empty"]),
                          (1, ["nothing", "empty"]), (3, ["train.stgb", "nowhere"]), (3, ["train.stgb", "train.stgb"]),
                          (3, ["train.stgb", "full"]), (3, ["train.stgb", "empty", "--log", "none/log"]),
                          (2, ["train.stgb"]), (0, ["--help"])):
    print("%d: %s" % (status, run("stg-mount", *arguments, status=status).lstrip()))

# A mount of nothing over /dev, in a name space of its own, needs root.
hidden = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /dev && exec \"$@\"", "sh"]
tried = subprocess.run([*hidden, "true"], stderr=subprocess.DEVNULL, timeout=LIMIT, check=False).returncode == 0
print("without /dev/fuse: ", end="")
print("3: " + run(*hidden, "stg-mount", "train.stgb", "empty", status=3) if tried else "not tried", end="")
