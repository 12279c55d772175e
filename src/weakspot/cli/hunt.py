"""`weakspot hunt`: bugs of an image classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weakspot.cli.flags import AsJson, BlobsAt, Executor, Out


def command(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="The classifier, e.g. world:classifier (see: weakspot list models)."
        ),
    ],
    label: Annotated[
        str | None, typer.Option("--label", metavar="LABEL", help="The label whose failures are hunted.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            help="Several labels with one budget: all, a list with commas, or a file with one a line.",
        ),
    ] = None,
    target_label: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Count only this wrong answer as a failure.")
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--source", metavar="SOURCE", help="What draws images from words (see: weakspot list sources)."
        ),
    ] = "world:renderer",
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="JUDGE",
            help="What counts as a failure (see: weakspot list judges); by default a missed label.",
        ),
    ] = None,
    verify: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="A classifier or encoder that must see the label before a picture counts; may be repeated.",
        ),
    ] = None,
    captioner: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Says what is in pictures, where the source does not know."),
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Groups failures by what they look like.")
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A language model that rewords captions, e.g. chat:openai/…"),
    ] = None,
    from_images: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Pictures to begin with, such as failures from elsewhere."),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The baseline's words, with {label} and, if wanted, ({parent})."),
    ] = None,
    labels_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Names and parents of labels, as CSV, JSON or text.")
    ] = None,
    sense: Annotated[
        str | None,
        typer.Option(
            "--sense",
            metavar="SENSE",
            help="Which meaning of the label, where WordNet knows several; of several labels crane=5,cat=1.",
        ),
    ] = None,
    sentences: Annotated[
        int, typer.Option(metavar="NUMBER", help="At most so many sentences in a caption.")
    ] = 3,
    edits: Annotated[
        int, typer.Option(metavar="NUMBER", help="Counterfactual edits measured of each finding.")
    ] = 4,
    budget: Annotated[
        str,
        typer.Option(
            metavar="LIMITS",
            help="Any of images, calls, tokens, dollars, seconds; e.g. images=20k,seconds=600.",
        ),
    ] = "images=20000",
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed gives the same findings.")] = 0,
    fdr: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Bound on the expected share of false findings, between 0 and 1."),
    ] = 0.05,
    out: Out = None,
    blobs: BlobsAt = None,
    executor: Executor = "local",
    as_json: AsJson = False,
) -> int:
    """Find captions under which an image classifier fails more often than usual.

    The run can be stopped with Ctrl-C at any time and resumed. Exit codes: 0 done, 1 cannot, 2 misused,
    3 a budget was spent first (the report says what was found until then), 130 interrupted.
    """
    from weakspot.cli.screen import Screen, conclude, interruptible
    from weakspot.studies.hunt.method import hunt
    from weakspot.studies.hunt.parts import which_labels

    if label is None and labels is None:
        misuse = typer.BadParameter.__mro__[1]  # without "invalid value", whichever click typer uses
        raise misuse("Missing option '--label' (or '--labels').", ctx=context)
    several = () if labels is None else which_labels(labels, target)
    if labels_file is None and several and Path(labels or "").is_file():
        labels_file = Path(labels or "")  # it may know their parents too
    hunted = f"{len(several)} labels" if several else repr(label)
    with Screen(f"hunting {target} for {hunted}", budget=budget, seed=seed) as screen, interruptible(screen):
        run = hunt(
            target,
            label=label or "",
            labels=several,
            target_label=target_label,
            source=source,
            judge=judge,
            verify=tuple(verify or ()),
            captioner=captioner,
            encoder=encoder,
            llm=llm,
            from_images=from_images,
            labels_file=labels_file,
            sense=sense,
            prompt=prompt,
            sentences=sentences,
            edits=edits,
            budget=budget,
            seed=seed,
            fdr=fdr,
            out=out,
            blobs=blobs,
            watch=screen,
            executor=executor,
        )
    return conclude(run, as_json=as_json)
