"""`weakspot rare`: the rate of a rare failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weakspot.cli.flags import AsJson, BlobsAt, Out

if TYPE_CHECKING:
    from weakspot.store import Run


def command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="The classifier, e.g. world:classifier (see: weakspot list models)."
        ),
    ],
    label: Annotated[
        str, typer.Option("--label", metavar="LABEL", help="The label whose failures are counted.")
    ],
    target_label: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Count only this wrong answer as a failure.")
    ] = None,
    words: Annotated[
        str, typer.Option(metavar="TEXT", help='Sentences added to the prompt, e.g. "it is on a flower."')
    ] = "",
    source: Annotated[
        str,
        typer.Option(
            "--source", metavar="SOURCE", help="What draws images from words (see: weakspot list sources)."
        ),
    ] = "world:renderer",
    prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The plain prompt, with {label} and, if wanted, ({parent})."),
    ] = None,
    labels_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Names and parents of labels, as CSV, JSON or text.")
    ] = None,
    sense: Annotated[
        str | None,
        typer.Option(
            "--sense", metavar="SENSE", help="Which meaning of the label, where WordNet knows several."
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(metavar="LIMITS", help="images, and if wanted seconds, dollars; e.g. images=20k."),
    ] = "images=20000",
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed gives the same result.")] = 0,
    out: Out = None,
    blobs: BlobsAt = None,
    as_json: AsJson = False,
) -> int:
    """Measure how often an image classifier fails where plain sampling would hardly see a failure.

    Images are moved step by step towards being misread, which takes far fewer of them: 40,000 for a factor of
    2 at one failure in 100,000. Where the classifier gives no scores or the source cannot move its images,
    they are drawn and counted, and the result says so. The run can be stopped with Ctrl-C and resumed. Exit
    codes: 0 done, 1 cannot, 2 misused, 3 a limit was reached first, 130 interrupted.
    """
    from weakspot.cli.rare_screen import RareScreen
    from weakspot.cli.screen import interruptible
    from weakspot.studies.rare.method import rare

    title = f"rare failures of {target} on {label!r}"
    with RareScreen(title, budget=budget, seed=seed) as screen, interruptible(screen):
        run = rare(
            target,
            label=label,
            target_label=target_label,
            words=words,
            source=source,
            prompt=prompt,
            labels_file=labels_file,
            sense=sense,
            budget=budget,
            seed=seed,
            out=out,
            blobs=blobs,
            watch=screen,
        )
    return conclude(run, as_json=as_json)


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when a limit ended the run)."""
    from weakspot.cli.screen import columns, cut, program
    from weakspot.report import summary, write
    from weakspot.report.format import percent, plural, seconds, shell
    from weakspot.report.rare_figures import size
    from weakspot.report.rare_page import interval

    with run:
        path = write(run)
        code = 3 if run.state.startswith("stopped") else 0
        told = summary(run)
        if as_json:
            print(json.dumps(told | {"report": str(path), "exit_code": code}, indent=2))
            return code
        wide, result = columns(), told["result"]
        print(cut(f"drawn from: {told['text']}", wide))
        if result is not None:
            print(f"rate     {size(result['rate'])} {interval(result['low'], result['high'])}")
            bare = result["independent"]
            print(
                f"bound    at most {size(result['ceiling'])} by independent draws alone "
                f"({bare['failures']:,} of {bare['n']:,} failed)"
            )
            print(f"method   {result['method']}, {plural(result['images'], 'image')}")
            if result["note"]:
                print(cut(f"note     {result['note']}", 2 * wide))
            for answer, share in result["answers"][:3]:
                print(f"said     {cut(answer, 40) or '(nothing)'} {percent(share)}")
            for common in result["common"]:
                numbers = f"{percent(common['failing'])} of failures, {percent(common['usual'])} of all"
                print(f"common   {cut(common['words'], max(wide - len(numbers) - 12, 20))}  {numbers}")
        else:
            print(cut(told["state"], wide))
        errors, spent = told["trials"]["errors"], told["spend"]
        print(
            f"trials   {plural(told['trials']['drawn'], 'image')} · {plural(errors, 'error')} · "
            f"{seconds(float(spent.get('seconds', 0.0)))}"
        )
        print(f"report   {shell([str(path)])}")
        print(f"next     {shell([program(), *_next(run, finished=code == 0)])}")
    return code


def _next(run: Run, *, finished: bool) -> list[str]:
    """The command that takes the reader further; the number of images cannot be raised, other limits can."""
    from weakspot.engine.budget import Budget

    if finished:
        return ["report", str(run.folder), "--open"]
    limits = Budget.parse(run.ledger.fact("budget", run.config.settings["budget"])).limits
    larger = Budget(tuple((kind, limit * (1 if kind == "images" else 2)) for kind, limit in limits))
    return ["resume", str(run.folder), "--budget", str(larger)]
