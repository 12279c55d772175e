"""`weakspot prefer`: which modes of a map matter."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a map.")],
    modes: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="The modes that are to be repaired, e.g. 1,3.")
    ] = None,
    worse: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PAIR", help='One mode is worse than another, e.g. --worse "2>1". May be repeated.'
        ),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RATING", help="How bad a mode's samples are, 0 to 10, e.g. --rate 2=8. May be repeated."
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Forget earlier answers first.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all answers as JSON.")] = False,
) -> int:
    """Say which modes of a map you mind; repair can then take the preferred ones.

    Failing samples of each mode are kept files, whose paths are shown. Without options on a terminal it asks:
    which modes, or which of two is worse. A few answers are enough.
    """
    from weakspot.report.format import columns, cut, interval, percent, shell
    from weakspot.report.people.preferences import Preferences, minded, modes_of, prefer, samples_of
    from weakspot.store import Run

    chosen = None if modes is None else _numbers(modes)
    pairs = [_pair(text) for text in worse or []]
    ratings = dict(_rating(text) for text in rate or [])
    with Run.read(run) as opened:
        known = modes_of(opened)
        samples = {number: samples_of(opened, number) for number in range(1, len(known) + 1)}
    if not as_json:
        for number, mode in enumerate(known, start=1):
            ends = f"{percent(mode.rate)} {interval(mode.low, mode.high)}"
            print(f"{number:>3}  {ends:>14}  {cut(mode.words, max(columns() - len(ends) - 8, 20))}")
            for sample in samples[number]:
                print(f"     sample  {shell([sample])}")
    if chosen is None and not pairs and not ratings and not clear and sys.stdin.isatty():
        answer = typer.prompt("which are to be repaired? (numbers, or e.g. 2>1)", default="1")
        if ">" in answer:
            pairs = [_pair(text) for text in answer.split(",")]
        else:
            chosen = _numbers(answer)
    if chosen is None and not pairs and not ratings and not clear:
        with Run.read(run) as opened:
            answers = Preferences.of(opened) or Preferences()
    else:
        answers = prefer(run, chosen=chosen, pairs=pairs, ratings=ratings, clear=clear)
    with Run.read(run) as opened:
        first = minded(opened)
    if as_json:
        print(
            json.dumps(answers.plain() | {"preferred": first, "samples": samples, "exit_code": 0}, indent=2)
        )
    else:
        print(f"preferred  {', '.join(map(str, first)) or 'none: no mode is rated above 5 or called worse'}")
    return 0


def _numbers(text: str) -> list[int]:
    parts = [part for part in re.split(r"[,\s]+", text.strip()) if part]
    if not parts or not all(part.isdecimal() and len(part) < 6 for part in parts):
        raise typer.BadParameter(f"{text[:60]!r} are no numbers of modes: write e.g. 1,3")
    return list(dict.fromkeys(int(part) for part in parts))


def _pair(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,5})\s*>\s*(\d{1,5})\s*", text)
    if not match:
        raise typer.BadParameter(f"{text[:60]!r} is no comparison: write e.g. 2>1")
    return int(match[1]), int(match[2])


def _rating(text: str) -> tuple[int, float]:
    match = re.fullmatch(r"\s*(\d{1,5})\s*=\s*(\d{1,2}(?:\.\d+)?)\s*", text)
    if not match:
        raise typer.BadParameter(f"{text[:60]!r} is no rating: write e.g. 2=8")
    return int(match[1]), float(match[2])
