# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a cubin decides how its kernels run: instructions, what they need, and the
constants that they read. NVRTC also lists each constant of the text that is known when
compiling, of which no instruction knows; its symbols and their numbers do not count."""

import hashlib
import struct

MAGIC = b"\x7fELF"
HEADER, SECTION, SYMBOL, RELOCATION = 64, "<IIQQQQIIQQ", "<IBBHQQ", "<QQq"
NO_BITS = 8
# Names of things, where the text came from, and addresses and zeros of constants.
LEFT_OUT = (".strtab", ".shstrtab", ".symtab", ".note", ".debug", ".rela.debug", ".nv.compat",
            ".nv.callgraph", ".nv.global", ".nv.constant4", ".rela.nv.constant4")
# What constants hold counts where instructions read some: their addresses reach a kernel
# by bank 4. Instructions of two forms name a bank, as nvdisasm shows of sm_90 ones.
INITIAL = ".nv.global.init"
INSTRUCTION, BANK_SHIFT, BANK_MASK, ADDRESSES = "<QQ", 54, 31, 4
FORM_SHIFT, FORM_MASK, OF_BANKS = 9, 7, (3, 5)
# Attributes whose values begin with a symbol's number: where parameters lie, frame and
# least stack of a function, and its registers.
SYMBOLIC = (0x0a, 0x11, 0x12, 0x2f)
SIZED = 4  # the format of an attribute that says how long it is


def readSections(cubin):
    """name -> (type, bytes or size), where a cubin is one; else ValueError."""
    try:
        if cubin[:4] != MAGIC:
            raise ValueError("expected an ELF file, got other bytes")
        begin, = struct.unpack_from("<Q", cubin, 40)
        count, names = struct.unpack_from("<HH", cubin, 60)
        headers = [struct.unpack_from(SECTION, cubin, begin + HEADER * i) for i in range(count)]
        sections = {}
        for name, kind, _, _, at, size, *_ in headers:
            first = headers[names][4] + name
            text = cubin[first:cubin.index(b"\0", first)].decode()
            sections[text] = kind, size if kind == NO_BITS else cubin[at:at + size]
        return sections
    except (struct.error, IndexError, UnicodeDecodeError) as failure:
        raise ValueError(f"expected a whole ELF file: {failure}") from failure


def nameSymbols(sections):
    table, names = sections[".symtab"][1], sections[".strtab"][1]
    return [names[name:names.index(b"\0", name)]
            for name, *_ in struct.iter_unpack(SYMBOL, table)]


def readAttributes(info, symbols):
    """With names for symbols."""
    found, at = [], 0
    while at < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        value = info[at + 4:at + 4 + size] if form == SIZED else size
        if form == SIZED and attribute in SYMBOLIC:
            value = symbols[struct.unpack_from("<I", value)[0]], value[4:]
        found.append((attribute, value))
        at += 4 + (size if form == SIZED else 0)
    # Functions are listed in the order of their symbols.
    return sorted(found, key=repr)


def readsConstants(code):
    """Whether an instruction, of 16 bytes, does; what is no whole number of them may."""
    if len(code) % struct.calcsize(INSTRUCTION):
        return True
    return any(low >> BANK_SHIFT & BANK_MASK == ADDRESSES and
               low >> FORM_SHIFT & FORM_MASK in OF_BANKS
               for low, _ in struct.iter_unpack(INSTRUCTION, code))


def isLeftOut(name, areRead):
    return name.startswith(LEFT_OUT) and not (areRead and name == INITIAL)


def hashCode(cubin):
    sections = readSections(cubin)
    symbols = nameSymbols(sections)
    areRead = any(name.startswith(".rela.text") and content or
                  name.startswith(".text") and readsConstants(content)
                  for name, (_, content) in sections.items())
    parts = []
    for name, (_, content) in sorted(sections.items()):
        if isLeftOut(name, areRead):
            continue
        if name.startswith(".nv.info"):
            content = readAttributes(content, symbols)
        elif name.startswith(".rela"):
            content = [(at, info & 0xffffffff, symbols[info >> 32], addend)
                       for at, info, addend in struct.iter_unpack(RELOCATION, content)]
        parts.append((name, content))
    return hashlib.sha256(repr(parts).encode()).hexdigest()
