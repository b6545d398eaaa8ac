"""expect-status.py STATUS COMMAND...: runs the command with this one's streams; fails unless it exits with STATUS."""
import subprocess
import sys

got = subprocess.run(sys.argv[2:], check=False).returncode
if got != int(sys.argv[1]):
    sys.exit("exit status %d, wanted %s: %s" % (got, sys.argv[1], " ".join(sys.argv[2:])))
