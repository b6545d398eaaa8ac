"""expand-gzip.py COMPRESSED RAW: the files of two folders are alike but for gzip, and how much smaller they are.

Each compressed file has one member. Its size is compared with what zlib makes of the same bytes at its default level.
"""
import os
import sys
import zlib

compressed_folder, raw_folder = sys.argv[1:]
names = sorted(os.listdir(raw_folder))
assert names == sorted(os.listdir(compressed_folder))
raw_size = size = zlib_size = 0
for name in names:
    with open(os.path.join(raw_folder, name), "rb") as file:
        raw = file.read()
    with open(os.path.join(compressed_folder, name), "rb") as file:
        compressed = file.read()
    if not name.endswith(".et"):
        assert compressed == raw, name
        continue
    stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    expanded = stream.decompress(compressed)
    assert stream.eof and not stream.unused_data, name
    assert expanded == raw, name
    raw_size += len(raw)
    size += len(compressed)
    zlib_size += len(zlib.compress(raw, 6)) + 12
print("%d files alike" % len(names))
print("4 times smaller" if size * 4 < raw_size else "%d of %d bytes" % (size, raw_size))
print("as small as zlib's" if size < zlib_size * 1.05 else "%d bytes, zlib has %d" % (size, zlib_size))
