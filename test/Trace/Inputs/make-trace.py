"""Writes Chakra files from the text of `stg-et dump --kinds`: make-trace.py TEXT DIRECTORY.

Encodes by hand, so that tests do not read with the code that wrote. Lines beyond those of a dump:
  raw 0aff..      these bytes
  message 0aff..  these bytes behind their length
  cut N           take away the last N bytes of the file so far
"""
import os
import re
import struct
import sys

TYPES = ["INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "SEND", "RECV", "COLL"]
COLLECTIVES = ["ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER",
               "REDUCE_SCATTER_BLOCK", "BARRIER"]
KINDS = {"double": 3, "float": 5, "int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "bool": 27, "string": 29}
USUAL = {"is_cpu_op": "bool", "num_ops": "int64", "tensor_size": "uint64", "comm_type": "int64", "comm_size": "int64",
         "comm_src": "int32", "comm_dst": "int32", "comm_tag": "int32"}
TOKEN = re.compile(r'((?:[^\s"=:\[]|\[(?=[^\s]*\]))+)(?::(\w+))?=(\[[^\]]*\]|"(?:[^"\\]|\\.)*"|\S+)|"((?:[^"\\]|\\.)*)"|(\S+)')


def varint(value):
    value &= 2**64 - 1
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, payload):
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def scalar(number, kind, text):
    if kind == "string":
        return field(number, text.strip('"').encode())
    if kind == "double":
        return varint(number << 3 | 1) + struct.pack("<d", float(text))
    if kind == "bool":
        return field(number, int(text == "true"))
    return field(number, COLLECTIVES.index(text) if text in COLLECTIVES else int(text))


def attribute(name, kind, text):
    is_list = kind.endswith("_list")
    kind = kind.removesuffix("_list")
    if is_list:
        items = [item.strip() for item in text[1:-1].split(",") if item.strip()]
        value = field(KINDS[kind] + 1, b"".join(scalar(1, kind, item) for item in items))
    else:
        value = scalar(KINDS[kind], kind, text)
    return field(1, name.encode()) + value


def message(line):
    words, attributes = [], []
    deps = {"data": b"", "ctrl": b""}
    for key, kind, value, quoted, word in TOKEN.findall(line):
        if not key:
            words.append(quoted or word)
        elif key in deps:
            deps[key] = b"".join(varint(int(dep)) for dep in value[1:-1].replace(",", " ").split())
        else:
            attributes.append(attribute(key, kind or USUAL.get(key, "string"), value))
    if words[0] == "metadata":
        return field(1, words[1].encode()) + b"".join(field(2, one) for one in attributes)
    out = field(1, int(words[0])) + field(2, (words[2] if len(words) > 2 else "").encode())
    kind = words[1]
    out += field(3, TYPES.index(kind) if kind in TYPES else int(kind.removeprefix("TYPE_")))
    for number, name in ((4, "ctrl"), (5, "data")):
        out += field(number, deps[name]) if deps[name] else b""
    return out + b"".join(field(10, one) for one in attributes)


def main(text, directory):
    os.makedirs(directory, exist_ok=True)
    files, current = {}, None
    for line in open(text, encoding="utf-8"):
        line = line.strip()
        if not line or line.startswith(("#", "//")):
            continue
        word, _, rest = line.partition(" ")
        if word == "file":
            current = rest.split()[0]
            files[current] = b""
        elif word == "raw":
            files[current] += bytes.fromhex(rest)
        elif word == "message":
            files[current] += varint(len(bytes.fromhex(rest))) + bytes.fromhex(rest)
        elif word == "cut":
            files[current] = files[current][: -int(rest)]
        else:
            body = message(line)
            files[current] += varint(len(body)) + body
    for name, data in files.items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(data)


main(*sys.argv[1:])
