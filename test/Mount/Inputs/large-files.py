"""large-files.py FOLDER: mounts FOLDER/large.stgb of large-bundle.cpp; see large-files.test."""
import os
import sys

from mounting import Mount

folder = sys.argv[1]
with Mount(os.path.join(folder, "large.stgb"), os.path.join(folder, "mounted")) as mount:
    size = os.path.getsize(mount.path("large.3.et"))
    print("%d bytes each" % size)
    places = (1 << 31, 1 << 32, size)
    for rank in range(4):
        with open(mount.path("large.%d.et" % rank), "rb", buffering=0) as file:
            assert file.seek(0, os.SEEK_END) == size
            for place in places:
                file.seek(place - 1000)
                around = b""
                while len(around) < 2000 and (piece := file.read(2000 - len(around))):
                    around += piece
                number = bytes([128 + rank, 128, 128, 128, 0])
                assert around == bytes(995) + number + bytes(min(1000, size - place)), (rank, place)
            file.seek(size + (1 << 33))
            assert file.read(10) == b""
    print("as they should be around " + ", ".join(map(str, places)))
    disk = os.statvfs(mount.folder)
    print("%d files, %d bytes on a disk of as many" % (disk.f_files, disk.f_blocks * disk.f_frsize))
