# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`traffic` reads all of its source and writes all of its target, whatever their sizes."""

import importlib.util
import unittest

from workloads import WORKLOADS


@unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("torch", "triton")),
                     "no PyTorch or no Triton")
class TrafficTest(unittest.TestCase):
    # A pad's (4% more is written), and others: chunks that are read and stored.
    SIZES = ((32760, 32768), (1, 1), (1, 65536), (262144, 1), (7, 7), (1000, 1001), (1001, 1000),
             (3, 10), (10, 3), (131071, 262144), (262144, 131073), (1, (1 << 20) - 3),
             ((1 << 20) - 1, (1 << 20) - 2), ((1 << 20) - 2, (1 << 20) - 1))

    def testChunksAreDividedExactly(self):
        import torch
        from peers import traffic
        for read, stored in self.SIZES:
            count, *steps = traffic.divideChunks(read, stored)
            taken = traffic.listTaken(count, *steps)
            each = torch.arange(stored)
            # Of chunks i with i * stored // read = j, the first.
            expected = each * read // stored if stored >= read else -(-each * read // stored)
            self.assertTrue(torch.equal(taken, expected), (read, stored))
            loaded = torch.arange(count) * steps[0] >> traffic.SHIFT
            self.assertTrue(torch.equal(loaded.unique(), torch.arange(read)), (read, stored))

    def testTheLargestIndicesFit(self):
        from peers import traffic
        most = 1 << 63 - traffic.SHIFT
        bytesOf = traffic.CHUNK * traffic.WORD.itemsize
        for workload in WORKLOADS.values():
            self.assertLess(workload.leastWork()[1] / bytesOf, most, workload.name)
        count, *steps = traffic.divideChunks(most, most - 1)
        self.assertEqual((count - 1) * steps[1] >> traffic.SHIFT, most - 2)
        self.assertLess((count - 1) * max(steps), 1 << 63)
