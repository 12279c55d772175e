"""`weakspot mine grounded`: captions and their foils, held against the pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from weakspot.studies.mine.grounded import Grounded, GroundedRow


def command(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="With a text and an image tower.")],
    images: Annotated[Path, typer.Option(metavar="DIR", help="Pictures, with captions.jsonl beside them.")],
    captions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file of captions, if it is elsewhere.")
    ] = None,
    only: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use only the pictures named here, one a line.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A category or a change; may be repeated.")
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            "--judge", metavar="JUDGE", help="Leaves foils out that do not differ: rules, chat:…, hf:…"
        ),
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="Captions of one change at most.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of the choice among foils.")] = 0,
    cache: Annotated[str, typer.Option(metavar="DIR|no", help="Where embeddings are kept.")] = "",
    show: Annotated[int, typer.Option(min=0, help="Failures shown for each blind spot.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Say what an encoder cannot tell with the picture before it.

    Each caption is changed in one thing. How often is the picture nearer its own caption than the changed
    one? 50 % is blind. docs/mine-grounded.md explains the columns.
    """
    from weakspot.cli.progress import Progress
    from weakspot.core import MODELS, Encoder
    from weakspot.judges.differs.judge import differs
    from weakspot.sources.captioned import read_captioned
    from weakspot.studies.mine.grounded import grounded
    from weakspot.study.loading import part

    said = read_captioned(images, captions=captions)
    if only is not None:
        said = said.only(names_in(only))
    judging = differs(judge) if judge else None
    model: Any = part(None, encoder, MODELS, Encoder, wanted="use an encoder with a text and an image tower")
    with Progress(f"grounded check of {encoder} on {images}") as progress:
        found = grounded(
            model,
            said,
            categories=category or None,
            seed=seed,
            limit=limit,
            judge=judging,
            cache=cache_folder(cache),
            progress=progress,
        )
    if as_json:
        document = {"encoder": encoder, "images_of": str(images), **found.to_json(), "exit_code": 0}
        typer.echo(json.dumps(document, indent=2))
        return 0
    for line in lines(found, show=show):
        typer.echo(line)
    return 0


def cache_folder(option: str) -> Path | None:
    """The folder of a --cache option; None for "no"."""
    from weakspot.studies.mine.embeddings import default_cache

    return None if option == "no" else Path(option) if option else default_cache()


def names_in(path: Path) -> set[str]:
    """The lines of a file of names."""
    from weakspot.core import WeakspotError

    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WeakspotError(f"{path} cannot be read: {error}", fix="name one picture a line") from error
    names = {line.strip() for line in text.splitlines() if line.strip()}
    if not names:
        raise WeakspotError(f"{path} names no picture", fix="name one picture a line")
    return names


def lines(found: Grounded, *, show: int) -> list[str]:
    """The result as a person reads it."""
    from weakspot.cli.screen import columns, cut
    from weakspot.report.format import count, interval, level, percent, plural

    wide, easy = columns(), found.control
    name = max((len(row.name) for row in found.rows), default=6)
    out = [
        f"{'change':<{name}}  {'pairs':>6}  {'own caption nearer':>20}  {'elsewhere':>9}  {'cosine':>6}",
        *(_row(row, name) for row in found.rows),
        "─" * min(wide, name + 60),
        f"control  against another picture's caption: {percent(easy.rate)} "
        f"{interval(easy.low, easy.high)} of {count(easy.n)}",
    ]
    blind = [row for row in found.rows if row.sight.value == "blind"]
    for row in blind if show else ():
        out.append(f"{row.name}: the picture is nearer the second text")
        for case in row.failures[:show]:
            out += [cut(f"    {case.caption}", wide), cut(f"    {case.foil}   ({case.image})", wide)]
    if found.too_few:
        some = ", ".join(f"{what} ({n})" for what, n in found.too_few)
        out.append(cut(f"too few  {some}", wide))
    out.append(
        f"{plural(len(blind), 'blind spot')} (below {percent(found.blind)}, not above chance; "
        f"false-discovery rate ≤ {level(found.fdr)}) · {plural(found.images, 'picture')} · "
        f"{plural(found.captions, 'caption')}"
    )
    if found.skipped:
        out.append(
            cut(f"{plural(len(found.skipped), 'picture')} left out; {': '.join(found.skipped[0])}", wide)
        )
    return out


def _row(row: GroundedRow, name: int) -> str:
    from weakspot.report.format import count, interval, percent

    rate = f"{percent(row.rate):>6} {interval(row.low, row.high):>13}"
    note = "" if row.low > 0.6 else row.sight.value
    left = f"{row.name:<{name}}  {count(row.pairs):>6}  {rate:>20}"
    return f"{left}  {percent(row.elsewhere):>9}  {row.cosine:>6.2f}  {note}".rstrip()
