#!/usr/bin/env python3
"""Says what a CSV of `tilesmith bench --peer` holds: means over its problems, by type pair and in all, as Markdown.

Usage: bench_report.py CSV [--table FILE.md] [--recording FILE] [--plot FILE.svg] [--help]

  --table FILE.md    write every problem's time and ratio, in tables by type pair
  --recording FILE   a recording (JSON lines; .zst needs the program zstd): in the table, problems with fewer than four
                     tries of the families that the CSV names are marked with °
  --plot FILE.svg    write the ratio of every problem, sorted, as a picture
"""
import argparse
import collections
import contextlib
import csv
import json
import math
import os
import re
import subprocess
import sys

NEEDED = ("problem", "type", "trans", "m", "n", "k", "device", "family", "median_us", "peer_us", "ratio")
TRANSPOSES = ("NN", "NT", "TN", "TT")
LETTERS = {"wgmma": "", "mma": " m", "gemv": " g", "wmma": " w", "ffma": " f", "simt": " s"}
FEW_TRIES = 4


def fail(message):
    """Bad input: one line, status 2."""
    print(f"bench_report.py: {message}", file=sys.stderr)
    sys.exit(2)


def is_number_above_0(text):
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


def fault_of(row):
    """What is wrong with a row of the CSV, or None."""
    if None in row or None in row.values():
        return "expected as many values as there are columns"
    if row["trans"] not in TRANSPOSES:
        return f"trans: {row['trans']!r}: expected one of {', '.join(TRANSPOSES)}"
    for name in "mnk":
        if not re.fullmatch("[1-9][0-9]{0,17}", row[name]):
            return f"{name}: {row[name]!r}: expected a whole number above 0"
    for name in ("median_us", "peer_us", "ratio"):
        if row[name] and not is_number_above_0(row[name]):
            return f"{name}: {row[name]!r}: expected a number above 0, or nothing"
    if row["ratio"] and not (row["median_us"] and row["peer_us"]):
        return f"ratio: {row['ratio']!r}: expected median_us and peer_us beside it"
    return None


def read_rows(path):
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in NEEDED if name not in (reader.fieldnames or [])]
            if missing:
                fail(f"{path}: expected the columns of `tilesmith bench --out`; {', '.join(missing)} missing")
            rows = {}
            devices = set()
            for row in reader:
                if fault := fault_of(row):
                    fail(f"{path}:{reader.line_num}: {fault}")
                devices.add(row["device"])
                if len(devices) > 1:
                    fail(f"{path}:{reader.line_num}: device: {row['device']!r}: expected rows of one device")
                problem = row["problem"]
                if problem in rows and rows[problem]["median_us"]:  # what was never timed may have been run again
                    fail(f"{path}:{reader.line_num}: {problem} once more: expected one row a problem, as without --ladder and --config")
                rows[problem] = row
            return list(rows.values())
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except (UnicodeDecodeError, csv.Error) as error:
        fail(f"{path}: expected CSV: {error}")


def read_tries(path):
    """How many configs the recording has tried, by problem and family."""
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
        fail(f"{path}: expected a recording: {error}")


def size_of(row):
    """With row strides, alignment and the rest, where they are not those of a packed problem."""
    return " ".join(["×".join(row[name] for name in "mnk"), *row["problem"].split()[5:]])


def cell(row, tries):
    if not row["median_us"]:
        return "failed"
    time = f"{float(row['median_us']):.4g}"
    ratio = f"{float(row['ratio']):.2f}×" if row["ratio"] else "refused"
    few = tries is not None and sum(tries[row["problem"], family] for family in LETTERS) < FEW_TRIES
    return f"{time} ({ratio}){LETTERS.get(row['family'], ' ' + row['family'])}{'°' if few else ''}"


