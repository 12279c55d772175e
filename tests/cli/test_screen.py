"""On a terminal: a live table that fits, then a result that fits."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from weakspot.cli.screen import _bar, _line, limits
from weakspot.core import Finding, Hypothesis, Rate, Tally
from weakspot.engine import Lane, State
from weakspot.report.format import cut
from weakspot.report.ranking import Ranked, Ranking
from weakspot.studies.hunt.cards import instead

WEAKSPOT = str(Path(sys.executable).with_name("weakspot"))
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(args: list[str], folder: Path, columns: int) -> tuple[int, str]:
    """Run the command on a terminal so wide; its code and all that was written."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES", "CI")}
    process = subprocess.Popen(
        [WEAKSPOT, *args], cwd=folder, stdout=theirs, stderr=theirs, env={**env, "TERM": "xterm-256color"}
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return process.wait(60), seen.decode()


@pytest.mark.parametrize("columns", [80, 120])
def test_a_live_table_and_a_result_that_fit(toy: Path, meadow: list[str], columns: int) -> None:
    args = [*meadow, "--source", "python:toy:Slow", "--budget", "images=1500", "--out", "run"]
    code, seen = on_a_terminal(args, toy, columns)
    assert code == 0
    assert seen.count("\x1b[2K") > 3  # lines drawn over
    assert seen.rfind("\x1b[?25h") > seen.rfind("\x1b[?25l")  # the cursor is back
    text = CODES.sub("", seen)
    assert "▲  it is on a flower." in text
    assert re.search(r"race     \d+ captions? · \d+ still open · \d+ ahead · [\d,]+ images so far", text)
    lines = re.split(r"[\r\n]+", text)
    assert max(map(len, lines[1:-2])) <= columns  # the command to copy may be longer
    assert "1.…" not in text
    assert lines[-3].startswith("report   run/report.html")
    assert lines[-2].startswith("next     weakspot ")
    # What is left on the screen is the first line and the result.
    assert seen.index("hunting") < seen.index("baseline")


def test_ctrl_c_on_a_terminal_gives_the_cursor_back(toy: Path, meadow: list[str]) -> None:
    script = "import os, signal, threading, time\nfrom weakspot.cli import main, screen\n"
    script += "def press():\n    while not any(s.folder for s in shown): time.sleep(0.05)\n"
    script += "    time.sleep(0.3); os.kill(os.getpid(), signal.SIGINT)\n"
    script += "shown, begin = [], screen.Screen.__enter__\n"
    script += "screen.Screen.__enter__ = lambda own: shown.append(own) or begin(own)\n"
    script += "threading.Thread(target=press, daemon=True).start()\n"
    script += f"main({[*meadow, '--source', 'python:toy:Slow', '--out', 'run']!r})\n"
    (toy / "press.py").write_text(script)
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "press.py"], cwd=toy, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 65536):
            seen += part
    except OSError:
        pass
    os.close(ours)
    assert process.wait(60) == 130
    text = seen.decode()
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l")
    assert "weakspot resume run" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("it is small.", 20, "it is small."),
        ("it is on a yellow flower.", 12, "it is on a…"),
        ("a\nb\x1b[31m", 20, "a b‹U+001B›[31m"),
        ("x" * 1_000_000, 5, "xxxx…"),
        ("猫" * 10, 7, "猫猫猫…"),
        ("", 5, ""),
    ],
)
def test_cut(text: str, most: int, shown: str) -> None:
    assert cut(text, most) == shown


def test_limits() -> None:
    assert limits("images=20k,seconds=600") == "up to 20,000 images, 600 seconds"
    assert limits("dollars=2.5") == "up to $2.50"


def finding(phrase: str, value: float, said: str = "bee") -> Finding:
    rate, usual = Rate(value, value - 0.05, value + 0.05, 1024, 600), Rate(0.01, 0.009, 0.011, 6000, 60)
    return Finding(Hypothesis(phrase), phrase, rate, usual, 9.0, True, ((said, 0.98),))


def rows_of(found: list[Finding], names: list[tuple[str, str]], wide: int) -> list[str]:
    rows = [
        Ranked(place, words, f.rate, f.baseline, under="" if place else "worse", more=(f"→ {instead(f)}",))
        for f, (place, words) in zip(found, names, strict=True)
    ]
    return list(Ranking(rows=rows, further=("said instead",)).lines(wide))


@pytest.mark.parametrize("wide", [60, 80, 100, 120])
def test_the_rows_of_a_result_fit_and_nothing_is_cut(wide: int) -> None:
    found = [
        finding("it is on a yellow flower and behind it there is a very long description.", 0.6),
        finding("it is small.", 0.1, "a label of unusual length, really"),
        finding("它在花上。", 0.2),
    ]
    rows = rows_of(found, [("1", found[0].phrase), ("2", found[1].phrase), ("", "它在花上。")], wide)
    assert all(cell_len(row) <= wide for row in rows)
    assert rows[0].startswith(" 1  it is on a")
    said = " ".join(" ".join(rows).split())
    if wide == 120:
        assert "a label of unusual length, really 98 %" in said
    for words in (*found[0].phrase.split(), "unusual", "length,", "└ 它在花上。"):
        assert words in said
    assert said.count("baseline") == 3
    assert "…" not in said


def test_rows_say_the_label_and_the_one_wrong_answer() -> None:
    about_bees = replace(finding("it is on a flower.", 0.6), answer="bee")
    names = [("1", "fly: it is on a flower"), ("2", "house cat: it is small")]
    rows = rows_of([about_bees, finding("it is small.", 0.1)], names, 120)
    assert rows[0].startswith(" 1  fly: it is on a flower ")
    assert rows[0].endswith("→ bee only")
    assert rows[1].startswith(" 2  house cat: it is small ")
    assert rows[1].endswith("→ bee 98 %")


def test_captions_are_counted_once_and_edits_are_no_candidates() -> None:
    flower, leaf = Hypothesis("it is on a flower."), Hypothesis("it is on a leaf.")
    lanes = [
        Lane(flower, Tally(24, 9), State.AHEAD),
        Lane(flower, Tally(24, 9), State.AHEAD, answer="bee"),
        Lane(leaf, Tally(24, 1)),
    ]
    assert _line("race", lanes, {"images": 48.0}) == (
        "race     2 captions · 1 still open · 1 ahead · 48 images so far"
    )
    assert _line("edits", lanes[2:], {"images": 48.0}) == (
        "edits    the same words with one thing changed · 48 images so far"
    )


def test_a_bar_stays_inside_its_box() -> None:
    for low, high in ((0.0, 0.0), (0.0, 1.0), (0.4, 0.41), (0.99, 1.0), (1.0, 1.0)):
        bar = _bar(low, high, 1.0, 10)
        assert len(bar) <= 10
        assert bar.endswith("━")
