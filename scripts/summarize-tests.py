#!/usr/bin/env python3
"""Adds up the results that scripts/test left: one line "N passed, N failed" at the end.

Every GoogleTest case and every lit test counts as one; any other ctest test (a check of scripts/check) counts as one. A
test program that fails without a failed case (a crash, a leak found at exit) adds one failure of its own.
"""
import os
import sys
import xml.etree.ElementTree as ElementTree


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []

    def add_cases(self, path, suite_failed, suite):
        """Counts the cases of a JUnit file of GoogleTest or lit; skipped ones count as neither."""
        failed_before = len(self.failed)
        cases = ElementTree.parse(path).iter("testcase") if os.path.exists(path) else []
        for case in cases:
            name = "%s.%s" % (case.get("classname"), case.get("name"))
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.append(name)
            elif case.find("skipped") is None and case.get("status") != "notrun":
                self.passed += 1
        if suite_failed and len(self.failed) == failed_before:
            self.failed.append("%s (see above: a crash, or a fault found at exit)" % suite)


def main(results):
    tally = Tally()
    path = os.path.join(results, "ctest.xml")
    if not os.path.exists(path):
        print("ctest wrote no results")
        print("0 passed, 1 failed")
        return 1
    for case in ElementTree.parse(path).iter("testcase"):
        name = case.get("name")
        failed = case.get("status") != "run"
        if name.startswith("unit-"):
            tally.add_cases(os.path.join(results, "gtest", name[len("unit-"):] + "Tests.xml"), failed, name)
        elif name == "lit":
            tally.add_cases(os.path.join(results, "lit.xml"), failed, name)
        elif failed:
            tally.failed.append(name)
        else:
            tally.passed += 1
    for name in tally.failed:
        print("failed: " + name)
    print("%d passed, %d failed" % (tally.passed, len(tally.failed)))
    return 1 if tally.failed or tally.passed == 0 else 0


sys.exit(main(sys.argv[1]))
