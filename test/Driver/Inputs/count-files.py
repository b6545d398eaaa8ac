"""count-files.py FOLDER...: how many names each has, of how many files."""
import os
import sys

for folder in sys.argv[1:]:
    inodes = [os.stat(os.path.join(path, name)).st_ino for path, _, names in os.walk(folder) for name in names]
    print("%s: %d names, %d files" % (os.path.basename(folder), len(inodes), len(set(inodes))))
