#!/usr/bin/env python3
"""Compares plans and cubins that `tilesmith renew --write-plans` wrote for two trees; called by same_code.sh, which see.

Two kernels are the same if their instructions are, apart from where kernel parameters lie in constant memory: one place of the old kernel must be one
place of the new. Registers, spills and shared memory have to be equal, too. A kernel that no longer compiles differs.
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

PARAMETER = re.compile(r"c\[0x0\]\[(0x[0-9a-f]+|[^\]]*\+0x[0-9a-f]+)\]")
OFFSET = re.compile(r"/\*[0-9a-f]+\*/\s*")
MOST_SHOWN = 40


@functools.lru_cache(maxsize=None)
def code_of(cubin: pathlib.Path) -> "list[str]":
    """Instructions by function, without addresses and comments, each function behind a line with its resources."""
    text = subprocess.run(["nvdisasm", "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    lines = []
    for line in text.splitlines():
        line = OFFSET.sub("", line).strip()
        if line and not line.startswith(("//", ".headerflags", ".elftype")):
            lines.append(line)
    return lines


def are_same(old: pathlib.Path, new: pathlib.Path) -> bool:
    if old.read_bytes() == new.read_bytes():
        return True
    of_old, of_new = code_of(old), code_of(new)
    if len(of_old) != len(of_new):
        return False
    to_new: "dict[str, str]" = {}
    to_old: "dict[str, str]" = {}
    for a, b in zip(of_old, of_new):
        if a == b and not PARAMETER.search(a):
            continue
        if PARAMETER.sub("c", a) != PARAMETER.sub("c", b):
            return False
        for x, y in zip(PARAMETER.findall(a), PARAMETER.findall(b)):
            if to_new.setdefault(x, y) != y or to_old.setdefault(y, x) != x:
                return False
    return True


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
