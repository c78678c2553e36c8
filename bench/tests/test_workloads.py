# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured, and by whom."""

import math
import unittest

import compare
import embeddings
import parts
import peers
import tensors
from workloads import CEILINGS, EMBEDDINGS, GRIDS, GROUPS, LISTED, PARTS, TABLE, WORKLOADS

H200 = CEILINGS["NVIDIA H200"]


class WorkloadTest(unittest.TestCase):
    def testGroups(self):
        self.assertEqual({name: len(members) for name, members in GROUPS.items()},
                         {"linear 16-bit": 18, "linear fp16 relu": 9, "linear bf16 gelu": 9,
                          "linear tf32": 9, "swiglu": 14, "gating": 14, "narrow linear": 24,
                          "prompt linear": 21, "odd linear": 24, "linear exact fp32": 14,
                          "long linear": 48, "parts": len(PARTS), "embeddings": 25,
                          **{f"parts {family}": len(rows)
                             for family, rows in parts.FAMILIES.items()}})

    def testNamesAreUniqueAndHaveWork(self):
        self.assertEqual(len(WORKLOADS), len(TABLE) + len(GRIDS))
        for name, workload in WORKLOADS.items():
            self.assertRegex(name, "^[A-Za-z0-9_]+$")  # as tools/bisect.sh takes it
            flops, size = workload.leastWork()
            self.assertTrue(size > 0 and (flops > 0) != (workload.kind in LISTED), name)

    def testFloors(self):
        for name, floor in (("gating_seed_4m", 0.378), ("linear_relu_4096", 0.196),
                            ("dlrm_outer_main_b2048", 0.564), ("rope_fwd", 0.252),
                            ("lora_4096_b8192", 0.249), ("dlrm_dot_mlperf_b65536", 0.451),
                            ("exact_linear_relu_fp32_4096x4096x4096", 1.178)):
            self.assertAlmostEqual(WORKLOADS[name].floorMs(H200), floor, places=3, msg=name)

    def testTableIsChosenByDefault(self):
        self.assertEqual(compare.parseArguments([]).workloads, [w.name for w in TABLE])

    def testPatterns(self):
        options = compare.parseArguments(["--only", "rope_*,grid_gating_*_64x64x64"])
        self.assertEqual(options.workloads,
                         ["rope_fwd", "rope_bwd", "rope_fwd_fp16", "grid_gating_fp16_64x64x64"])

    def testContenders(self):
        options = compare.parseArguments(["--peers", "fusec_graph,xla"])
        self.assertEqual(options.peers, ["eager", "xla", "fusec", "fusec_graph"])
        self.assertFalse({"autotune", "autotune_graph"}
                         & set(compare.parseArguments(["--quick"]).peers))


