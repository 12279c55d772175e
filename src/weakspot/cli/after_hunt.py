"""Commands about a finished hunt: its pictures as a data set, other models, other words, realism."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weakspot.cli import program
from weakspot.cli.flags import AsJson, argument, flag, option, show
from weakspot.core import WeakspotError
from weakspot.report.format import (
    NONE,
    Progress,
    columns,
    count,
    cut,
    e_value,
    folded,
    grid,
    interval,
    percent,
    plural,
    rate,
    shell,
    times,
    wrapped,
)
from weakspot.text import clauses

if TYPE_CHECKING:
    from weakspot.after.export import Exported
    from weakspot.after.realism import Realism
    from weakspot.after.tries import Tried


#: How a data set is written.
Format = StrEnum("Format", ["IMAGEFOLDER", "PARQUET", "JSONL", "HF", "CSV"])


def export(
    run: Path = argument("RUN", "The folder of a hunt, of mine, map or ask."),
    format: Format | None = option(
        None,
        None,
        "A folder per label (of a hunt, its default), Parquet or a Hugging Face data set (both need "
        "weakspot[data]), JSON lines (default of map and ask), or csv (of mine, its default).",
    ),
    out: Path | None = option(None, "FOLDER", "A folder that does not exist; by default one in the run's."),
    per_caption: int = option(50, "NUMBER", "Pictures per caption at most, so that none outweighs the rest."),
    only_confirmed: bool = flag(
        "--only-confirmed", "Leave out findings that fresh pictures did not confirm."
    ),
    draw: int = option(
        0, "NUMBER", "Draw up to this many pictures per caption to find more; 0 uses what the run kept."
    ),
    budget: str = option("images=20000", "LIMITS", "Limits on drawing, e.g. images=20k,seconds=600."),
    licence: str = option("not stated", "TEXT", "The licence of the pictures, for the data card."),
    as_json: AsJson = False,
) -> int:
    """Write the pictures that a hunt found misread, with captions, seeds, labels and a data card.

    For a run of mine, it writes the pairs: as csv like the published script, or in full as JSON lines,
    Parquet or hf. For a run of ask, it writes the questions and answers with the verdicts; for map, the
    queries by concepts. Every export has a data card and its provenance.

    The folder appears complete or not at all. After Ctrl-C, the same command goes on where it stopped. Exit
    code 3: the budget ended the drawing early.
    """
    from weakspot.after.export import ExportSettings
    from weakspot.after.export import export as export_pictures
    from weakspot.after.rows_export import export_rows
    from weakspot.store import Run
    from weakspot.study.rows import rows_of
    from weakspot.study.study import find_study

    with Run.read(run) as opened:
        if not find_study(opened.config.study).pictures:
            form = rows_of(opened).forms[0] if format is None else format.value
            folder, n = export_rows(opened, form=form, out=out, licence=licence)
            values = {"folder": str(folder), "format": form, "rows": n, "exit_code": 0}
            return show(values, [plural(n, "row"), f"written  {shell([str(folder)])}"], as_json=as_json)
        if format is Format.CSV:
            raise typer.BadParameter(
                "csv is for pairs of mine; pictures are written as imagefolder, parquet, jsonl, hf"
            )
        settings = ExportSettings(
            format="imagefolder" if format is None else format.value,
            per_caption=per_caption,
            only_confirmed=only_confirmed,
            draw=draw,
            budget=budget,
            licence=licence,
        )
        with Progress(f"export of {run}") as progress:
            try:
                done = export_pictures(opened, out=out, settings=settings, progress=progress)
            except KeyboardInterrupt:
                typer.echo("\nstopped; what was drawn is kept. run the same command again to go on", err=True)
                raise
    code = 3 if done.counts.limit else 0
    pictures = Counter(record.finding for record in done.records)
    found = [
        {
            "phrase": finding.phrase,
            "hypothesis": finding.hypothesis.id,
            "confirmed": finding.confirmed,
            "pictures": pictures[rank],
        }
        for rank, finding in enumerate(done.findings, start=1)
    ]
    values = {
        "folder": str(done.folder),
        "format": settings.format,
        "pictures": len(done.records),
        "findings": found,
        "counts": done.counts._asdict(),
        "exit_code": code,
    }
    lines = _exported(done, found, run, settings.format, columns())
    return show(values, lines, as_json=as_json, code=code)


def _exported(
    done: Exported, found: Sequence[Mapping[str, Any]], run: Path, form: str, wide: int
) -> Iterator[str]:
    """What was exported, in lines."""
    counts = done.counts
    for one in found:
        first, *rest = folded(clauses.legible(one["phrase"]), wide - 8)
        yield f"{count(one['pictures']):>6}  {first}"
        yield from (f"{'':>8}{text}" for text in rest)
    drawn = f" · {count(counts.drawn)} found among {count(counts.tried)} drawn" if counts.tried else ""
    pictures = plural(len(done.records), "misread picture")
    yield from folded(f"{pictures}: {count(counts.kept)} kept by the run{drawn}", wide)
    for number, what in (
        (counts.twice, "left out as copies"),
        (counts.recovered, "left out: failed in the run, but not when drawn again"),
        (counts.invalid, "left out: they do not show what they should"),
        (counts.errors, "ended in an error"),
    ):
        if number:
            yield from wrapped(f"{count(number):>6}", what, wide, room=8)
    if counts.limit:
        yield f"stopped: the {counts.limit}"
    yield f"written  {shell([str(done.folder)])}"
    if form in ("parquet", "hf"):
        yield f"next     {shell([program(), 'transfer', str(run), '--target'])} MODEL"
    else:
        yield f"next     {shell([program(), 'realism', str(done.folder), '--reference'])} FOLDER"


def transfer(
    run: Path = argument("RUN", "The folder of a hunt."),
    target: list[str] = option(..., "MODEL", "Another model; can be given several times."),
    source: list[str] | None = option(
        None,
        "SOURCE",
        "Another source, besides the run's own: another generator, a folder of photographs.",
        "--source",
    ),
    n: int = option(256, "NUMBER", "How many fresh pictures per caption and source.", "--n"),
    budget: str | None = option(None, "LIMITS", "Limits, e.g. images=2000,seconds=600; none by default."),
    same: list[str] | None = option(
        None,
        "LABEL=LABEL,…",
        "Labels of other models that count as the hunted one: 'fly=house fly,horse fly'.",
    ),
    as_json: AsJson = False,
) -> int:
    """Measure other models, and other pictures, on the captions that a hunt found.

    All models see the same fresh pictures. The result is printed and written into the run's folder:
    transfer.json, transfer.md, transfer.svg. Exit code 3 if the budget cut it short.
    """
    from weakspot.after.transfer import transfer as measure
    from weakspot.after.transfer_matrix import markdown, svg
    from weakspot.store import Run, write_whole

    pairs = _same(same or [])
    with Run.read(run) as opened, Progress(f"transfer of {run} to {', '.join(target)}") as progress:
        found = measure(
            opened, target, sources=source or [], n=n, budget=budget, same=pairs or None, progress=progress
        )
    data = found.to_json()
    for name, text in (
        ("transfer.json", json.dumps(data, indent=2, allow_nan=False) + "\n"),
        ("transfer.svg", svg(data)),
        ("transfer.md", markdown(data, picture="transfer.svg")),
    ):
        write_whole(run / name, text.encode("utf-8", "backslashreplace"))
    code = 3 if found.limit else 0
    values = data | {"exit_code": code}
    return show(values, _matrix(data, run, columns()), as_json=as_json, code=code, allow_nan=False)


def _same(given: list[str]) -> dict[str, list[str]]:
    """`fly=house fly,horse fly` as labels by label."""
    found: dict[str, list[str]] = {}
    for text in given:
        label, sign, others = text.partition("=")
        listed = [other.strip() for other in others.split(",") if other.strip()]
        if not sign or not label.strip() or not listed:
            raise WeakspotError(
                f"{text[:80]!r} does not say which labels are the same",
                fix="write --same 'fly=house fly,horse fly'",
            )
        found.setdefault(label.strip(), []).extend(listed)
    return found


def _matrix(data: Mapping[str, Any], run: Path, wide: int) -> Iterator[str]:
    """The result in lines of at most `wide` columns."""
    from weakspot.after.transfer_matrix import cells_of, rate_of, worse

    for source in data["sources"]:
        yield from folded(f"pictures of {source}", wide)
        for at, row in enumerate(data["rows"]):
            yield from (f"  {line}" for line in folded(clauses.legible(row["phrase"]), wide - 2))
            cells = []
            for cell in cells_of(data, source, at):
                here = rate_of(cell)
                ends = interval(here.low, here.high) if here.n else ""
                mark = "▲ worse than its baseline" if worse(cell) else ""
                share = percent(here.value) if here.n else NONE
                cells.append((cell["target"], share, ends, f"of {count(here.n)}", mark))
            yield from (f"  {line}" for line in grid(("",) * 5, cells, wide - 2, texts=(0, 4)))
    for share in data["shared"]:
        if share["row"] is None:
            here = rate_of(share)
            also = f"{percent(here.value)} {interval(here.low, here.high)}" if here.n else "none to ask about"
            yield from folded(f"of {plural(here.n, 'failure')} {share['target']} shares {also}", wide)
    if data["state"] != "finished":
        yield from folded(data["state"], wide)
    errors = sum(error["times"] for error in data["errors"])
    models = plural(len(data["targets"]), "model")
    costs = (plural(data["images"], "image"), models, plural(errors, "error"))
    yield f"trials   {' · '.join(costs)}"
    for error in data["errors"][:3]:
        what = f"{count(error['times'])}× {error['what']}"
        yield from wrapped("error", what, wide)
    yield f"written  {shell([str(run / 'transfer.md')])}"


def realism(
    folder: Path = argument("FOLDER", "Pictures, e.g. an exported data set."),
    reference: Path = option(..., "FOLDER", "Pictures of the real thing."),
    features: str = option(
        "world:encoder",
        "MODEL",
        "What turns pictures into features: an encoder, onnx:model.onnx?output=NAME, python:module:function.",
    ),
    seed: int = option(0, "NUMBER", "Of the bootstrap."),
    as_json: AsJson = False,
) -> int:
    """Say how far the pictures in a folder are from those in another: FID, and KID with an interval."""
    from weakspot.after.realism import realism as measure

    with Progress(f"realism of {folder} against {reference} by {features}") as progress:
        found = measure(folder, reference=reference, features=features, seed=seed, progress=progress)
    return show(
        {"by": features, **found.to_json(), "exit_code": 0}, _distances(found, columns()), as_json=as_json
    )


def _distances(found: Realism, wide: int) -> Iterator[str]:
    """FID and KID in lines."""
    sizes = f"{plural(found.n, 'picture')} against {count(found.reference_n)}"
    yield from wrapped("fid", f"{found.fid:.4g} · {sizes} · {plural(found.features, 'feature')}", wide)
    if even := found.even:
        alike = (
            f"{even.fid:.4g} at {count(even.n)} pictures a side; the two halves of the reference are "
            f"{even.reference:.4g} apart"
        )
        yield from wrapped("", alike, wide)
    ends = f"95 % interval [{found.kid_low:.4g}, {found.kid_high:.4g}]"
    yield from wrapped("kid", f"{found.kid:.4g} · {ends}", wide)
    if found.few:
        few = "fewer pictures than features: FID is too large; trust KID, or add pictures"
        yield from wrapped("warning", few, wide)
    for name, why in found.skipped[:3]:
        yield from wrapped("skipped", f"{name}: {why}", wide)
    if len(found.skipped) > 3:
        yield f"         and {plural(len(found.skipped) - 3, 'other file')}"


def try_(
    run: Path = argument("RUN", "The folder of a hunt."),
    words: str = argument(
        "WORDS", "Sentences to add to the baseline's words, or a whole prompt: 'it is on a red flower.'"
    ),
    label: str | None = option(
        None, "LABEL", "Which label's baseline to use, if the hunt has several labels.", "--label"
    ),
    n: int | None = option(None, "NUMBER", "The most new images to draw; 256 without a budget.", "--n"),
    budget: str | None = option(None, "LIMITS", "Limits on new work, e.g. images=1000,seconds=60."),
    as_json: AsJson = False,
) -> int:
    """Measure your own words: do they trouble the model more than the baseline of a hunt does?

    It draws until that is decided, at most 256 images. Run the same command again to go on where it stopped.
    The hunt's findings stay as they are. Each single verdict is wrong at most once in twenty times: if you
    try many words, some will look worse by luck. Exit code 3: a budget ran out before that was decided.
    """
    from weakspot.after.tries import MOST, TryWatch, try_words
    from weakspot.store import Run
    from weakspot.study.reports import write

    most = n or (MOST if budget is None else 0)
    with Progress(f"trying {words!r} in {run}") as progress:
        watch = TryWatch(
            lambda failed, judged, drawn: progress(f"{failed} of {judged} failed", drawn, max(most, drawn))
        )
        found = try_words(run, words, label=label, n=n, budget=budget, watch=watch)
    with Run.read(run) as opened:
        page = write(opened)
    code = 3 if found.limit and found.verdict == "undecided" else 0
    lines = [*_tried(found, columns()), f"report   {shell([str(page)])}"]
    if found.verdict == "undecided":
        again = [program(), "try", str(run), words, *(() if label is None else ("--label", label))]
        lines.append(f"next     {shell([*again, '--n', str(max(1024, 2 * found.drawn))])}")
    values = found.to_json() | {"report": str(page), "exit_code": code}
    return show(values, lines, as_json=as_json, code=code)


def _tried(found: Tried, wide: int) -> Iterator[str]:
    """The result in lines of at most `wide` columns."""
    line = partial(wrapped, wide=wide)
    yield from folded(clauses.title(found.phrase), wide)
    yield from line("failed", rate(found.rate) if found.rate.n else "nothing could be judged")
    if found.unchecked is not None:
        yield from line("", f"{rate(found.unchecked)} without the second opinion")
    lift = times(found.lift)
    yield from line("baseline", rate(found.baseline) + (f": {lift} as often" if lift != NONE else ""))
    if found.confusions:
        said = (
            f"{cut(answer, 30) or '(nothing)'} {percent(share)}" for answer, share in found.confusions[:3]
        )
        yield from line("instead", ", ".join(said))
    verdict = found.verdict.value
    if found.verdict == "undecided":
        verdict = f"undecided after {plural(found.drawn, 'image')}: neither shown worse nor shown alike"
    elif found.log_evidence > 0 and "not" not in verdict:
        verdict = f"{verdict} (e-value {e_value(found.log_evidence)})"
    yield from line("verdict", verdict)
    if found.raced:
        yield from line(
            "note", "the hunt drew these words too; words it picked for failing look worse than they are"
        )
    costs = [
        f"{count(found.fresh)} new images",
        f"{count(found.drawn)} in all",
        plural(found.errors, "error"),
    ]
    yield from line("trials", " · ".join([*costs, *([found.limit] if found.limit else [])]))
