#!/usr/bin/env python3
"""Draws times before and after as bars: one SVG, written without any library.

Usage: bars.py FILE.csv TITLE [NOTE] >FILE.svg

The CSV has a header line `case,before_us,after_us`. Each pair of bars is in the scale of its longer one, so that short cases show too.
"""

import csv
import sys
from html import escape
from typing import List, NamedTuple, Sequence

BEFORE, AFTER = "#9aa5b1", "#1f7a4d"
WIDTH, STEP, TOP, LEFT, LONGEST = 760, 50, 76, 200, 360
KIND_COLOURS = (BEFORE, "#52606d", "#8ec3a7", AFTER, "#2f6db5", "#b5722f")


class Bar(NamedTuple):
    case: str
    before_us: float
    after_us: float


class Rate(NamedTuple):
    case: str
    kind: str
    tokens_per_s: float
    error: float


def time_text(us: float) -> str:
    return f"{us:,.0f} µs" if us >= 1000 else f"{us:.1f} µs"


def frame(height: int, title: str) -> List[str]:
    return [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
             f"<title>{escape(title)}</title>", '<rect width="100%" height="100%" fill="white"/>', f'<text x="16" y="28" font-size="16">{escape(title)}</text>']


def end(height: int, note: str) -> List[str]:
    return [f'<text x="16" y="{height - 10}" font-size="11" fill="#52606d">{escape(note)}</text>'] if note else []


def rates_svg(rates: Sequence[Rate], title: str, note: str = "") -> str:
    """Tokens a second: a bar for each kind of each case, and beside it how many times the first kind's rate that is."""
    cases, kinds = list(dict.fromkeys(rate.case for rate in rates)), list(dict.fromkeys(rate.kind for rate in rates))
    step = 14 * len(kinds) + 14
    height = TOP + step * len(cases) + (28 if note else 8)
    lines, x = frame(height, title), 16
    for kind, colour in zip(kinds, KIND_COLOURS):
        lines += [f'<rect x="{x}" y="44" width="12" height="12" fill="{colour}"/>', f'<text x="{x + 18}" y="55">{escape(kind)}</text>']
        x += 42 + 7 * len(kind)
    for i, case in enumerate(cases):
        y, of = TOP + step * i, [rate for rate in rates if rate.case == case]
        longest = max(rate.tokens_per_s for rate in of)
        lines.append(f'<text x="{LEFT - 12}" y="{y + step // 2 - 2}" text-anchor="end">{escape(case)}</text>')
        for j, rate in enumerate(of):
            length = LONGEST * rate.tokens_per_s / longest
            lines += [f'<rect x="{LEFT}" y="{y + 14 * j}" width="{length:.1f}" height="13" fill="{KIND_COLOURS[kinds.index(rate.kind)]}"/>',
                      f'<text x="{LEFT + length + 6:.1f}" y="{y + 14 * j + 10}" font-size="11">{rate.tokens_per_s:,.0f}, '
                      f'{rate.tokens_per_s / of[0].tokens_per_s:.2f}×, error {rate.error:.2g}</text>']
    return "\n".join([*lines, *end(height, note), "</svg>\n"])


def svg(bars: Sequence[Bar], title: str, note: str = "") -> str:
    height = TOP + STEP * len(bars) + (28 if note else 8)
    lines = frame(height, title)
    for x, colour, name in ((LEFT, BEFORE, "before"), (LEFT + 90, AFTER, "with Tilesmith")):
        lines += [f'<rect x="{x}" y="44" width="12" height="12" fill="{colour}"/>', f'<text x="{x + 18}" y="55">{name}</text>']
    for i, bar in enumerate(bars):
        y, longest = TOP + STEP * i, max(bar.before_us, bar.after_us)
        lines.append(f'<text x="{LEFT - 12}" y="{y + 23}" text-anchor="end">{escape(bar.case)}</text>')
        for shift, time, colour in ((0, bar.before_us, BEFORE), (18, bar.after_us, AFTER)):
            length = LONGEST * time / longest
            lines += [f'<rect x="{LEFT}" y="{y + shift}" width="{length:.1f}" height="16" fill="{colour}"/>',
                      f'<text x="{LEFT + length + 6:.1f}" y="{y + shift + 13}">{time_text(time)}</text>']
        lines.append(f'<text x="{WIDTH - 16}" y="{y + 23}" text-anchor="end" font-weight="bold">{bar.before_us / bar.after_us:.2f}×</text>')
    return "\n".join([*lines, *end(height, note), "</svg>\n"])


def read(path: str) -> List[Bar]:
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if not rows or rows[0] != ["case", "before_us", "after_us"]:
        sys.exit(f"bars.py: {path}: expected the header case,before_us,after_us")
    bars = []
    for number, row in enumerate(rows[1:], 2):
        try:
            case, before, after = row
            bar = Bar(case, float(before), float(after))
            if not (0 < bar.before_us < 1e12 and 0 < bar.after_us < 1e12):
                raise ValueError
        except ValueError:
            sys.exit(f"bars.py: {path}:{number}: expected a case and two times above 0 in microseconds")
        bars.append(bar)
    if not bars:
        sys.exit(f"bars.py: {path}: expected a line below the header")
    return bars


def write_csv(path: str, bars: Sequence[Bar]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "before_us", "after_us"])
        writer.writerows([bar.case, f"{bar.before_us:.2f}", f"{bar.after_us:.2f}"] for bar in bars)


def main() -> None:
    if len(sys.argv) == 2 and sys.argv[1] in ("-h", "--help"):
        print(__doc__)
    elif len(sys.argv) not in (3, 4):
        sys.exit("bars.py: expected FILE.csv TITLE [NOTE]; see --help")
    else:
        sys.stdout.buffer.write(svg(read(sys.argv[1]), *sys.argv[2:]).encode())


if __name__ == "__main__":
    main()
