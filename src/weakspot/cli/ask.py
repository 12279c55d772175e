"""`weakspot ask`: which harmless questions a chat model refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weakspot.cli.flags import AsJson, BlobsAt, Out

if TYPE_CHECKING:
    from weakspot.report.ask_words import Table
    from weakspot.store import Run


def command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="The chat model, e.g. chat:openai/gpt-4o or replay:responses.jsonl."
        ),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            metavar="BENCHMARK",
            help="The questions: mossbench:DIR, questions:FILE or xstest:FILE.",
        ),
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            "--judge", metavar="JUDGE", help="Says which answers refuse (see: weakspot list judges)."
        ),
    ] = "embedded",
    contrast: Annotated[
        bool, typer.Option("--contrast", help="Ask the harmful counterparts too, which should be refused.")
    ] = False,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROMPT",
            help="A system prompt: none, helpful, scrutiny, safety or a text file. Several are compared.",
        ),
    ] = None,
    stages: Annotated[
        bool,
        typer.Option("--stages", help="Ask refused questions again with help, to see why they were refused."),
    ] = False,
    repeats: Annotated[int, typer.Option(metavar="NUMBER", help="How often each question is asked.")] = 1,
    limit: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="At most so many benign questions, spread over the benchmark."),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="LIMITS", help="Any of calls, tokens, dollars, seconds; e.g. dollars=5,calls=1000."
        ),
    ] = "calls=20000",
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of the run.")] = 0,
    fdr: Annotated[
        float, typer.Option(metavar="SHARE", help="Bound on the share of slices wrongly called worse.")
    ] = 0.05,
    scenarios: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Instead of a benchmark: have new questions written, at most so many, and find the kinds "
            "that are refused most.",
        ),
    ] = None,
    stimulus: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="With --scenarios: exaggerated-risk, negated-harm, counterintuitive, or own words.",
        ),
    ] = None,
    llm: Annotated[
        str | None, typer.Option(metavar="MODEL", help="With --scenarios: the chat model that writes them.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="SOURCE",
            help="With --scenarios: draws the scenes (see: weakspot list sources).",
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER?encoder=NAME", help="With --scenarios: pictures of a folder, found by the scene."
        ),
    ] = None,
    out: Out = None,
    blobs: BlobsAt = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be sent where and what it may cost; send nothing."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Find which harmless questions a chat model refuses, and why.

    Errors, blocks by the provider and empty answers are never counted as refusals. The run can be stopped
    with Ctrl-C at any time and resumed; nothing answered is asked again. Exit codes: 0 done, 1 cannot,
    2 misused, 3 a budget was spent first, 130 interrupted.
    """
    from weakspot.cli.screen import interruptible
    from weakspot.core import WeakspotError
    from weakspot.studies.ask.method import ask

    if scenarios is not None:
        unused = {
            "--benchmark": benchmark, "--system": system, "--stages": stages, "--limit": limit,
            "--repeats": repeats > 1, "--dry-run": dry_run,
        }  # fmt: skip
        if wrong := [name for name, value in unused.items() if value]:
            raise WeakspotError(f"{wrong[0]} does not go with --scenarios", fix=f"leave {wrong[0]} out")
        return _scenarios(
            target,
            n=scenarios,
            stimulus=stimulus,
            llm=llm,
            source=source,
            pool=pool,
            judge=judge,
            contrast=contrast,
            budget=budget,
            seed=seed,
            fdr=fdr,
            out=out,
            blobs=blobs,
            as_json=as_json,
        )
    for name, value in (("--stimulus", stimulus), ("--llm", llm), ("--source", source), ("--pool", pool)):
        if value:
            raise WeakspotError(f"{name} belongs to --scenarios", fix="add --scenarios 300, or leave it out")
    if benchmark is None:
        raise WeakspotError(
            "no questions are named", fix="add --benchmark mossbench:DIR, or --scenarios 300 for new ones"
        )
    given: dict[str, Any] = {
        "benchmark": benchmark,
        "judge": judge,
        "contrast": contrast,
        "system": tuple(system or ("none",)),
        "stages": stages,
        "repeats": repeats,
        "limit": limit,
        "budget": budget,
        "seed": seed,
        "fdr": fdr,
    }
    if dry_run:
        return _preview(target, given, as_json=as_json)
    with _screen(f"asking {target}", budget=budget, seed=seed) as screen, interruptible(screen):
        run = ask(target, **given, out=out, blobs=blobs, watch=screen)
    return conclude(run, as_json=as_json)


