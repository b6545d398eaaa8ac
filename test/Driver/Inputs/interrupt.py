"""interrupt.py FOLDER FILE: interrupts `stgc build FILE -o FOLDER/out` while it writes.

It must die of the signal and leave nothing in FOLDER. A build that had all its files before the signal came is tried again. Those who start
tests may ignore signals (a shell's `&` does): the build must not.
"""
import os
import signal
import subprocess
import sys
import time

folder, program = sys.argv[1:]


def started():
    try:
        return any(os.listdir(os.path.join(folder, name)) for name in os.listdir(folder))
    except FileNotFoundError:
        return False  # renamed meanwhile: done


for number in (signal.SIGINT, signal.SIGTERM):
    for attempt in range(5):
        os.makedirs(folder, exist_ok=True)
        build = subprocess.Popen(["stgc", "build", program, "-j", "1", "-o", os.path.join(folder, "out")], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
        while build.poll() is None and not started():
            time.sleep(0.001)
        build.send_signal(number)
        message = build.communicate()[1].decode()
        out = os.path.join(folder, "out")
        whole = os.path.isdir(out) and len(os.listdir(out)) == 20000
        if build.returncode != 0 and not whole:
            break
        subprocess.run(["rm", "-rf", folder], check=True)
    if build.returncode != -number or message or os.listdir(folder):
        sys.exit("status %d, left behind %s, message: %s" % (build.returncode, os.listdir(folder), message))
