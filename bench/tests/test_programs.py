# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What no row runs makes no other program; whatever runs does."""

import unittest

import programs

ALIGNED = {"op": "aligned", "bytes": 16, "pointer": {"index": 0, "kind": "input"}}
SMALL = {"op": "<", "lhs": "batch", "rhs": 1000}


def makePlan(*variants, **others):
    """Of a step with variants (guards, section, threads)."""
    return {"steps": [{"variants": [
        {"guard": guards, "launches": [{"section": section, "block": [threads, 1, 1],
                                        "work": {"read": section}}]}
        for guards, section, threads in variants]}], **others}


class ProgramsTest(unittest.TestCase):
    def describe(self, plan, sections=("", "a", "b")):
        return programs.describeRun(plan, sections)

    def testVariantsBehindTheFirstThatHoldsDoNotRun(self):
        wide, plain = ([ALIGNED], 1, 256), ([], 2, 128)
        self.assertEqual(self.describe(makePlan(wide, plain)),
                         self.describe(makePlan(wide, ([], 2, 512)), ("", "a", "c")))
        self.assertNotEqual(self.describe(makePlan(wide, plain)),
                            self.describe(makePlan(([ALIGNED], 1, 512), plain)))
        self.assertNotEqual(self.describe(makePlan(wide, plain)),
                            self.describe(makePlan(wide, plain), ("", "c", "b")))

    def testVariantsBehindOthersMayRun(self):
        for guards in ([SMALL], [ALIGNED, SMALL], [{**ALIGNED, "bytes": 4096}]):
            wide = (guards, 1, 256)
            self.assertNotEqual(self.describe(makePlan(wide, ([], 2, 128))),
                                self.describe(makePlan(wide, ([], 2, 512))))

    def testSectionsAreKnownByWhatTheyHave(self):
        self.assertEqual(self.describe(makePlan(([], 1, 128))),
                         self.describe(makePlan(([], 2, 128)), ("", "b", "a")))

    def testOtherMembersCount(self):
        self.assertNotEqual(self.describe(makePlan(([], 1, 128), slots=[])),
                            self.describe(makePlan(([], 1, 128), slots=[64])))


if __name__ == "__main__":
    unittest.main()
