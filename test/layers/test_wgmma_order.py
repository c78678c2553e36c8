#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of wgmma_order.py, on machine code as ptxas writes it and as it must not."""

import unittest

import wgmma_order

LOOP = """
.text.kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   WARPGROUP.ARRIVE ;
        /*0020*/                   HGMMA.64x16x16.F32 R24, gdesc[UR4], R24, UP1 ;
        /*0030*/                   HGMMA.64x16x16.F32 R24, gdesc[UR4], R24, gsb0 ;
{inLoop}
        /*0040*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0050*/               @P0 BRA `(.L_x_0) ;
{behindLoop}
        /*0060*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0070*/                   FADD R16, R24, R19 ;
        /*0080*/                   STS.128 [R31+UR5], R28 ;
        /*0090*/                   EXIT ;
"""
# Two accumulators: that of the first group may be read while the second runs.
PAIR = """
.text.kernel:
        /*0000*/                   HGMMA.64x16x8.F32.TF32 R24, R60, gdesc[UR4], RZ, !UPT, gsb0 ;
        /*0010*/                   HGMMA.64x16x8.F32.TF32 R40, R64, gdesc[UR4], RZ, !UPT, gsb0 ;
{}
        /*0020*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
{}
        /*0030*/                   EXIT ;
"""


def loop(inLoop="", behindLoop=""):
    return wgmma_order.findEarlyUses(LOOP.format(
        inLoop=place(inLoop), behindLoop=place(behindLoop)))


def pair(early="", late=""):
    return wgmma_order.findEarlyUses(PAIR.format(place(early), place(late)))


def place(instruction):
    return f"        /*0038*/                   {instruction} ;" if instruction else ""


class EarlyUses(unittest.TestCase):
    def testWaitedFor(self):
        self.assertEqual(loop(), [])
        self.assertEqual(loop("IADD3 R3, R4, R5, RZ", "LDS.128 R32, [R2]"), [])

    def testReadBeforeTheWait(self):
        self.assertEqual(loop(behindLoop="FADD R16, R24, R19"), ["FADD R16, R24, R19"])
        self.assertEqual(loop(inLoop="FADD R16, R31, R19"), ["FADD R16, R31, R19"])

    def testWrittenBeforeTheWait(self):
        self.assertEqual(loop(behindLoop="IMAD.MOV.U32 R31, RZ, RZ, R2"),
                         ["IMAD.MOV.U32 R31, RZ, RZ, R2"])

    def testVectors(self):
        self.assertEqual(len(loop(behindLoop="LDS.128 R21, [R2]")), 1)
        self.assertEqual(len(loop(behindLoop="LDSM.16.M88.4 R20, [R23]")), 0)
        self.assertEqual(len(loop(behindLoop="LDG.E R4, desc[UR4][R23.64]")), 1)

    def testNextRoundOfALoop(self):
        early = "        /*0018*/                   FMUL R2, R25, R3 ;\n"
        text = LOOP.format(inLoop="", behindLoop="")
        at = text.index("        /*0010*/")
        self.assertEqual(wgmma_order.findEarlyUses(text[:at] + early + text[at:]),
                         ["FMUL R2, R25, R3"])

    def testGroups(self):
        self.assertEqual(pair(late="FADD R2, R24, R25"), [])
        self.assertEqual(len(pair(late="FADD R2, R40, R41")), 1)
        self.assertEqual(len(pair(early="FADD R2, R24, R25")), 1)

    def testSources(self):
        self.assertEqual(pair(early="FADD R2, R60, R61", late="LDS.64 R62, [R2]"), [])
        self.assertEqual(len(pair(early="LDS.64 R62, [R2]")), 1)
        self.assertEqual(len(pair(late="LDS.64 R62, [R2]")), 0)
        self.assertEqual(len(pair(late="LDS R67, [R2]")), 1)


if __name__ == "__main__":
    unittest.main()
