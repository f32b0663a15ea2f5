#!/usr/bin/env python3
"""Compares plans and cubins that `tilesmith renew --write-plans` wrote for two trees; called by same_code.sh, which see.

Cubins are compared function by function, by name. Every function of the old cubin has to be in the new one with the same instructions, apart from the
numbers of labels and from where kernel parameters lie in constant memory: one place of the old function must be one place of the new. Registers, stack,
barriers, launch bounds, shared memory and constants have to be equal, too, and so do the module's constants and variables, if a function reads any. Functions
that the new cubin alone has are ignored: the plans' launches are equal, and the old plan ran without them. A kernel that no longer compiles differs.
"""
import argparse
import concurrent.futures
import csv
import functools
import os
import pathlib
import re
import subprocess
import sys

from cubin import UNREAD, functions_of

PARAMETER = re.compile(r"c\[0x0\]\[(0x[0-9a-f]+|[^\]]*\+0x[0-9a-f]+)\]")
OFFSET = re.compile(r"/\*[0-9a-f]+\*/\s*")
LABEL = re.compile(r"\.L_(?:x_)?[0-9]+|__internal_[0-9]+_")
SECTION = re.compile(r"\.section\s+([^,\s]+)")
ATTRIBUTE = re.compile(r"//-+ nvinfo : (\S+)")
OWNER = re.compile(r"index@\(([^)]*)\)")
OF_PARAMETERS = re.compile(r"EIATTR_(KPARAM_INFO.*|CBANK_PARAM_SIZE|PARAM_CBANK)")
# Banks 0 and 2 are a function's own. What belongs to the module is in bank 3, or at addresses that bank 4 or an instruction holds.
OF_MODULE = re.compile(r"c\[0x(?![02]\])|@(lo|hi)\(")
MOST_SHOWN = 40


def sections_of(cubin: pathlib.Path) -> "dict[str, list[str]]":
    """Lines of each section, without addresses."""
    text = subprocess.run(["nvdisasm", str(cubin)], capture_output=True, text=True, check=True).stdout
    sections: "dict[str, list[str]]" = {}
    lines: "list[str]" = []  # those in front of the first section say for which architecture the file is
    for line in text.splitlines():
        line = OFFSET.sub("", line).strip()
        if section := SECTION.match(line):
            lines = sections.setdefault(section.group(1), [])
        elif "- SYMBOLS -" in line:
            break
        elif line:
            lines.append(line)
    return sections


def code_in(lines: "list[str]") -> "list[str]":
    """Without comments, and with labels numbered in the order in which they come."""
    numbers: "dict[str, int]" = {}
    return [LABEL.sub(lambda label: f".L{numbers.setdefault(label.group(), len(numbers))}", line) for line in lines if not line.startswith("//")]


def attributes_in(lines: "list[str]") -> "list[tuple[str, list[str]]]":
    """Name and content of each attribute of a section .nv.info, without the labels that say how long they are."""
    attributes: "list[tuple[str, list[str]]]" = []
    for line in lines:
        if name := ATTRIBUTE.match(line):
            attributes.append((name.group(1), []))
        elif attributes and not line.startswith("//") and ("@srel" in line or not LABEL.search(line)):
            attributes[-1][1].append(LABEL.sub("label", line))
    return attributes


@functools.lru_cache(maxsize=None)
def code_of(cubin: pathlib.Path) -> "dict[str, list[str]]":
    """By function, what a launch of it needs."""
    sections = {name: lines for name, lines in sections_of(cubin).items() if not UNREAD.fullmatch(name)}
    code = {name.removeprefix(".text."): code_in(lines) for name, lines in sections.items() if name.startswith(".text.")}
    readers = [function for function, lines in code.items() if any(OF_MODULE.search(line) for line in lines)]
    for name in sorted(sections):
        owner = next((function for function in code if name.endswith(f".{function}")), None)
        if name == ".nv.info":  # registers and stack of all functions
            for attribute, content in sorted(attributes_in(sections[name])):
                of = next((function.group(1) for line in content if (function := OWNER.search(line))), None)
                for function in code if of not in code else [of]:
                    code[function].append(f"{attribute} {content}")
        elif owner is None:
            for function in readers:
                code[function] += [name, *code_in(sections[name])]
        elif name == f".nv.info.{owner}":
            code[owner] += [f"{attribute} {content}" for attribute, content in attributes_in(sections[name]) if not OF_PARAMETERS.fullmatch(attribute)]
        elif name != f".text.{owner}":
            code[owner] += [name, *code_in(sections[name])]
    return code


