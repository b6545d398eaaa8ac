#!/usr/bin/env python3
"""Compares a trace with uneven loads of experts, as `stg-et dump` shows it, with that of even loads.

check-uneven.py EVEN UNEVEN: operations of all ranks sum to the same, and those of experts differ between ranks; messages
agree at both ends; collectives have one size in their group.
"""
import collections
import re
import sys


def read(path):
    ranks, nodes = collections.OrderedDict(), None
    for line in open(path):
        if line.startswith("file "):
            nodes = ranks.setdefault(int(line.split()[-1]), [])
        elif re.match(r"\d+ ", line):
            words = line.split()
            fields = dict(word.split("=", 1) for word in words[3:] if "=" in word)
            nodes.append((int(words[0]), words[1], words[2], fields))
    return ranks


def operations(nodes):
    sums = collections.Counter()
    for _, kind, name, fields in nodes:
        if kind == "COMP":
            sums[name] += int(fields["num_ops"])
    return sums


def main():
    even, uneven = read(sys.argv[1]), read(sys.argv[2])
    assert even.keys() == uneven.keys()

    # Each kernel rounds up on each rank, to 1 where it has nothing to do; a few have one name.
    sums = [sum((operations(nodes) for nodes in ranks.values()), collections.Counter()) for ranks in (even, uneven)]
    assert sums[0].keys() == sums[1].keys()
    for name, total in sums[0].items():
        assert abs(total - sums[1][name]) <= 4 * len(even), (name, total, sums[1][name])
    own = {rank: operations(nodes) for rank, nodes in uneven.items()}
    differing = {name for name in sums[1] if len({ops[name] for ops in own.values() if name in ops}) > 1}
    assert differing and all(any(part in name for part in (".experts.", ".ye", "dxe", ".dpe")) for name in differing), differing

    sent, received = collections.defaultdict(list), collections.defaultdict(list)
    for rank, nodes in uneven.items():
        for _, kind, name, fields in nodes:
            if kind in ("SEND", "RECV"):
                ends = int(fields["comm_src"]), int(fields["comm_dst"])
                assert rank == ends[kind == "RECV"] and ends[0] != ends[1]
                messages = sent if kind == "SEND" else received
                messages[ends].append((int(fields["comm_tag"]), int(fields["comm_size"]), name.split("/")[0]))
    assert sent == received
    for messages in sent.values():
        tags = [tag for tag, _, _ in messages]
        assert tags == sorted(set(tags))
    groups = collections.defaultdict(set)
    for nodes in uneven.values():
        for _, kind, name, fields in nodes:
            if kind == "COLL":
                groups[fields["pg_name"], name].add((fields["comm_type"], fields["comm_size"]))
    assert all(len(sizes) == 1 for sizes in groups.values())
    print("same operations, %d kernels differ, %d messages" % (len(differing), sum(map(len, sent.values()))))


main()
