"""Every screen fits a terminal of 80 columns, and says there what it says on a wide one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from tests.report.report_parts import STUDIES, make_run

from weakspot.after.compared import compare_folders
from weakspot.after.gate import Limits, gate
from weakspot.cli import after_hunt, between_runs
from weakspot.core import Finding, Hypothesis, Rate
from weakspot.report.format import grid
from weakspot.store import Run
from weakspot.study.reports import document_of, html, markdown

WIDTHS = (80, 100, 120)
LONG = "it is half hidden. it is behind a very tall wooden fence. the background is a living room."
#: Lines that are copied, or whose length is only for looks.
COPIED = re.compile(r"(─|model    |data     |report   |next     |written  )")


def check_screen(lines: Callable[[int], Any], whole: int = 4000) -> None:
    """No line is too long, and no word of the widest screen is missing or broken."""
    words = {word for line in lines(whole) for word in line.split() if not COPIED.match(line)}
    for wide in WIDTHS:
        shown = [line for line in lines(wide) if not COPIED.match(line)]
        assert not [line for line in shown if cell_len(line) > wide], wide
        missing = words - {word for line in shown for word in line.split()}
        assert not missing, (wide, missing)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of each study, with long words in it."""
    folder = tmp_path_factory.mktemp("runs")
    return {study: make_run(study, folder / study) for study in STUDIES if study != "ask"}


def finding(phrase: str, said: str) -> Finding:
    rate, usual = Rate(0.5, 0.4, 0.6, 128, 64), Rate(0.015, 0.01, 0.03, 2048, 31)
    return Finding(Hypothesis(f"a fly. {phrase}"), phrase, rate, usual, 9.0, True, ((said, 0.98),))


@pytest.mark.parametrize("study", [study for study in STUDIES if study != "ask"])
def test_the_last_lines_of_a_run(study: str, runs: dict[str, Path]) -> None:
    with Run.read(runs[study]) as run:
        check_screen(lambda wide: [line for line in document_of(run).lines(wide) if "http" not in line])


def test_findings_of_a_hunt_are_wrapped_and_never_cut(runs: dict[str, Path]) -> None:
    with Run.open(runs["hunt"]) as run:
        old = run.findings
        run.ledger.set_findings([finding(LONG, "a label of unusual length"), *old])
        lines = list(document_of(run).lines(80))
        run.ledger.set_findings(old)
    text = " ".join(" ".join(lines).split())
    assert "behind a" in text
    assert max(map(cell_len, lines)) <= 80
    for word in LONG.replace(".", "").split():
        assert word in text


def test_a_comparison_and_a_gate(runs: dict[str, Path]) -> None:
    found = compare_folders(runs["hunt"], runs["hunt"], adjustment="holm", alpha=0.05)
    words = list(between_runs._comparison(found, 80))
    assert max(map(cell_len, words)) <= 80
    assert any("points" in line for line in words)  # the columns that decide are there
    assert any(re.search(r"\bp\b", line) for line in words)
    with Run.read(runs["hunt"]) as run:
        checked = gate(run, Limits(rate=0.05, part_rate=0.2, findings=0))
    check_screen(lambda wide: between_runs._verdict(checked, wide))


def test_words_that_were_tried_and_a_transfer() -> None:
    cell = {
        "row": 0, "source": "world:renderer", "target": "world:classifier-vit-1 with a long name",
        "rate": {"value": 0.5, "low": 0.4, "high": 0.6, "n": 100, "failures": 50}, "adjusted": 0.001,
        "lift": 9.0, "p": 0.001, "errors": 0, "undecided": 0, "versus": None,
    }  # fmt: skip
    data = {
        "targets": [cell["target"]], "sources": ["world:renderer"], "cells": [cell], "shared": [],
        "rows": [{"phrase": LONG, "baseline": False}], "state": "finished", "errors": [], "images": 100,
    }  # fmt: skip
    check_screen(lambda wide: after_hunt._matrix(data, Path("run"), wide))
    assert any("worse" in line for line in after_hunt._matrix(data, Path("run"), 80))


def test_what_decides_is_never_dropped() -> None:
    """A wide table at 80 columns: the last columns stand there, if need be below the row's name."""
    head = ("slice", "refused", "corrected", "judged", "refused", "p to above", "q", "")
    rows = [
        ("kind: a figure of speech that goes on", "83 % [54, 97]", "87 % [52, 100]", "12", "10", "0.012",
         "0.0039", "worse"),
        ("plain", "50 % [23, 77]", "51 % [20, 84]", "12", "6", "0.4", "0.68", ""),
    ]  # fmt: skip

    def lines(wide: int) -> Iterator[str]:
        return grid(head, rows, wide)

    check_screen(lines, whole=200)
    for wide in WIDTHS:
        text = " ".join(" ".join(lines(wide)).split())
        assert all(word in text for word in ("worse", "0.0039", "p to above", "0.012", " q "))


@pytest.mark.parametrize("study", [study for study in STUDIES if study != "ask"])
def test_every_report_has_the_same_order(study: str, runs: dict[str, Path]) -> None:
    """What was found, what was not, how it was measured, how to run it again: on the page and in Markdown."""
    with Run.read(runs[study]) as run:
        page, text = html(run), markdown(run)
    for titles in (re.findall(r"<h2[^>]*>([^<]+)</h2>", page), re.findall(r"^## (.+)$", text, re.MULTILINE)):
        last = [titles.index(title) for title in ("What was looked at and not found", "How it was measured")]
        assert 0 < last[0] < last[1]
    assert page.index("How it was measured</h2>") < page.index("How to run it again")
    if study != "rare":  # which has one finding, told by its pictures
        first = page.partition("<h2")[2].partition("<h2")[0]
        assert "three that fail" in first or "texts-below" in first or "None was confirmed" in first
