"""examples/python/bars.py, which draws, and the pictures of the pages that it drew."""

import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "examples" / "python"))
import bars  # noqa: E402

FIGURES = ROOT / "docs" / "figures"
SCRIPT = ROOT / "examples" / "python" / "bars.py"


def test_bars_are_as_long_as_times():
    drawn = bars.svg([bars.Bar("a <b>", 200, 50), bars.Bar("c", 10, 20)], "T & U", "note")
    xml.etree.ElementTree.fromstring(drawn)
    lengths = [float(found) for found in re.findall(rf'<rect x="{bars.LEFT}" y="\d+" width="([\d.]+)" height="16"', drawn)]
    assert lengths == [bars.LONGEST, bars.LONGEST / 4, bars.LONGEST / 2, bars.LONGEST]
    assert "4.00×" in drawn and "0.50×" in drawn and "a &lt;b&gt;" in drawn and "T &amp; U" in drawn


def test_rates_are_drawn_for_each_kind_of_each_case():
    rates = [bars.Rate(case, kind, rate, 0.01) for case in "ab" for kind, rate in (("bf16", 1000), ("W4 & 8", 2000), ("fp8", 500))]
    drawn = bars.rates_svg(rates, "T & U", "note")
    xml.etree.ElementTree.fromstring(drawn)
    lengths = [float(found) for found in re.findall(rf'<rect x="{bars.LEFT}" y="\d+" width="([\d.]+)" height="13"', drawn)]
    assert lengths == [bars.LONGEST / 2, bars.LONGEST, bars.LONGEST / 4] * 2
    assert drawn.count("W4 &amp; 8") == 1 and drawn.count("2,000, 2.00×, error 0.01") == 2


@pytest.mark.parametrize("text, message", [
    ("", "expected the header case,before_us,after_us"),
    ("case,before_us,after_us\n", "expected a line below the header"),
    ("case,before_us,after_us\na,1,2\nb,1\n", "x.csv:3: expected a case and two times above 0 in microseconds"),
    ("case,before_us,after_us\na,1,nan\n", "x.csv:2: expected a case and two times"),
    ("case,before_us,after_us\na,0,1\n", "x.csv:2: expected a case and two times"),
])
def test_wrong_figures_are_one_line(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    done = subprocess.run([sys.executable, SCRIPT, "x.csv", "title"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == "" and message in done.stderr and done.stderr.count("\n") == 1


def test_what_is_written_is_read_again(tmp_path):
    given = [bars.Bar("prefill 1x128, graph", 12.5, 10.25), bars.Bar("é", 3, 4)]
    bars.write_csv(str(tmp_path / "x.csv"), given)
    assert bars.read(str(tmp_path / "x.csv")) == given


def test_the_pages_show_the_figures_that_are_kept():
    kept = (FIGURES / "applications_h100.svg").read_text(encoding="utf-8")
    title, note = re.findall(r"'([^']+)'", (FIGURES / "draw.sh").read_text())
    figures = bars.read(str(FIGURES / "applications_h100.csv"))
    assert kept == bars.svg(figures, title, note)  # docs/figures/draw.sh draws them anew
    for page in ("README.md", "docs/applications.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert "figures/applications_h100.svg" in text
        for bar in figures:
            assert f"{bar.before_us} → {bar.after_us} ({bar.before_us / bar.after_us:.2f}×)" in text, (page, bar)
