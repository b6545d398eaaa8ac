"""with-mount.py BUNDLE FOLDER -- COMMAND...: runs the command while the bundle is mounted."""
import sys

from mounting import Mount, run

with Mount(sys.argv[1], sys.argv[2]):
    print(run(*sys.argv[4:], limit=300), end="")
