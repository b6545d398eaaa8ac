"""no-changes.py FOLDER: tries to change what is mounted; see no-changes.test."""
import errno
import filecmp
import mmap
import os
import stat
import sys

from mounting import Mount, digests, run

folder = sys.argv[1]
written = os.path.join(folder, "written")
with Mount(os.path.join(folder, "train.stgb"), os.path.join(folder, "mounted")) as mount:
    name = "train.3.et"
    path, other = mount.path(name), mount.path("other")
    copy = os.path.join(folder, "copy")
    run(os.path.join(folder, "append"), path, copy)
    assert filecmp.cmp(copy, os.path.join(written, name), shallow=False)
    print("in | app: the whole file is read, nothing can be written")

    ways = {"O_RDWR|O_APPEND": os.O_RDWR | os.O_APPEND, "O_RDWR": os.O_RDWR, "O_WRONLY": os.O_WRONLY,
            "O_RDWR|O_CREAT|O_APPEND": os.O_RDWR | os.O_CREAT | os.O_APPEND}
    files = {way: os.open(path, flags) for way, flags in ways.items()}
    print("opened: " + ", ".join(files))

    changes = {
        "write": lambda: os.write(files["O_WRONLY"], b"x"),
        "pwrite": lambda: os.pwrite(files["O_RDWR"], b"x", 10),
        "append": lambda: os.write(files["O_RDWR|O_APPEND"], b"x"),
        "truncate": lambda: os.truncate(path, 0),
        "ftruncate": lambda: os.ftruncate(files["O_RDWR"], 1 << 20),
        "O_TRUNC": lambda: os.open(path, os.O_RDWR | os.O_TRUNC),
        "create": lambda: os.open(other, os.O_RDWR | os.O_CREAT),
        "unlink": lambda: os.unlink(path),
        "mkdir": lambda: os.mkdir(other),
        "rename": lambda: os.rename(path, other),
        "link": lambda: os.link(path, other),
        "symlink": lambda: os.symlink(name, other),
        "mknod": lambda: os.mknod(other, stat.S_IFIFO | 0o600),
        "chmod": lambda: os.chmod(path, 0o600),
        "chown": lambda: os.chown(path, os.getuid(), os.getgid()),
        "utime": lambda: os.utime(path, (1, 1)),
        "xattr": lambda: os.setxattr(path, "user.x", b"x"),
    }
    for what, change in changes.items():
        try:
            change()
        except OSError as error:
            assert error.errno == errno.EROFS, "%s: %s" % (what, error)
        else:
            sys.exit(what + " succeeds")
    print("refused: " + ", ".join(changes))

    try:
        mmap.mmap(files["O_RDWR"], 100)
    except OSError as error:
        assert error.errno == errno.ENODEV, error
        print("a mapping that could be written: refused")

    size = os.path.getsize(path)
    for way, file in files.items():
        os.lseek(file, 0, os.SEEK_SET)
        if way != "O_WRONLY":
            assert [os.pread(file, 9, at) for at in (size, size + 1, 1 << 40)] == [b""] * 3
    print("behind the end: 0 bytes")
    with open(os.path.join(written, name), "rb") as original:
        assert os.pread(files["O_RDWR"], 100, size - 1) == original.read()[-1:]
    print("at the end: the last byte")
    for file in files.values():
        os.close(file)
    assert digests(mount.folder) == digests(written)
    print("nothing has changed")
