"""closed-pipe.py COMMAND...: runs the command with a standard output that nobody reads.

It may die of SIGPIPE in silence, as under a shell, or, where SIGPIPE is ignored, say so in one line and exit with 3.
"""
import os
import signal
import subprocess
import sys

for restore in (True, False):
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE, restore_signals=restore, check=False)
    os.close(writer)
    message = run.stderr.decode()
    fine = ((run.returncode, message) == (-signal.SIGPIPE, "") if restore else
            (run.returncode, message) == (3, "error: cannot write standard output: Broken pipe\n"))
    if not fine:
        sys.exit("status %d, message: %s" % (run.returncode, message))
