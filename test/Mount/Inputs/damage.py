"""damage.py FOLDER: mounts damaged copies of FOLDER/train.stgb; see damage.test."""
import errno
import os
import sys

from mounting import Mount, digests, mounted_at, run

folder = sys.argv[1]
with open(os.path.join(folder, "train.stgb"), "rb") as file:
    whole = file.read()
empty = os.path.join(folder, "empty")
os.mkdir(empty)


def write(name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as copy:
        copy.write(content)
    return path


def flipped(at):
    return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]


def read_all(mount, passes):
    """Names of the files that cannot be read, and digests of the others."""
    bad, good = set(), {}
    for _ in range(passes):
        for name in os.listdir(mount.folder):
            if name.endswith(".et"):
                try:
                    with open(mount.path(name), "rb") as rank:
                        rank.read()
                    good[name] = None
                except OSError as error:
                    assert error.errno == errno.EIO, error
                    bad.add(name)
    return bad, good


for title, path in (("cut short", write("cut.stgb", whole[:-100])), ("index", write("index.stgb", flipped(len(whole) - 200))),
                    ("no bundle", write("none.stgb", b"stgc build\n" * 100))):
    print("%s: status 1: %s" % (title, run("stg-mount", path, empty, status=1).strip()))
    run("stg-mount", "-f", path, empty, status=1)
assert not mounted_at(empty)
print("nothing is mounted")

damaged = write("flipped.stgb", flipped(2_000))
with Mount(damaged, os.path.join(folder, "flipped")) as mount:
    unreadable, readable = read_all(mount, passes=3)
    expected = digests(os.path.join(folder, "written"))
    assert unreadable and readable
    for name in readable:
        assert run("sha256sum", mount.path(name)).split()[0] == expected[name]
    print("a flipped byte: %d files cannot be read, %d are as written" % (len(unreadable), len(readable)))
    print(mount.said(), end="")

log = os.path.join(folder, "log")
with Mount(damaged, os.path.join(folder, "logged"), "--log", log) as mount:
    read_all(mount, passes=2)
    assert mount.said() == ""
with open(log, encoding="utf-8") as lines:
    print("in a file: " + lines.read(), end="")

cut = write("later.stgb", whole)
with Mount(cut, os.path.join(folder, "later")) as mount:
    os.truncate(cut, 4096)
    unreadable, readable = read_all(mount, passes=2)
    assert len(unreadable) == 16 and not readable, readable
    print("cut short under the mount: no file can be read")
    print(mount.said(), end="")
