"""Reads what a launch of each function of a cubin needs straight from the ELF file, since nvdisasm takes most of a second for each cubin.

Functions that are equal here have the same machine code. Those that differ may have it, too, with parameters at other places.
"""
import functools
import pathlib
import re
import struct

Part = tuple  # what equal functions have equal

# Sections that no launch reads. Of .nv.constant0 only the size is there, which is that of the parameters.
UNREAD = re.compile(r"\.(debug_.*|note\..*|nv\.compat|nv\.callgraph|nv\.constant0\..*|symtab|strtab|shstrtab|rela?\.debug_.*)")
OF_ONE_COMPILATION = re.compile(r"_INTERNAL_[0-9a-f]+_|__internal_[0-9]+_")
SYMBOLS, RELOCATIONS_WITH_ADDENDS, NO_BYTES, RELOCATIONS = 2, 4, 8, 9  # types of sections
OF_PARAMETERS = (0x0A, 0x17, 0x19, 0x45)  # attributes EIATTR_PARAM_CBANK, KPARAM_INFO, CBANK_PARAM_SIZE, KPARAM_INFO_V2
LONG = 4  # the format of an attribute with a size of its own
OF_MODULE = (3, 4)  # banks of constant memory; others belong to a function. Bank 4 holds addresses of the module's variables.
READS_BANK = (3, 5)  # forms of an instruction (bits 9 to 11) whose bits 54 to 58 say which bank it reads
BARRIER = 0xB1D  # but for this one, which has a barrier's number there


class Cubin:
    def __init__(self, file: bytes):
        at, count, names = *struct.unpack_from("<Q", file, 40), *struct.unpack_from("<HH", file, 60)
        headers = [struct.unpack_from("<IIQQQQIIQQ", file, at + 64 * i) for i in range(count)]
        self._bytes = [b"%d" % h[5] if h[1] == NO_BYTES else file[h[4]: h[4] + h[5]] for h in headers]
        self._types = [h[1] for h in headers]
        self._names = [_text(self._bytes[names], h[0]) for h in headers]
        table = self._types.index(SYMBOLS)
        texts = self._bytes[headers[table][6]]
        self._symbols = [(_text(texts, s[0]), s[1] & 15, s[3], s[4], s[5]) for s in struct.iter_unpack("<IBBHQQ", self._bytes[table])]

    def functions(self) -> "dict[str, list[Part]]":
        """By function; what belongs to the module is part of each that may read it."""
        code = {name.removeprefix(".text."): data for name, data in zip(self._names, self._bytes) if name.startswith(".text.")}
        found: "dict[str, list[Part]]" = {name: [] for name in code}
        readers = [name for name in code if _may_read_module(code[name])]
        for name, kind, data in sorted(zip(self._names, self._types, self._bytes)):
            if UNREAD.fullmatch(name) or name == "":
                continue
            owner = next((function for function in found if name.endswith(f".{function}")), None)
            if name == ".nv.info":  # registers and stack of all functions, by their symbols
                for form, attribute, content in _attributes(data):
                    index, = struct.unpack_from("<I", content) if form == LONG else (len(self._symbols),)
                    of = self._symbols[index][0] if index < len(self._symbols) else ""
                    for function in [of] if of in found else [] if of else found:
                        found[function].append((name, attribute, content[4:] if of else content))
                continue
            if kind in (RELOCATIONS, RELOCATIONS_WITH_ADDENDS):
                layout = "<QQq" if kind == RELOCATIONS_WITH_ADDENDS else "<QQ"
                part = tuple((at, info & 0xFFFFFFFF, self._target(info >> 32), *rest) for at, info, *rest in struct.iter_unpack(layout, data))
            elif owner and name == f".nv.info.{owner}":
                part = tuple(item for item in _attributes(data) if item[1] not in OF_PARAMETERS)
            else:
                part = data
            for function in [owner] if owner else readers:
                found[function].append((name, part))
        return found

    def _target(self, index: int) -> Part:
        """A symbol's name and, of data, its content."""
        name, kind, section, value, size = self._symbols[index]
        data = self._bytes[section][value: value + size] if kind == 1 and section < len(self._bytes) and self._types[section] != NO_BYTES else b""
        return OF_ONE_COMPILATION.sub("", name), size, data


def _may_read_module(code: bytes) -> bool:
    return any(low >> 9 & 7 in READS_BANK and low & 0xFFF != BARRIER and low >> 54 & 31 in OF_MODULE for low, _ in struct.iter_unpack("<QQ", code))


def _text(table: bytes, at: int) -> str:
    return table[at: table.index(b"\0", at)].decode()


def _attributes(data: bytes) -> "list[tuple[int, int, bytes]]":
    found, at = [], 0
    while at < len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        end = at + 4 + (size if form == LONG else 0)
        found.append((form, attribute, data[at + 4: end] if form == LONG else data[at + 2: end]))
        at = end
    return found


@functools.lru_cache(maxsize=64)
def functions_of(path: pathlib.Path) -> "dict[str, list[Part]]":
    """Empty if the file is no ELF file."""
    file = path.read_bytes()
    return Cubin(file).functions() if file.startswith(b"\x7fELF") else {}
