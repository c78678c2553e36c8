# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds instructions that touch registers of a wgmma that has not been waited for.

The tensor cores write a product's accumulators behind the other instructions'
back until a wait; ptxas has been seen to move the first operations of an
epilogue above it, which gives wrong results without a message. Reads the text
that `nvdisasm -c` prints: HGMMA adds to the accumulators named first, `gsb0`
ends a group of them, and WARPGROUP.DEPBAR.LE gsb0, N waits until at most N
groups are pending. All paths through a kernel are followed.
"""

import re

LINE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(@!?U?PT?\d*\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;")
LABEL = re.compile(r"^(\.[\w.]+):")
PRODUCT = re.compile(r"64x(\d+)x\d+\.(F32|F16)")
REGISTER = re.compile(r"\bR(\d+)")
PREDICATE = re.compile(r"!?U?P[T\d]")
MOST_PENDING = 4
ENDS = ("EXIT", "RET")


class Instruction:
    def __init__(self, guard, opcode, operands):
        self.text = f"{opcode} {operands}".strip()
        self.parts, self.operands = opcode.split("."), operands.split(", ")
        target = re.search(r"`\((\.\w+)\)", operands)
        # BSSY names where BSYNC will be, which is where that falls through to.
        self.target = target[1] if target and self.parts[0] != "BSSY" else None
        isJump = self.parts[0] == "BRA" and len(self.operands) == 1
        self.falls = bool(guard) or not (isJump or self.parts[0] in ENDS)

    def wait(self):
        """How many groups may be pending after it; None where it does not wait."""
        if self.parts[0] == "WARPGROUP" and self.operands[0] == "gsb0":
            return int(self.operands[1], 16)
        return None

    def product(self):
        """What a wgmma writes and what it reads; None where it is another instruction."""
        shape = PRODUCT.search(".".join(self.parts)) if self.parts[0].endswith("GMMA") else None
        if not shape:
            return None
        sums = int(shape[1]) // (4 if shape[2] == "F16" else 2)
        return span(self.operands[0], sums), span(self.operands[1], 4)

    def registers(self):
        """(the registers that it reads or writes, those that it writes)."""
        kinds = set(self.parts)
        width = 4 if kinds & {"128", "4"} else 2 if kinds & {"64", "WIDE"} else 1
        spans = [span(name, width if name.startswith("R") else 2 if ".64]" in name else 1)
                 for name in self.operands]
        # Results come first, behind predicates at most; stores begin with an address.
        results = (i for i, name in enumerate(self.operands) if not PREDICATE.match(name))
        first = next(results, None)
        writes = first is not None and self.operands[first].startswith("R")
        return frozenset().union(*spans), spans[first] if writes else frozenset()


def span(operand, count):
    """`count` registers from the one that an operand names; none of RZ or where it names none."""
    first = REGISTER.search(operand)
    return frozenset(range(int(first[1]), int(first[1]) + count) if first else ())


def parse(listing):
    """The functions of a listing: instructions, and the index of each label."""
    functions = []
    for line in listing.splitlines():
        label = LABEL.match(line)
        if label and label[1].startswith(".text."):
            functions.append(([], {}))
        elif label and functions:
            functions[-1][1][label[1]] = len(functions[-1][0])
        elif functions and (match := LINE.search(line)):
            functions[-1][0].append(Instruction(*match.groups()))
    return functions


def step(instruction, groups, isOpen):
    """(whether it touches what pending products use, the state after it).

    `groups` holds (accumulators, sources) of each pending group, the oldest
    first; the last one is still open where further products belong to it.
    """
    sums = frozenset().union(*(group[0] for group in groups))
    sources = frozenset().union(*(group[1] for group in groups))
    product = instruction.product()
    if product:
        last = groups[-1] if isOpen else (frozenset(), frozenset())
        groups = groups[:-1] if isOpen else groups
        group = (last[0] | product[0], last[1] | product[1])
        # Products that add to the same accumulators run in order by themselves.
        # Where a loop starts more than any wait lets pass, the oldest count as one.
        kept = max(len(groups) - MOST_PENDING, 0)
        groups = ((sums, sources),) * bool(kept) + groups[kept:]
        return bool(product[1] & sums), (groups + (group,), "gsb0" not in instruction.operands)
    most = instruction.wait()
    if most is not None:
        return False, (groups[max(len(groups) - most, 0):], False)
    if not groups:
        return False, (groups, isOpen)
    touched, written = instruction.registers()
    return bool(touched & sums or written & sources), (groups, isOpen)


def findEarlyUses(listing):
    """The instructions that touch registers which a pending product reads or writes."""
    early = {}
    for instructions, labels in parse(listing):
        seen, ahead = set(), [(0, ((), False))]
        while ahead:
            at, state = ahead.pop()
            if at >= len(instructions) or (at, state) in seen:
                continue
            seen.add((at, state))
            instruction = instructions[at]
            isEarly, state = step(instruction, *state)
            if isEarly:
                early[instruction] = None
            if instruction.target in labels:
                ahead.append((labels[instruction.target], state))
            if instruction.falls:
                ahead.append((at + 1, state))
    return [instruction.text for instruction in early]
