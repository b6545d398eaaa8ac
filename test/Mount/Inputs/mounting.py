"""What the tests of stg-mount share: mounting with a time limit on everything, and unmounting whatever happens."""
import hashlib
import os
import signal
import subprocess
import time

LIMIT = 60  # seconds for any one thing


def run(*command, status=0, limit=LIMIT):
    """The command's output, both streams; fails unless it exits with `status`."""
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, check=False)
    text = ended.stdout.decode()
    assert ended.returncode == status, "status %d, wanted %d: %s\n%s" % (ended.returncode, status, command, text)
    return text


def mounted_at(folder):
    """Whether the system has a mount there; unlike os.path.ismount, also if it no longer answers."""
    wanted = os.path.realpath(folder)
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        paths = [line.split(" ")[1].encode().decode("unicode_escape").encode("latin-1").decode() for line in mounts]
    return wanted in paths


def wait_until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "waited in vain until " + what
        time.sleep(0.01)


def heed_signals():
    """What was started in the background of a shell ignores SIGINT otherwise, and so would its children."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Mount:
    """A mounted bundle: with Mount(bundle, folder) as mount. In the foreground, so that its process is ours."""

    def __init__(self, bundle, folder, *options):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.errors = folder.rstrip("/") + ".stderr"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(["stg-mount", "-f", *options, bundle, folder], stderr=errors,
                                            preexec_fn=heed_signals)
        try:
            wait_until(lambda: mounted_at(folder) or self.process.poll() is not None, "it is mounted")
            assert self.process.poll() is None, self.said()
        except BaseException:
            self.__exit__()
            raise

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def said(self):
        with open(self.errors, encoding="utf-8") as errors:
            return errors.read()

    def end(self, signal_number=signal.SIGTERM):
        """The exit status after a signal."""
        self.process.send_signal(signal_number)
        return self.process.wait(LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if mounted_at(self.folder):
            subprocess.run(["fusermount3", "-u", "-z", self.folder], timeout=LIMIT, check=False)
        self.process.kill()
        self.process.wait(LIMIT)


def digests(folder):
    """SHA-256 of every file below, by path from there."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found
