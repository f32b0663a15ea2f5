#!/usr/bin/env python3
"""What is predicted for a Jetson AGX Orin without records of one, beside cuBLASLt's published times there, as Markdown.

Usage: orin_prediction.py [--check] [--tilesmith PROGRAM] [--csv FILE]
  --check   print nothing but what is wrong: predictions that do not follow the published times, or choices that waste tiles as
            cuBLASLt's do. Exit status 1 then
"""
import argparse
import csv
import json
import math
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMS = 16
THEIR_TILE = (256, 128)  # its times of M = 522 to 712 are one step of the waves of these tiles
CLIFF = ("522", "533", "562")  # as dear as 712 for such tiles


def waves(m, n, tile):
    return math.ceil(math.ceil(m / tile[0]) * math.ceil(n / tile[1]) / SMS)


def predict(tilesmith, row):
    problem = f"bf16f32bf16 NN {row['M']} {row['N']} {row['K']}"
    # The database holds nothing of an Orin; one has to be there.
    asked = [tilesmith, "explain", problem, "--arch", "sm_87", "--db", str(ROOT / "db/recorded/h200.db"), "--format", "json"]
    answer = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    config = answer["config"]
    sizes = re.search(r"block_m=(\d+),block_n=(\d+)", config)
    return {"us": answer["predicted_us"], "family": config.split("{")[0], "tile": tuple(map(int, sizes.groups())) if sizes else None}


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    placed = [0] * len(values)
    for rank, index in enumerate(order):
        placed[index] = rank
    return placed


def rank_correlation(a, b):
    apart = sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b)))
    return 1 - 6 * apart / (len(a) * (len(a) ** 2 - 1))


def complaints(rows):
    by_shape = {(row["M"], row["N"], row["K"]): row for row in rows}
    wrong = []
    agreement = rank_correlation([row["ours"]["us"] for row in rows], [float(row["best_us"]) for row in rows])
    if not agreement >= 0.97:
        wrong.append(f"rank correlation of predicted and published times: {agreement:.3f}, expected at least 0.97")
    for row in rows:
        shape = f"{row['M']}x{row['N']}x{row['K']}"
        ratio = row["ours"]["us"] / float(row["best_us"])
        if not 0.5 <= ratio <= 1.5:
            wrong.append(f"{shape}: predicted {ratio:.2f} times the published time, expected 0.5 to 1.5")
        if row["M"] not in CLIFF:
            continue
        fuller = by_shape["712", row["N"], row["K"]]
        m, n = int(row["M"]), int(row["N"])
        if waves(m, n, THEIR_TILE) != waves(712, n, THEIR_TILE):
            wrong.append(f"{shape}: not as many waves of {THEIR_TILE} as M = 712 has")
        ours = row["ours"]["us"] / fuller["ours"]["us"]
        if not ours <= 0.85:
            wrong.append(f"{shape}: the choice takes {ours:.2f} of what M = 712 takes, expected at most 0.85: it wastes tiles")
    return wrong


def page(rows):
    yield "| M | N | K | cuBLASLt's best, µs | waves of 256×128 | chosen | its waves | predicted, µs | predicted / cuBLASLt's |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        m, n, ours, theirs = int(row["M"]), int(row["N"]), row["ours"], float(row["best_us"])
        tile = f"{ours['family']} {ours['tile'][0]}×{ours['tile'][1]}" if ours["tile"] else ours["family"]
        own = waves(m, n, ours["tile"]) if ours["tile"] else ""
        yield f"| {m} | {n} | {row['K']} | {theirs:.1f} | {waves(m, n, THEIR_TILE)} | {tile} | {own} | {ours['us']:.1f} | {ours['us'] / theirs:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tilesmith", default=str(ROOT / "build/release/bin/tilesmith"))
    parser.add_argument("--csv", default=str(ROOT / "docs/notes/cublaslt_orin_bf16.csv"))
    options = parser.parse_args()
    with open(options.csv, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["ours"] = predict(options.tilesmith, row)
    if not options.check:
        print("\n".join(page(rows)))
        return
    wrong = complaints(rows)
    print("\n".join(wrong) if wrong else f"{len(rows)} shapes, as published")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
