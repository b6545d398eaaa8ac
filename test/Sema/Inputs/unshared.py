"""unshared.py LIBRARY FILE SETTING...: compiles LIBRARY + FILE twice, as it is and with every iteration walked on its own.

A setting that names an iteration (`blocks[0].f.k=0`), here one that changes nothing, makes the compiler walk every
iteration. Both programs must be equal to the byte, and run. Prints their numbers of bodies and units.
"""
import subprocess
import sys

library, path, *settings = sys.argv[1:]
with open(library, encoding="utf-8") as file:
    text = file.read()
with open(path, encoding="utf-8") as file:
    text += file.read()
whole = path + ".whole.stg"
with open(whole, "w", encoding="utf-8") as file:
    file.write(text)


def compiled(*more):
    return subprocess.run(["stgc", "build", "--emit=ir", whole, *more], stdout=subprocess.PIPE, check=True).stdout.decode()


shared, walked = compiled(), compiled(*["--set=" + setting for setting in settings])
if shared != walked:
    sys.exit("not what walking every iteration gives:\n%s\n----\n%s" % (shared, walked))
subprocess.run(["stg-opt", "-", "--interpret=3"], input=shared.encode(), stdout=subprocess.DEVNULL, check=True)
print("%d bodies, %d units" % (shared.count("\nbody "), shared.count("\nunit ")))
