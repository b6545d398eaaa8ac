"""folders.py FOLDER: a bundle of FOLDER/both.stg under a name that needs care; see folders.test."""
import errno
import os
import sys
import time

from mounting import Mount, digests, run

folder = sys.argv[1]
bundle = os.path.join(folder, "Bündel, mit Leer\\zeichen.stgb")
program = os.path.join(folder, "both.stg")
written = os.path.join(folder, "written")
run("stgc", "build", program, "--emit=bundle", "-o", bundle)
run("stgc", "build", program, "-w", "small", "-o", written)
with Mount(bundle, os.path.join(folder, "eingehängt, hier")) as mount:
    print("two workloads: " + ", ".join(sorted(os.listdir(mount.folder))))

    begin = time.monotonic()
    sizes = {entry.name: entry.stat().st_size for entry in os.scandir(mount.path("big"))}
    assert time.monotonic() - begin < 30
    assert set(sizes) == {"comm_groups.json"} | {"big.%d.et" % rank for rank in range(131_072)}
    for rank in (0, 1, 65_536, 131_071):
        with open(mount.path("big", "big.%d.et" % rank), "rb") as file:
            assert len(file.read()) == sizes["big.%d.et" % rank]
    print("%d ranks of big, every one as large as its file" % (len(sizes) - 1))

    with open("/proc/%d/status" % mount.process.pid, encoding="utf-8") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    print("memory of the mount: " + ("less than 200 MB" if peak < 200_000 else "%d kB" % peak))

    assert digests(mount.path("small")) == digests(written)
    print("files of small as written")

    missing = ["big.131072.et", "big.007.et", "big.-1.et", "big..et", "big.et", "small.0.et", "other"]
    assert not any(os.path.exists(mount.path("big", name)) for name in missing)
    print("no such files: " + ", ".join(missing))
    try:
        os.rmdir(mount.path("small"))
    except OSError as error:
        assert error.errno == errno.EROFS, error
        print("a folder cannot be removed")