class PartsTest(unittest.TestCase):
    """What is no matmul: sizes, and what is counted of them."""

    # Least bytes, by hand.
    BYTES = {
        "parts_sum_squares_fp32_8192x8192_0_1": 4 * (8192 * 8192 + 1),
        "parts_mean_fp16_64x1024x512_1": 2 * (64 * 1024 * 512 + 64 * 512),
        "parts_sum_fp32_65536x512_0": 4 * (65536 * 512 + 512),
        "parts_transpose_fp32_8192x8192_1_0": 8 * 8192 * 8192,
        "parts_add_transposed_fp32_8192x8192": 12 * 8192 * 8192,
        "parts_fm_fp32_65536x39x16": 4 * 65536 * (39 * 16 + 1),
        "parts_rope_interleaved_fp16_8x4096x32x128": 4 * 8 * 4096 * 32 * 128 + 4 * 4096 * 64,
        "parts_softmax_fp32_256x65536_1": 8 * 256 * 65536,
        "parts_concat_fp16_16384_1_13_16_32_64_100_128_256_512": 4 * 16384 * 1121,
        "parts_layer_norm_fp32_131072x96": 8 * 131072 * 96 + 8 * 96,
        "parts_argmax_fp16_8192x32000_1": 2 * 8192 * 32000 + 8 * 8192,
        # Of 524,288 rows e^-1/2 are not drawn.
        "parts_gather_fp32_262144x128_524288": 4 * 128 * (206291 + 262144) + 8 * 262144,
        "parts_cast_bf16_4095x4097_fp32_bf16": 6 * 4095 * 4097,
        "parts_softmax_fp16_4x1024_1": 4 * 4 * 1024,
        # Every second of its elements is taken, and whole sectors are read.
        "parts_slice_fp32_4096x8192_1_1_8192_2": 4 * 4096 * (8192 + 4096),
        "parts_slice_fp32_16384x4096_1_1024_3072": 2 * 4 * 16384 * 2048,
        # Of 512 sectors of a row, and of 256, 1 - e^-2 and 1 - e^-4 are drawn.
        "parts_gather_columns_fp32_8192x4096_1024": 4 * 8192 * (3542.76 + 1024) + 8 * 1024,
        "parts_gather_columns_fp16_8192x4096_1024": 2 * 8192 * (4021.57 + 1024) + 8 * 1024,
    }

    def testBytes(self):
        for name, size in self.BYTES.items():
            self.assertAlmostEqual(WORKLOADS[name].leastWork()[1] / size, 1, places=5, msg=name)

    def testFromFourKilobytesToTwoGigabytes(self):
        self.assertGreaterEqual(len(PARTS), 200)
        for workload in PARTS:
            self.assertTrue(1 << 12 <= workload.leastWork()[1] <= 1 << 31, workload.name)

    def testEveryKindIsMeasured(self):
        self.assertEqual({workload.kind for workload in PARTS}, set(tensors.TENSORS))

    def testDistinctRows(self):
        self.assertEqual(tensors.countDistinct(1, 10), 1)
        self.assertEqual(tensors.countDistinct(1000, 1), 1)
        self.assertEqual(tensors.countDistinct(10, 1000), 10)
        self.assertEqual(tensors.countDistinct(2, 2), 2)  # 1.5

    def testSectorsOfWhatIsTakenOneByOne(self):
        for step, read in ((1, 64), (2, 128), (8, 512), (16, 512), (100, 512)):
            (x,), _ = tensors.slice_((64, 100), 1, 0, step, step)
            self.assertEqual(x.leastBytes("fp32"), 4 * read)
        (x,), _ = tensors.slice_((64, 100), 0, 0, 64, 2)
        self.assertEqual(x.leastBytes("fp32"), 4 * 32 * 100)
        (x, _), _ = tensors.gatherColumns((64, 8), 1)
        self.assertEqual((x.leastBytes("fp32"), x.leastBytes("fp16")), (64 * 32, 64 * 16))


class EmbeddingsTest(unittest.TestCase):
    def testBytes(self):
        alone = WORKLOADS["embeddings_alone_fp32_262144x1_64"]
        distinct = 400000 * (1 - math.exp(-262144 / 400000))
        self.assertAlmostEqual(alone.leastWork()[1] / (
            256 * (distinct + 262144) + 8 * 262144), 1, places=4)
        hot = WORKLOADS["embeddings_mlperf_fp16_2048x214_128"]
        # 26 vectors are written a sample, and most that are read differ.
        written, ids = 2048 * 26 * 256, 2048 * 214
        self.assertTrue(0.7 * 256 * ids < hot.leastWork()[1] - written - 8 * ids < 256 * ids)

    def testBytesOfNarrowTables(self):
        halves, *narrow = (WORKLOADS[f"embeddings_bags_{kind}_8192x10_64"].leastWork()[1]
                           for kind in ("fp16", "int8", "int4"))
        rows = sum(tensors.countDistinct(rows, 81920) for rows in embeddings.TABLES)
        self.assertEqual([halves - size for size in narrow],
                         [rows * (128 - 64 - 4), rows * (128 - 32 - 4)])

    def testTablesAndIds(self):
        self.assertEqual(len(embeddings.TABLES), len(embeddings.MLPERF_IDS))
        self.assertTrue(all(100_000 <= rows <= 400_000 for rows in embeddings.TABLES))
        for workload in EMBEDDINGS:
            self.assertEqual(workload.kind == "lookups", set(workload.sizes["counts"]) == {1} and
                             workload.name != "embeddings_bags_fp16_65536x1_128")

    def testWhatNeedsMuchMemoryIsSaid(self):
        found = {name: compare.describeNeed(workload) for name, workload in WORKLOADS.items()}
        self.assertEqual(found["embeddings_lookups_fp32_2048x1_128"], "13 GB of device memory")
        self.assertEqual(found["parts_tril_fp16_12x333x333"], "")
        self.assertEqual(found["linear_relu_4096"], "")


class ContenderTest(unittest.TestCase):
    def testNeedsComeFirst(self):
        names = list(peers.CONTENDERS)
        self.assertEqual(peers.getNeeded("fusec_graph"), "fusec")
        for name in names:
            needed = peers.getNeeded(name)
            if needed:
                self.assertLess(names.index(needed), names.index(name))