def _scenarios(
    target: str,
    *,
    n: int,
    stimulus: str | None,
    llm: str | None,
    source: str | None,
    pool: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    from weakspot.cli.screen import interruptible
    from weakspot.core import WeakspotError
    from weakspot.studies.ask.scenarios import scenarios

    if not stimulus or not llm:
        raise WeakspotError(
            f"--scenarios needs {'--llm' if stimulus else '--stimulus'}",
            fix="e.g. --scenarios 300 --stimulus negated-harm --llm chat:openai/gpt-4o",
        )
    if source and pool:
        raise WeakspotError("--source and --pool both give the pictures", fix="choose one")
    pictures = f"retrieve:{pool}" if pool else source
    with (
        _screen(f"new questions for {target}", budget=given["budget"], seed=given["seed"]) as screen,
        interruptible(screen),
    ):
        run = scenarios(target, llm=llm, stimulus=stimulus, n=n, source=pictures, **given, watch=screen)
    return conclude(run, as_json=as_json)


def _screen(title: str, *, budget: str, seed: int) -> Any:
    """A screen for a study that asks: it shows what was asked and refused."""
    from weakspot.cli.ask_screen import AskScreen

    return AskScreen(title, budget=budget, seed=seed)


def _preview(target: str, given: Mapping[str, Any], *, as_json: bool) -> int:
    from weakspot.cli.screen import columns, cut
    from weakspot.studies.ask.preview import preview

    found = preview(target, **given)
    if as_json:
        print(json.dumps(found, indent=2))
        return 0
    wide = columns()
    for name, about in found["lines"]:
        print(f"{name:<10} {cut(about, wide - 11)}")
    return 0


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when a budget ended the run)."""
    from weakspot.cli.screen import columns, program
    from weakspot.report.format import shell
    from weakspot.study.reports import summary, write

    with run:
        path = write(run)
        code = 3 if run.state.startswith("stopped") else 0
        figures = summary(run)
        if as_json:
            print(json.dumps(figures | {"report": str(path), "exit_code": code}, indent=2))
            return code
        for line in _result(figures, columns()):
            print(line)
        print(f"report   {shell([str(path)])}")
        words = (
            ["report", str(run.folder), "--open"]
            if code == 0
            else ["resume", str(run.folder), "--budget", "…"]
        )
        print(f"next     {shell([program(), *words])}")
    return code


def _result(figures: Mapping[str, Any], wide: int) -> Iterator[str]:
    from weakspot.cli.screen import cut
    from weakspot.report.ask_words import counts, tables
    from weakspot.report.format import seconds

    for table in tables(figures):
        if table.title in ("Pictures", "Errors"):
            continue
        yield cut(table.title, wide)
        yield from grid(table, wide)
        yield ""
    yield cut(figures["conclusion"], 4 * wide)
    missing = len(figures.get("images_missing") or ())
    if missing:
        yield f"pictures {missing} of the benchmark's pictures are missing (see the report)"
    spent = figures["spend"]
    cost = f" · {spent['tokens']:,} tokens · ${spent.get('dollars', 0):,.2f}" if spent.get("tokens") else ""
    yield f"asked    {counts(figures)}{cost} · {seconds(float(spent.get('seconds', 0.0)))}"
    for kind in figures["error_kinds"][:3]:
        what = f"{kind['times']:,}× {kind['what']}"
        yield f"error    {cut(what, wide - 9)}"
    if figures["state"].startswith("stopped"):
        yield cut(figures["state"], wide)


def grid(table: Table, wide: int) -> Iterator[str]:
    """A table as aligned lines; columns without anything but zeros or dashes are left out."""
    from weakspot.cli.screen import cut

    rows: Sequence[Sequence[str]] = [[cut(cell, 48) for cell in row] for row in table.rows]
    kept = [i for i in range(len(table.head)) if i == 0 or any(row[i] not in ("", "0", "–") for row in rows)]
    head = [table.head[i] for i in kept]
    body = [[row[i] for i in kept] for row in rows]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(kept))]
    for line in [head, *body]:
        first, *rest = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        shown = "  ".join([f"  {first}", *rest]).rstrip()
        yield shown if len(shown) <= wide else f"{shown[: wide - 1]}…"
