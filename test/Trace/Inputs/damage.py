"""damage.py FILE OFFSET: changes one byte."""
import sys

with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)
    file.seek(-1, 1)
    file.write(bytes([byte[0] ^ 0xff]))