def write_table(rows, tries, source, path):
    by_problem = {(row["type"], size_of(row), row["trans"]): row for row in rows}
    sizes = {}  # by type pair, in the order of the CSV
    for row in rows:
        sizes.setdefault(row["type"], {})[size_of(row)] = True
    lines = [f"# Every problem of {os.path.basename(source)}", "",
             "µs, and how many times as fast as the best of the peer's algorithms, which was timed in turn with it. Refused: the peer "
             "has none for it. By `wgmma`, or where a letter says so by `mma` (m), `gemv` (g), `wmma` (w), `ffma` (f) or `simt` (s). °: fewer than "
             f"{FEW_TRIES} configs were tried."]
    for kind, of_kind in sizes.items():
        lines += ["", f"## {kind}", "", "| M×N×K | " + " | ".join(TRANSPOSES) + " |", "|---" * (1 + len(TRANSPOSES)) + "|"]
        for size in of_kind:
            found = [by_problem.get((kind, size, trans)) for trans in TRANSPOSES]
            lines.append(f"| {size} | " + " | ".join(cell(row, tries) if row else "" for row in found) + " |")
    write_whole(path, "\n".join(lines) + "\n")


def ratios(rows):
    """Of the times, since a ratio that is rounded to 1.000 may lie below."""
    return [(float(row["peer_us"]) / float(row["median_us"]), row) for row in rows if row["ratio"]]


def other_ratio(row, ours, peers):
    """By two other columns, where the row has both."""
    if is_number_above_0(row.get(ours) or "") and is_number_above_0(row.get(peers) or ""):
        return float(row[peers]) / float(row[ours])
    return float(row["peer_us"]) / float(row["median_us"])


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def means(rows):
    """Cells of a row: how many problems, how many compared, and what their ratios are."""
    values = [ratio for ratio, _ in ratios(rows)]
    if not values:
        return f"{len(rows)} | 0 | | | | "
    return (f"{len(rows)} | {len(values)} | {geometric_mean(values):.2f}× | {sum(value >= 1 for value in values)} | "
            f"{sum(value < 0.95 for value in values)} | {min(values):.2f}×")


def print_means(rows):
    print("| type | problems | compared | geometric mean | ≥ 1.00× | < 0.95× | lowest |")
    print("|---" * 7 + "|")
    for kind in dict.fromkeys(row["type"] for row in rows):
        print(f"| {kind} | {means([row for row in rows if row['type'] == kind])} |")
    print(f"| all | {means(rows)} |")
    for what, columns in (("Over the peer's first choice", ("median_us", "peer_first_us")),
                          ("In rows of like launches where both were timed so, else as above", ("row_us", "peer_row_us"))):
        if any(is_number_above_0(row.get(columns[1]) or "") for row in rows):
            values = [other_ratio(row, *columns) for _, row in ratios(rows)]
            print(f"{what}: {geometric_mean(values):.2f}× of {len(values)}, lowest {min(values):.2f}×")


def write_whole(path, text):
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        fail(f"{path}: {error.strerror}")


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
        name = f"{row['type']} {row['trans']} {size_of(row)}: {ratio:.2f}×"
        parts.append(f'<rect x="{left + index * step:.2f}" y="{above:.1f}" width="{max(step - 0.4, 0.5):.2f}" '
                     f'height="{max(below - above, 0.5):.1f}" fill="{colour[row["type"]]}"><title>{name}</title></rect>')
    for index, kind in enumerate(kinds):
        x = left + index * 96
        parts.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{colour[kind]}"/><text x="{x + 14}" y="17">{kind}</text>')
    parts.append(f'<text x="{left}" y="{height - 8}">{len(compared)} problems, from the slowest beside the peer to the fastest</text></svg>')
    write_whole(path, "\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("csv", help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    parser.add_argument("--recording", help=argparse.SUPPRESS)
    parser.add_argument("--plot", help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows = read_rows(options.csv)
    tries = read_tries(options.recording) if options.recording else None
    print_means(rows)
    if options.table:
        write_table(rows, tries, options.csv, options.table)
    if options.plot:
        write_plot(rows, options.plot)


if __name__ == "__main__":
    main()
