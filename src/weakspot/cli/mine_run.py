"""`weakspot mine ENCODER`: the systematic failures of an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weakspot.cli.flags import AsJson, Out


def command(
    encoder: Annotated[
        str,
        typer.Argument(
            metavar="ENCODER", help="The encoder under test, e.g. world:encoder (see: weakspot list models)."
        ),
    ],
    reference: Annotated[
        str,
        typer.Option(metavar="ENCODER", help="Another encoder, which tells apart what the first should."),
    ],
    corpus: Annotated[
        str,
        typer.Option(
            metavar="TEXTS",
            help="A file (one text a line), coco:FILE, snli:DIR, npz:FILE, world, datasets:NAME.",
        ),
    ],
    pairs: Annotated[
        int, typer.Option(metavar="NUMBER", help="Pairs of the corpus in the mined list.")
    ] = 150,
    steer: Annotated[
        str, typer.Option(metavar="TOPIC", help='What failures should matter for, e.g. "self-driving cars".')
    ] = "",
    llm: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A language model that names failures and writes pairs: chat:…"),
    ] = None,
    validity: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            help="Says whether two texts differ: rules, world, hf:NLI-MODEL, chat:MODEL, python:…, or none.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="COSINE", help="Alike is above this (published: 0.9); calibrated by default."),
    ] = None,
    gap: Annotated[
        float,
        typer.Option(
            metavar="COSINE", help="With --threshold: the reference must be lower by more than this."
        ),
    ] = 0.2,
    calibrate: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Share of random pairs that are less alike than a mined one; 0.9999."
        ),
    ] = None,
    texts: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Read so many different texts of the corpus.")
    ] = None,
    noise: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Phrases whose texts are left out, in place of the built-in list."),
    ] = None,
    passes: Annotated[
        int, typer.Option(metavar="NUMBER", help="How often the language model reads the pairs.")
    ] = 3,
    written: Annotated[
        int, typer.Option(metavar="NUMBER", help="New pairs it is asked for, per failure and stage.")
    ] = 41,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Captioned images: is each nearer its caption than an edited one?"
        ),
    ] = None,
    downstream: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="A text-to-image source that draws both texts of failing pairs."),
    ] = None,
    matcher: Annotated[
        str | None,
        typer.Option(metavar="ENCODER", help="Says which text a drawn picture shows (with --downstream)."),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="LIMITS", help="Any of pairs, tokens, dollars, seconds; e.g. pairs=20k,seconds=600."
        ),
    ] = "pairs=20000",
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed gives the same findings.")] = 0,
    fdr: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Bound on the expected share of false findings, between 0 and 1."),
    ] = 0.05,
    out: Out = None,
    as_json: AsJson = False,
) -> int:
    """Find what an encoder of texts does not tell apart.

    Pairs of captions that it takes for alike and the reference tells apart are mined from a corpus and put
    into categories. New pairs of every category are then measured against captions with any word replaced,
    and confirmed on fresh ones. A language model is not needed. The run can be stopped with Ctrl-C and
    resumed. Exit codes: 0 done, 1 cannot, 2 misused, 3 a limit was reached first, 130 interrupted.
    """
    from weakspot.cli.mine_result import conclude
    from weakspot.cli.mine_screen import MineScreen
    from weakspot.cli.screen import interruptible
    from weakspot.studies.mine.method import mine
    from weakspot.studies.mine.parts import in_calls

    title = f"mining {encoder} against {reference} in {corpus}"
    with MineScreen(title, budget=in_calls(budget), seed=seed) as screen, interruptible(screen):
        run = mine(
            encoder,
            reference=reference,
            corpus=corpus,
            pairs=pairs,
            texts=texts,
            noise=noise,
            threshold=threshold,
            gap=gap,
            calibrate=calibrate,
            validity=validity,
            steer=steer,
            llm=llm,
            passes=passes,
            written=written,
            images=images,
            downstream=downstream,
            matcher=matcher,
            budget=budget,
            seed=seed,
            fdr=fdr,
            out=out,
            watch=screen,
        )
    return conclude(run, as_json=as_json)
