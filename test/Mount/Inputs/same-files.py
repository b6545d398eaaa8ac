"""same-files.py FOLDER: compares FOLDER/train.stgb, mounted, with the directory FOLDER/written, in every way."""
import mmap
import os
import sys

from mounting import Mount, digests, run


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(message):
    """(number, value) of each field of a protobuf message: numbers, or bytes."""
    found, at = [], 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
        elif key & 7 == 2:
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = message[at:at + size], at + size
        found.append((key >> 3, value))
    return found


def decode(path):
    """The messages of a trace, read through a mapping: length, message, length, message."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        messages, at = [], 0
        while at < len(data):
            size, at = varint(data, at)
            messages.append(fields(data[at:at + size]))
            at += size
        assert at == len(data), "cut short"
        return messages


folder = sys.argv[1]
written = os.path.join(folder, "written")
with Mount(os.path.join(folder, "train.stgb"), os.path.join(folder, "mounted")) as mount:
    assert digests(written) == digests(mount.folder), "different files"
    assert sorted(os.listdir(written)) == sorted(os.listdir(mount.folder))
    print("%d files are the same" % len(os.listdir(written)))

    ranks = [name for name in os.listdir(written) if name.endswith(".et")]
    decoded = {name: decode(mount.path(name)) for name in ranks}
    assert decoded == {name: decode(os.path.join(written, name)) for name in ranks}
    print("the same nodes by an independent decoder: %d" % sum(len(messages) - 1 for messages in decoded.values()))

    bundle = os.stat(os.path.join(folder, "train.stgb"))
    for name in os.listdir(written):
        shown = os.stat(mount.path(name))
        assert shown.st_size == os.path.getsize(os.path.join(written, name))
        assert shown.st_blocks == (shown.st_size + 511) // 512
        assert shown.st_mtime_ns == bundle.st_mtime_ns and shown.st_mode & 0o7777 == 0o644
    assert os.statvfs(mount.folder).f_files == len(os.listdir(written))
    print("sizes, blocks and times as they should be")

    run("stg-et", "diff", written, mount.folder)
    run("stg-et", "verify", mount.folder)
    print("stg-et finds no difference, and nothing wrong")
