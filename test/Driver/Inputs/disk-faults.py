"""disk-faults.py FOLDER FILE BUNDLED: builds FILE, and BUNDLED as a bundle, onto disks of many sizes mounted at FOLDER, full ones, a read-only one, and kills a build.

Mounting needs root: without, says so and succeeds.
"""
import os
import signal
import subprocess
import sys
import time

disk, program, bundled = sys.argv[1:]
os.makedirs(disk, exist_ok=True)


def mount(options):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def contents(path):
    if os.path.isfile(path):
        with open(path, "rb") as file:
            return file.read()
    return {os.path.relpath(os.path.join(folder, name), path): contents(os.path.join(folder, name))
            for folder, _, names in os.walk(path) for name in names}


def build(arguments):
    source = bundled if "--emit=bundle" in arguments else program
    return subprocess.run(["stgc", "build", source] + arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)


def must_fail(options, out, arguments, message, earlier=None):
    """On a disk with the options, and what is there before, the build fails and nothing changes."""
    if not mount(options):
        print("skipped: a small disk cannot be mounted here")
        sys.exit(0)
    try:
        if earlier:
            earlier(out)
        if "remount" in message:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            message = "Read-only file system"
        before = contents(disk)
        run = build(arguments + ["-o", out])
        text = run.stderr.decode()
        if run.returncode != 3 or message not in text or text.count("error[E606]") != 1:
            sys.exit("%s %s: status %d, message: %s" % (options, arguments, run.returncode, text))
        if contents(disk) != before or len(os.listdir(disk)) > (1 if before else 0):
            sys.exit("%s %s: left behind %s" % (options, arguments, os.listdir(disk)))
    finally:
        subprocess.run(["umount", disk], check=True)


def write(out):
    with open(out, "w") as file:
        file.write("earlier")


def write_file_in(out):
    os.mkdir(out)
    with open(os.path.join(out, "w.0.et"), "w") as file:
        file.write("earlier")


full = "No space left on device"
out = os.path.join(disk, "traces é of all ranks")
few = ["-w", "few"]
# Too few inodes for a directory: at its first file, in the middle, at the last one.
for inodes in (2, 3, 20, 37, 38):
    must_fail("size=1m,nr_inodes=%d" % inodes, out, few, full)
must_fail("size=1m,nr_inodes=20", out, few, full, write_file_in)
must_fail("size=1m,nr_inodes=20", out, few + ["--shard=0/2"], full)
must_fail("size=1m,nr_inodes=20", out, few + ["--shard=1/2", "--fan-out"], full, write_file_in)
# Every rank's file fits, the group file does not.
must_fail("size=%d" % (36 * 4096), out, few, full)
# A bundle: at its first bytes, in the middle, and in its last page.
whole = os.path.join(os.path.dirname(program), "whole.stgb")
subprocess.run(["stgc", "build", bundled, "--emit=bundle", "-o", whole], stdout=subprocess.DEVNULL, check=True)
pages = (os.path.getsize(whole) + 4095) // 4096
for size in (1, 2, pages // 2, pages - 1):
    must_fail("size=%d" % (4096 * size), out, ["--emit=bundle"], full)
    must_fail("size=%d" % (4096 * (size + 1)), out, ["--emit=bundle"], full, write)
must_fail("size=1m", out, few, "remount")
must_fail("size=1m", out, few + ["--shard=0/2"], "remount", write_file_in)
must_fail("size=1m", out, ["--emit=bundle"], "remount")

# Killed while it writes 20,000 files: what was there stays.
for arguments, old in (["-w", "w"], None), (["-w", "w"], write_file_in), (["-w", "w", "--ranks=1-19999"], write_file_in):
    out = os.path.join(disk, "out")
    if old:
        old(out)
    before = contents(out)
    process = subprocess.Popen(["stgc", "build", program, "-j", "1", "-o", out] + arguments, stdout=subprocess.DEVNULL)
    while process.poll() is None and not any(".partial-" in folder and names for folder, _, names in os.walk(disk)):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.returncode == 0:
        sys.exit("was done before it could be killed")
    after = {name: text for name, text in contents(out).items() if ".partial-" not in name}
    if after != before or (not old and os.path.exists(out)):
        sys.exit("killed: %s, then %s" % (sorted(before), sorted(after)[:3]))
    subprocess.run(["rm", "-rf", disk], check=True)
    os.makedirs(disk)
print("every fault left whole output")
