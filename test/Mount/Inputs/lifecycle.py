"""lifecycle.py FOLDER: begins and ends mounts of FOLDER/train.stgb; see lifecycle.test."""
import os
import signal
import subprocess
import sys

from mounting import LIMIT, Mount, mounted_at, run, wait_until

folder = sys.argv[1]
bundle = os.path.join(folder, "train.stgb")


def in_background(shown_bundle, directory):
    """The number of files; unmounts again."""
    try:
        assert run("stg-mount", shown_bundle, directory) == ""
        return len(os.listdir(directory))
    finally:
        run("fusermount3", "-u", directory)
        wait_until(lambda: not mounted_at(directory), "it is unmounted")


directory = os.path.join(folder, "background")
os.mkdir(directory)
count = in_background(bundle, directory)
assert os.listdir(directory) == []
print("in the background: %d files at once, gone after fusermount3 -u" % count)
os.chdir(folder)
print("relative paths: %d files" % in_background("train.stgb", "background"))

for name in ("SIGTERM", "SIGINT", "SIGHUP"):
    with Mount(bundle, os.path.join(folder, name)) as mount:
        print("%s: status %d, " % (name, mount.end(getattr(signal, name))), end="")
        print("still mounted" if mounted_at(mount.folder) else "unmounted")

with Mount(bundle, os.path.join(folder, "by-command")) as mount:
    run("fusermount3", "-u", mount.folder)
    print("fusermount3 -u: status %d, " % mount.process.wait(LIMIT), end="")
    print("still mounted" if mounted_at(mount.folder) else "unmounted")

with Mount(bundle, os.path.join(folder, "busy")) as mount:
    reader = subprocess.Popen(["sh", "-c", "while cat %s/*.et; do :; done > /dev/null 2>&1" % mount.folder])
    print("SIGTERM under a reader: status %d, " % mount.end(), end="")
    reader.wait(LIMIT)
    print("still mounted" if mounted_at(mount.folder) else "unmounted")

with Mount(bundle, os.path.join(folder, "twice")) as mount:
    print("mounted twice: status 3: " + run("stg-mount", bundle, mount.folder, status=3), end="")
