#!/usr/bin/env python3
"""Whether a database holds kernels of every family, all without failures, by one NVRTC; says how many, a line.

Usage: compiled_families.py DATABASE NVRTC-RELEASE FAMILY...
"""
import sqlite3
import sys

QUERY = """SELECT family, status, nvrtc_version, COUNT(*) FROM builds JOIN kernels ON kernels.id = kernel_id
           JOIN configs ON configs.id = config_id GROUP BY family, status, nvrtc_version"""


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    path, release, *families = sys.argv[1:]
    rows = sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute(QUERY).fetchall()
    good = dict.fromkeys(families, 0)
    bad = []
    for family, status, version, count in rows:
        if version != release:
            bad.append(f"{count} kernels of {family} by NVRTC {version}, expected {release}")
        elif status == "compile_failed":
            bad.append(f"{count} kernels of {family} were not compiled")
        elif status == "ok":
            good[family] = good.get(family, 0) + count
    bad += [f"no kernel of {family}" for family, count in good.items() if count == 0]
    for line in bad:
        print(f"{path}: {line}", file=sys.stderr)
    print(f"NVRTC {release}: " + ", ".join(f"{count} {family}" for family, count in sorted(good.items())))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
