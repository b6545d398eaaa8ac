"""many-readers.py FOLDER: see many-readers.test. Run with the word `read` and a folder, it is one of the readers: reads
all files again and again past the system's cache, says so after the first time, and stops at an error with status 5."""
import hashlib
import os
import subprocess
import sys
import time

from mounting import LIMIT, Mount, digests, run


def read_past_cache(path):
    # Opened for writing but not for appending: the system asks the mount for every byte.
    file = os.open(path, os.O_RDWR)
    try:
        pieces = []
        while piece := os.read(file, 10_007):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(file)


def read_on(folder, rounds):
    try:
        for count in range(rounds):
            found = {}
            for name in sorted(os.listdir(folder)):
                found[name] = hashlib.sha256(read_past_cache(os.path.join(folder, name))).hexdigest()
            if count == 0:
                print(sorted(found.items()), flush=True)
    except OSError:
        sys.exit(5)


def start_reader(folder, rounds):
    return subprocess.Popen([sys.executable, __file__, "read", folder, str(rounds)], stdout=subprocess.PIPE)


def main(folder):
    bundle, written = os.path.join(folder, "train.stgb"), os.path.join(folder, "written")
    wanted = str(sorted(digests(written).items())) + "\n"
    with Mount(bundle, os.path.join(folder, "mounted")) as mount:
        readers = [start_reader(mount.folder, 1) for _ in range(16)]
        assert all(reader.communicate(timeout=LIMIT)[0].decode() == wanted for reader in readers)
        print("16 readers at once: all read the same")

        readers = [start_reader(mount.folder, 1_000_000) for _ in range(4)]
        for reader in readers:
            reader.stdout.readline()
            reader.kill()
        assert all(reader.wait(LIMIT) == -9 for reader in readers)
        assert digests(mount.folder) == digests(written) and mount.process.poll() is None
        print("readers killed: the mount goes on")

        readers = [start_reader(mount.folder, 1_000_000) for _ in range(8)]
        for reader in readers:
            assert reader.stdout.readline().decode() == wanted
        time.sleep(0.05)  # each is in the middle of something
        mount.process.kill()
        assert all(reader.wait(LIMIT) == 5 for reader in readers)
        print("the mount killed: %d readers get errors" % len(readers))
        print("mounting there again: " + run("stg-mount", bundle, mount.folder, status=3), end="")
        run("fusermount3", "-u", "-z", mount.folder)


if sys.argv[1] == "read":
    read_on(sys.argv[2], int(sys.argv[3]))
else:
    main(sys.argv[1])
