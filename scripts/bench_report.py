#!/usr/bin/env python3
"""Says what a CSV of `tilesmith bench --peer` holds: a Markdown table, means over its problems, and a plot.

Usage: bench_report.py CSV [--landscape FILE] [--plot FILE.svg] [--help]

  --landscape FILE   a recorded landscape (JSON lines; .zst needs the program zstd): problems with fewer than four tries of the
                     families that the CSV names are marked with °
  --plot FILE.svg    write the ratio of every problem, sorted, as a picture
"""
import argparse
import collections
import csv
import json
import math
import os
import subprocess
import sys

NEEDED = ("type", "trans", "M", "N", "K", "family", "us", "peer_us", "ratio")
TRANSPOSES = ("NN", "NT", "TN", "TT")
LETTERS = {"wgmma": "", "mma": " m", "gemv": " g", "wmma": " w", "simt": " s"}
FEW_TRIES = 4


def fail(message):
    sys.exit(f"bench_report.py: {message}")


def read_rows(path):
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in NEEDED if name not in (reader.fieldnames or [])]
            if missing:
                fail(f"{path}: expected the columns of `tilesmith bench --out`; {', '.join(missing)} missing")
            return list(reader)
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def read_tries(path):
    """How many configs the landscape has tried, by problem and family."""
    try:
        if path.endswith(".zst"):
            text = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout.decode()
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        tries = collections.Counter()
        for line in text.splitlines()[1:]:
            outcome = json.loads(line)
            tries[outcome["problem"], outcome["config"].split("{")[0]] += 1
        return tries
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        fail(f"{path}: expected a recorded landscape: {error}")


def shape(row):
    return tuple(int(row[name]) for name in "MNK")


def cell(row, tries):
    time = f"{float(row['us']):.4g}"
    ratio = f"{float(row['ratio']):.2f}×" if row["ratio"] else "refused"
    problem = " ".join([row["type"], row["trans"], *map(str, shape(row))])
    few = tries is not None and sum(tries[problem, family] for family in LETTERS) < FEW_TRIES
    return f"{time} ({ratio}){LETTERS.get(row['family'], ' ' + row['family'])}{'°' if few else ''}"


def print_table(rows, tries):
    by_problem = {(row["type"], shape(row), row["trans"]): row for row in rows}
    lines = []
    for row in rows:
        line = (row["type"], shape(row))
        if line not in lines:
            lines.append(line)
    print("| type | M×N×K | " + " | ".join(TRANSPOSES) + " |")
    print("|---" * (2 + len(TRANSPOSES)) + "|")
    for kind, size in lines:
        found = [by_problem.get((kind, size, trans)) for trans in TRANSPOSES]
        print(f"| {kind} | {'×'.join(map(str, size))} | " + " | ".join(cell(row, tries) if row else "" for row in found) + " |")


def ratios(rows):
    return [(float(row["ratio"]), row) for row in rows if row["ratio"]]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_means(rows):
    compared = ratios(rows)
    if not compared:
        return
    values = [ratio for ratio, _ in compared]
    print(f"\n{len(rows)} problems, {len(rows) - len(compared)} of them refused by the peer. Of the others: geometric mean "
          f"{geometric_mean(values):.3f}×, {sum(value >= 1 for value in values)} at 1.00× or above, {sum(value < 0.95 for value in values)} "
          f"below 0.95×.")


def write_plot(rows, path):
    """Bars on a logarithmic scale, sorted; colours tell type pairs apart."""
    compared = sorted(ratios(rows), key=lambda pair: pair[0])
    if not compared:
        fail(f"--plot {path}: no problem has a ratio")
    colours = ("#3b6ea8", "#5b9bd5", "#2f8f6b", "#6fbf9b", "#9c6bb0", "#d08c3a", "#b5473c", "#d98880", "#777777")
    kinds = sorted({row["type"] for _, row in compared})
    colour = {kind: colours[index % len(colours)] for index, kind in enumerate(kinds)}
    width, height, left, top, bottom = 960, 360, 48, 34, 24
    low, high = min(0.5, compared[0][0]), max(2.0, compared[-1][0])
    def y(ratio):
        return top + (height - top - bottom) * (1 - math.log(ratio / low) / math.log(high / low))
    step = (width - left - 8) / len(compared)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for tick in (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10):
        if low <= tick <= high:
            parts.append(f'<line x1="{left}" x2="{width - 8}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="{"#444" if tick == 1 else "#ddd"}"/>'
                         f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}×</text>')
    for index, (ratio, row) in enumerate(compared):
        above, below = sorted((y(ratio), y(1)))
        name = f"{row['type']} {row['trans']} {'×'.join(map(str, shape(row)))}: {ratio:.2f}×"
        parts.append(f'<rect x="{left + index * step:.2f}" y="{above:.1f}" width="{max(step - 0.4, 0.5):.2f}" '
                     f'height="{max(below - above, 0.5):.1f}" fill="{colour[row["type"]]}"><title>{name}</title></rect>')
    for index, kind in enumerate(kinds):
        x = left + index * 96
        parts.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{colour[kind]}"/><text x="{x + 14}" y="17">{kind}</text>')
    parts.append(f'<text x="{left}" y="{height - 8}">{len(compared)} problems, from the slowest beside the peer to the fastest</text></svg>')
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("\n".join(parts) + "\n")
        os.replace(temporary, path)
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("csv", help=argparse.SUPPRESS)
    parser.add_argument("--landscape", help=argparse.SUPPRESS)
    parser.add_argument("--plot", help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows = read_rows(options.csv)
    print_table(rows, read_tries(options.landscape) if options.landscape else None)
    print_means(rows)
    if options.plot:
        write_plot(rows, options.plot)


if __name__ == "__main__":
    main()
