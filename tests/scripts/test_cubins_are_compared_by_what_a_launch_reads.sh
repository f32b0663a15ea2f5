#!/usr/bin/env bash
# scripts/cubin.py, over ELF files made here: whatever a launch of a function reads makes it differ, and nothing else does.
# Usage: test_cubins_are_compared_by_what_a_launch_reads.sh ROOT
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONPATH=$1/scripts PYTHONDONTWRITEBYTECODE=1 python3 - "$work" <<'PYTHON'
import pathlib
import struct
import sys

import cubin

CODE, NOTE, NO_BYTES, RELA, SYMBOLS = 1, 7, 8, 4, 2
READ_OF_BANK_4 = struct.pack("<QQ", 4 << 54 | 0xA02, 0)  # MOV from constant memory
BARRIER_NUMBER_4 = struct.pack("<QQ", 4 << 54 | 0xB1D, 0)
IMMEDIATE = struct.pack("<QQ", 4 << 54 | 0x802, 0)


def elf(sections, symbols):
    """sections: (name, type, bytes; of NO_BYTES the size). symbols: (name, kind, section's name, value, size)."""
    texts, names = bytearray(b"\0"), {"": 0}

    def text(name):
        if name not in names:
            names[name] = len(texts)
            texts.extend(name.encode() + b"\0")
        return names[name]

    index = {name: i + 1 for i, (name, _, _) in enumerate(sections)}
    table = b"".join(struct.pack("<IBBHQQ", text(n), kind, 0, index.get(s, 0), value, size) for n, kind, s, value, size in symbols)
    count = len(sections) + 3
    all_sections = [("", 0, b"", 0), *((n, t, d, 0) for n, t, d in sections), (".symtab", SYMBOLS, table, count - 1), (".strtab", 3, b"", 0)]
    for name, *_ in all_sections:
        text(name)
    all_sections[-1] = (".strtab", 3, bytes(texts), 0)
    body, headers = b"", b""
    for name, kind, data, link in all_sections:
        size = data if kind == NO_BYTES else len(data)
        headers += struct.pack("<IIQQQQIIQQ", text(name), kind, 0, 0, 64 + len(body), size, link, 0, 0, 0)
        body += b"" if kind == NO_BYTES else data
    return b"\x7fELF" + bytes(36) + struct.pack("<Q", 64 + len(body)) + bytes(12) + struct.pack("<HH", count, count - 1) + body + headers


def kernel(code=IMMEDIATE, registers=8, parameters=540, shared=256, variable=b"abcd", pointed=b"wxyz", first=True, other=b"", attribute=5):
    """gemm, and a function that nothing compares; their symbols in one order or the other."""
    symbols = [("", 0, "", 0, 0)] + [("gemm", 2, ".text.gemm", 0, 16), ("other", 2, ".text.other", 0, 16)][:: 1 if first else -1]
    symbols += [("pointed", 1, ".nv.global.init", 4, 4)]
    at = [name for name, *_ in symbols].index("gemm")
    info = struct.pack("<BBHII", 4, 0x2F, 8, at, registers)
    of_gemm = struct.pack("<BBHI", 4, 0x37, 4, attribute) + struct.pack("<BBHII", 4, 0x0A, 8, at, 0x210) + struct.pack("<BBH", 3, 0x19, parameters)
    sections = [(".text.gemm", CODE, code), (".text.other", CODE, other or IMMEDIATE), (".nv.info", CODE, info), (".nv.info.gemm", CODE, of_gemm),
                (".nv.constant0.gemm", CODE, bytes(parameters)), (".nv.shared.gemm", NO_BYTES, shared), (".nv.global.init", CODE, variable + pointed),
                (".rela.text.gemm", RELA, struct.pack("<QQq", 8, len(symbols) - 1 << 32 | 2, 0)), (".note.x", NOTE, variable)]
    return elf(sections, symbols)


def gemm(**what):
    path = pathlib.Path(sys.argv[1]) / f"{len(list(pathlib.Path(sys.argv[1]).iterdir()))}.cubin"
    path.write_bytes(kernel(**what))
    return cubin.functions_of(path)["gemm"]


plain, reading = gemm(), gemm(code=READ_OF_BANK_4)
for what in ({"parameters": 600}, {"first": False}, {"other": READ_OF_BANK_4}, {"variable": b"efgh"}):
    assert gemm(**what) == plain, what
assert gemm(code=BARRIER_NUMBER_4, variable=b"efgh") == gemm(code=BARRIER_NUMBER_4), "a barrier's number is no bank"
for what in ({"code": IMMEDIATE * 2}, {"registers": 9}, {"shared": 512}, {"pointed": b"WXYZ"}, {"attribute": 6}):
    assert gemm(**what) != plain, what
assert gemm(code=READ_OF_BANK_4, variable=b"efgh") != reading, "what reads the module's constants has its variables, too"
text = pathlib.Path(sys.argv[1]) / "text"
text.write_text("no ELF file")
assert cubin.functions_of(text) == {}
PYTHON