def is_same_function(old: "list[str]", new: "list[str]") -> bool:
    if len(old) != len(new):
        return False
    to_new: "dict[str, str]" = {}
    to_old: "dict[str, str]" = {}
    for a, b in zip(old, new):
        if a == b and not PARAMETER.search(a):
            continue
        if PARAMETER.sub("c", a) != PARAMETER.sub("c", b):
            return False
        for x, y in zip(PARAMETER.findall(a), PARAMETER.findall(b)):
            if to_new.setdefault(x, y) != y or to_old.setdefault(y, x) != x:
                return False
    return True


def are_same(old: pathlib.Path, new: pathlib.Path) -> bool:
    bytes_of_old, bytes_of_new = functions_of(old), functions_of(new)
    if bytes_of_old and all(bytes_of_new.get(name) == parts for name, parts in bytes_of_old.items()):
        return True
    of_old, of_new = code_of(old), code_of(new)
    return all(name in of_new and is_same_function(lines, of_new[name]) for name, lines in of_old.items())


def plans_in(table: pathlib.Path) -> "dict[tuple, dict]":
    with open(table, newline="") as file:
        return {(row["arch"], row["problem"], row["config"]): row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


def compare(old: pathlib.Path, new: pathlib.Path, of_old: str, of_new: str) -> "bool | None":
    """None: not compiled, since a sample was asked for."""
    if not (old / f"{of_old}.txt").exists() or not (new / f"{of_new}.txt").exists():
        return None
    files = old / f"{of_old}.cubin", new / f"{of_new}.cubin"
    return all(file.exists() for file in files) and resources(old, of_old) == resources(new, of_new) and are_same(*files)


def resources(folder: pathlib.Path, kernel: str) -> str:
    return (folder / f"{kernel}.txt").read_text().strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("databases", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    plans, kernels = {}, {}
    same = unlike = gone = uncompared = 0
    shown = []
    tables = [[plans_in(folder / f"{database.name}.tsv") for folder in (given.old, given.new)] for database in given.databases]
    pairs = {(row["kernel"], after[key]["kernel"]) for before, after in tables for key, row in before.items() if key in after}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        known = dict(zip(pairs, pool.map(lambda pair: compare(given.old, given.new, *pair), pairs)))
    for before, after in tables:
        for key, row in before.items():
            if row["recorded"] != row["plan"]:
                continue  # did not count before either
            other = after.get(key)
            if other is None:
                gone += 1
                shown.append(f"no plan any more: {' '.join(key)}")
                continue
            pair = row["kernel"], other["kernel"]
            if known[pair] is None:
                uncompared += 1
            elif known[pair] and row["launches"] == other["launches"]:
                same += 1
                plans[row["plan"]] = other["plan"]
                kernels[pair[0]] = pair[1]
            else:
                unlike += 1
                what = "launches" if known[pair] else "code"
                shown.append(f"{what}: {' '.join(key)}\n    old: {resources(given.old, pair[0])}\n    new: {resources(given.new, pair[1])}")
    with open(given.out, "w") as file:
        file.write(f"# {same} plans of the same machine code and launches: old and new hashes (tilesmith renew --by)\n")
        for name, pairs in (("plan", plans), ("kernel", kernels)):
            file.writelines(f"{name} {a} {b}\n" for a, b in sorted(pairs.items()) if a != b)
    for line in shown[:MOST_SHOWN]:
        print(line)
    if len(shown) > MOST_SHOWN:
        print(f"... and {len(shown) - MOST_SHOWN} more")
    print(f"{same} same, {unlike} differ, {gone} without a plan, {uncompared} not compared; {given.out}")
    return 0 if unlike == gone == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
