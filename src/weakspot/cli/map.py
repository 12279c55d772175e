"""`weakspot map`: the failure landscape of a model over a space of concepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weakspot.cli.flags import AsJson, BlobsAt, Executor, Out

if TYPE_CHECKING:
    from weakspot.store import Run


def command(
    target: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="The model, e.g. world:classifier (see: weakspot list models)."),
    ],
    images: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="Labelled pictures: a folder (of folders by label, or with labels.jsonl), .npz, world:2000.",
        ),
    ] = "",
    space: Annotated[
        str,
        typer.Option(
            "--space",
            metavar="SPACE",
            help="image-125, image-5^k, image:rotate,fog,…, world, text-16, prompt-27, or a YAML file.",
        ),
    ] = "image-125",
    task: Annotated[
        str,
        typer.Option(
            "--task", metavar="TASK", help="image, text or generator; by default what the space is of."
        ),
    ] = "",
    documents: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="Texts with summaries: .jsonl, or a folder; by default twenty that come with weakspot.",
        ),
    ] = "",
    search: Annotated[
        str,
        typer.Option(
            "--search",
            metavar="SEARCH",
            help="auto, thompson, ucb, gp, tpe, dqn, ppo, dqn-micro, ppo-micro, random, exhaustive.",
        ),
    ] = "auto",
    judge: Annotated[
        str,
        typer.Option(
            "--judge", metavar="JUDGE", help="What a failure is, e.g. discrepancy?measure=doubt&epsilon=0.9."
        ),
    ] = "discrepancy",
    above: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            help="Cells that fail at least so often are modes; by default what is far above the rest.",
        ),
    ] = None,
    labels_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Names of labels by WordNet id, for folders called by ids."),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="LIMITS", help="images (queries), and if wanted seconds, dollars; e.g. images=10k."
        ),
    ] = "images=10000",
    fdr: Annotated[float, typer.Option(metavar="SHARE", help="Bound on the share of false findings.")] = 0.05,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed gives the same result.")] = 0,
    out: Out = None,
    blobs: BlobsAt = None,
    executor: Executor = "local",
    as_json: AsJson = False,
) -> int:
    """Map where a model fails: which concepts, how much of them, together with which others.

    Pictures are changed as the cells of a concept space say (rotated 10°, darkened 30 %), a search finds the
    cells that fail, every cell gets a rate with an interval, and failing regions are said in words and
    confirmed on pictures that the search never saw. A quarter of the pictures each is kept untouched for
    repair and for its verification. The run can be stopped with Ctrl-C and resumed. Exit codes: 0 done, 1
    cannot, 2 misused, 3 a limit was reached first, 130 interrupted.
    """
    from weakspot.cli.map_screen import MapScreen
    from weakspot.cli.screen import interruptible
    from weakspot.studies.map.method import map as map_landscape
    from weakspot.studies.map.tasks import inputs_for, space_for

    space = space_for(task, space)
    images = inputs_for(space, images=images, documents=documents)
    with (
        MapScreen(f"mapping {target} over {space}", budget=budget, seed=seed) as screen,
        interruptible(screen),
    ):
        run = map_landscape(
            target,
            images=images,
            space=space,
            search=search,
            judge=judge,
            above=above,
            labels_file=labels_file,
            budget=budget,
            fdr=fdr,
            seed=seed,
            out=out,
            blobs=blobs,
            watch=screen,
            executor=executor,
        )
    return conclude(run, as_json=as_json)


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when a limit ended the run)."""
    from weakspot.cli.screen import columns, cut, program
    from weakspot.core import Rate
    from weakspot.report.format import interval, percent, plural, rate, seconds, shell
    from weakspot.report.map_tables import believed, missed
    from weakspot.store import unjudged
    from weakspot.study.reports import summary, write

    with run:
        path = write(run)
        code = 3 if run.state.startswith("stopped") else 0
        told = summary(run)
        if as_json:
            print(json.dumps(told | {"report": str(path), "exit_code": code}, indent=2))
            return code
        wide, result = columns(), told["result"]
        print(cut(told["conclusion"], 3 * wide))
        if result is not None:
            for number, mode in enumerate(result["modes"], start=1):
                ends = f"{believed(mode)} in the worst cell"
                print(f"mode {number:<2}  {cut(mode['words'], max(wide - len(ends) - 12, 20))}  {ends}")
            for finding in run.findings:
                mark = "●" if finding.confirmed else "·"
                print(f"{mark} {cut(finding.phrase, max(wide - 40, 20))}  {rate(finding.rate)}")
            print(f"known    {percent(result['coverage']['known'])} of the cells to ± 5 points; "
                  f"chance of something clearly worse: {missed(result)}")  # fmt: skip
            if compared := result["compared"]:
                arms = {who: rate(Rate(**one)) for who, one in compared["rates"].items()}
                print(
                    f"agent    {compared['agent']} failures per query {arms['trained']}, "
                    f"untrained {arms['untrained']}, random {arms['random']}"
                    + ("" if compared["won"] else " (no win beyond chance)")
                )
            for row in (told.get("bias") or {"rows": []})["rows"][:1]:
                print(
                    f"bias     {percent(row['apart'])} {interval(row['low'], row['high'])} from the wanted "
                    f"shares, over {plural(row['n'], 'picture')}"
                )
            if result["note"]:
                print(f"note     {cut(result['note'], 3 * wide)}")
        else:
            print(cut(told["state"], wide))
        if causes := unjudged(run):
            none = plural(sum(c.times for c in causes), "query").replace("querys", "queries")
            print(f"verdict  {cut(f'none for {none}, most often: {causes[0]}', 2 * wide)}")
        errors, spent = told["trials"]["errors"], told["spend"]
        print(
            f"trials   {plural(told['trials']['drawn'], 'query').replace('querys', 'queries')} · "
            f"{plural(errors, 'error')} · {seconds(float(spent.get('seconds', 0.0)))}"
        )
        print(f"report   {shell([str(path)])}")
        print(f"next     {shell([program(), *_next(run, finished=code == 0)])}")
    return code


def _next(run: Run, *, finished: bool) -> list[str]:
    """The command that takes the reader further; the number of images cannot be raised, other limits can."""
    from weakspot.engine.budget import Budget

    result = run.ledger.fact("map")
    if finished and result and result["modes"]:
        return ["prefer", str(run.folder), "--modes", "1"]
    if finished:
        return ["report", str(run.folder), "--open"]
    limits = Budget.parse(run.ledger.fact("budget", run.config.settings["budget"])).limits
    larger = Budget(tuple((kind, limit * (1 if kind == "images" else 2)) for kind, limit in limits))
    return ["resume", str(run.folder), "--budget", str(larger)]
