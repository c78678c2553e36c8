# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels are the same where their instructions and what those need are."""

import struct
import unittest

import machine_code

PROGRAM, STRINGS, INFO = 1, 3, 0x70000000
REGISTERS, PARAMETERS = 0x2f, 0x0a


def makeStrings(names):
    content = b"\0"
    places = []
    for name in names:
        places.append(len(content))
        content += name.encode() + b"\0"
    return content, places


def attribute(number, *words):
    return struct.pack(f"<BBH{len(words)}I", machine_code.SIZED, number, 4 * len(words), *words)


def makeCubin(code=b"add", registers=32, shared=64, constants=(), table=b""):
    """Of a kernel `k`, whose symbol comes behind those of constants that nobody reads."""
    strings, places = makeStrings([*constants, "k"])
    symbols = b"".join(struct.pack(machine_code.SYMBOL, place, 0, 0, 0, 0, 0) for place in places)
    kernel = len(constants)
    sections = [("", 0, b""), (".strtab", STRINGS, strings), (".symtab", 2, symbols),
                (".text.k", PROGRAM, code),
                (".nv.info", INFO, attribute(REGISTERS, kernel, registers)),
                (".nv.info.k", INFO, attribute(PARAMETERS, kernel, 528)),
                (".nv.constant4", PROGRAM, bytes(8 * len(constants))),
                (".nv.global.init", PROGRAM, table),
                (".nv.shared.k", machine_code.NO_BITS, shared)]
    names, places = makeStrings([name for name, _, _ in sections] + [".shstrtab"])
    sections.append((".shstrtab", STRINGS, names))
    content, headers = bytes(machine_code.HEADER), b""
    for place, (_, kind, data) in zip(places, sections):
        size = data if kind == machine_code.NO_BITS else len(data)
        headers += struct.pack(machine_code.SECTION, place, kind, 0, 0, len(content), size,
                               0, 0, 0, 0)
        content += b"" if kind == machine_code.NO_BITS else data
    begin = machine_code.MAGIC + bytes(36) + struct.pack("<Q", len(content)) + bytes(12) + \
        struct.pack("<HH", len(sections), len(sections) - 1)
    return begin + content[len(begin):] + headers


class MachineCodeTest(unittest.TestCase):
    def testConstantsThatNobodyReadsDoNotCount(self):
        self.assertEqual(machine_code.hashCode(makeCubin()),
                         machine_code.hashCode(makeCubin(constants=("isInteger", "isHalf"))))

    def testWhatConstantsHoldCountsIfTheyAreRead(self):
        def hashes(code):
            return {machine_code.hashCode(makeCubin(code=code, table=table))
                    for table in (b"pi", b"e")}
        def read(bank, form):
            return struct.pack("<QQ", bank << 54 | form << 9, 0)
        self.assertEqual(len(hashes(read(bank=3, form=5))), 1)
        self.assertEqual(len(hashes(read(bank=4, form=4))), 1)
        self.assertEqual(len(hashes(read(bank=4, form=5))), 2)
        self.assertEqual(len(hashes(b"no whole instruction")), 2)

    def testWhatDecidesCounts(self):
        hashes = {machine_code.hashCode(cubin) for cubin in (
            makeCubin(), makeCubin(code=b"mul"), makeCubin(registers=40), makeCubin(shared=0),
            makeCubin(table=b"pi"))}
        self.assertEqual(len(hashes), 5)

    def testOtherBytesAreRefused(self):
        whole = makeCubin()
        for broken in (b"", b"\x7fELF", whole[:70], b"PTX" + whole):
            with self.assertRaises(ValueError):
                machine_code.hashCode(broken)


if __name__ == "__main__":
    unittest.main()
