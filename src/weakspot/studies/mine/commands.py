"""The commands beside `weakspot mine`: pair files, an encoder held against pictures, pairs of pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weakspot.core import WeakspotError
from weakspot.report.format import (
    Progress,
    columns,
    count,
    cut,
    folded,
    grid,
    interval,
    level,
    percent,
    plural,
    shell,
    wrapped,
)

if TYPE_CHECKING:
    from weakspot.studies.mine.images import ImagePairs
    from weakspot.studies.mine.pair_file import PairFile
    from weakspot.studies.mine.result import Grounded
    from weakspot.text.differences import Difference

AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON; progress goes to stderr.")]
Seed = Annotated[int, typer.Option(metavar="NUMBER", help="The same seed gives the same choices.")]
Cache = Annotated[str, typer.Option(metavar="DIR|no", help="Where embeddings are kept.")]


def categorise(
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", help="A .jsonl file, or .csv with a header.")],
    fields: Annotated[
        str, typer.Option(help="The two fields with the texts, e.g. caption,foil; usual names are found.")
    ] = "",
    show: Annotated[int, typer.Option(min=0, help="How many pairs to print.")] = 20,
    as_json: AsJson = False,
) -> int:
    """Say how the two texts of each pair differ: one category per pair, with the reason, and the totals.

    Categories: negation, number and quantifier, attribute, spatial relation, role swap, temporal/action
    state, presence, subject, gender, other. No language model is used; docs/mine-categories.md has the rules.
    """
    from weakspot.studies.mine.pair_file import read_pair_file
    from weakspot.text import differences

    names = tuple(name.strip() for name in fields.split(",")) if fields else None
    if names is not None and (len(names) != 2 or not all(names)):
        raise WeakspotError(
            f"--fields takes two names, not {fields!r}", fix="for example --fields caption,foil"
        )
    read = read_pair_file(pairs, fields=names)
    found = [differences.categorise(row.first, row.second) for row in read.rows]
    totals = {category.value: number for category, number in differences.totals(found).items()}
    if as_json:
        rows = [
            row._asdict() | {"category": one.category.value, "reason": one.reason}
            for row, one in zip(read.rows, found, strict=True)
        ]
        skipped = [one._asdict() for one in read.broken]
        head = {"n": len(found), "fields": list(read.fields), "totals": totals}
        return _printed(head | {"skipped": skipped, "pairs": rows})
    for line in _categorised(read, found, totals, show, columns()):
        typer.echo(line)
    for number, why in read.broken[:show]:
        typer.echo(cut(f"line {number} was skipped: {why}", 300), err=True)
    if len(read.broken) > show:
        typer.echo(f"{len(read.broken)} lines were skipped in all", err=True)
    return 0


def _categorised(
    read: PairFile, found: list[Difference], totals: Mapping[str, int], show: int, wide: int
) -> Iterator[str]:
    for row, one in list(zip(read.rows, found, strict=True))[:show]:
        yield from wrapped(f"{row.line:>6}  {one.category.value:<21}", one.reason, wide, room=31)
        for text in (row.first, row.second):
            yield from wrapped("", text, wide, room=8)
    if len(found) > show > 0:
        yield f"{'…':>6}  and {len(found) - show:,} more (--show, or --json for all)"
    yield "─" * min(wide, 60)
    for category, number in sorted(totals.items(), key=lambda item: -item[1]):
        if number:
            yield f"{category:<21}  {count(number):>9}  {percent(number / len(found)):>7}"
    yield plural(len(found), "pair")


def _printed(document: Mapping[str, Any]) -> int:
    typer.echo(json.dumps(document, indent=2))
    return 0


def grounded(
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
            "--judge", metavar="JUDGE", help="Leaves out foils that do not differ: rules, chat:…, hf:…"
        ),
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="The most captions to use for one change.")] = 1000,
    seed: Seed = 0,
    cache: Cache = "",
    show: Annotated[int, typer.Option(min=0, help="Failures shown for each blind spot.")] = 2,
    as_json: AsJson = False,
) -> int:
    """Find what an encoder cannot tell apart even if it sees the picture.

    Each caption is changed in one thing. How often is the picture nearer its own caption than the changed
    one? 50 % is blind. docs/mine-grounded.md explains the columns.
    """
    from weakspot.core import MODELS, Encoder
    from weakspot.judges.differs.judge import differs
    from weakspot.sources.captioned import read_captioned
    from weakspot.studies.mine import grounded as check
    from weakspot.studies.mine.embeddings import cache_folder
    from weakspot.study.loading import part

    said = read_captioned(images, captions=captions)
    if only is not None:
        said = said.only(_names_in(only))
    model: Any = part(None, encoder, MODELS, Encoder, wanted="use an encoder with a text and an image tower")
    with Progress(f"grounded check of {encoder} on {images}") as progress:
        found = check.grounded(
            model,
            said,
            categories=category or None,
            seed=seed,
            limit=limit,
            judge=differs(judge) if judge else None,
            cache=cache_folder(cache),
            progress=progress,
        )
    if as_json:
        return _printed({"encoder": encoder, "images_of": str(images), **found.plain(), "exit_code": 0})
    for line in _held(found, show, columns()):
        typer.echo(line)
    return 0


def _names_in(path: Path) -> set[str]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WeakspotError(f"{path} cannot be read: {error}", fix="name one picture a line") from error
    names = {line.strip() for line in text.splitlines() if line.strip()}
    if not names:
        raise WeakspotError(f"{path} names no picture", fix="name one picture a line")
    return names


def _held(found: Grounded, show: int, wide: int) -> Iterator[str]:
    easy = found.control
    head = ("change", "pairs", "own caption nearer", "elsewhere", "cosine", "")
    rows = [
        (
            row.name,
            count(row.pairs),
            f"{percent(row.rate)} {interval(row.low, row.high)}",
            percent(row.elsewhere),
            f"{row.cosine:.2f}",
            "" if row.low > found.blind else row.sight.value,
        )
        for row in found.rows
    ]
    yield from grid(head, rows, wide)
    yield "─" * min(wide, 60)
    ends = f"{percent(easy.rate)} {interval(easy.low, easy.high)} of {count(easy.n)}"
    yield from wrapped("control", f"against another picture's caption: {ends}", wide)
    blind = [row for row in found.rows if row.sight.value == "blind"]
    for row in blind if show else ():
        yield from folded(f"{row.name}: the picture is nearer the second text", wide)
        for miss in row.failures[:show]:
            yield from wrapped("", miss.caption, wide, room=4)
            yield from wrapped("", f"{miss.foil}   ({miss.image})", wide, room=4)
    if found.too_few:
        some = ", ".join(f"{kind.name} ({kind.pairs})" for kind in found.too_few)
        yield from wrapped("too few", some, wide)
    yield from folded(
        f"{plural(len(blind), 'blind spot')} (below {percent(found.blind)}, not above chance; "
        f"false-discovery rate ≤ {level(found.fdr)}) · {plural(found.images, 'picture')} · "
        f"{plural(found.captions, 'caption')}",
        wide,
    )
    if found.skipped:
        first = found.skipped[0]
        left_out = plural(len(found.skipped), "picture")
        yield from folded(f"{left_out} left out; {first.file}: {first.why}", wide)


def images(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="The encoder under test.")],
    reference: Annotated[
        str, typer.Option(metavar="ENCODER", help="A second encoder; it may be for pictures only.")
    ],
    images: Annotated[Path, typer.Option(metavar="DIR", help="A folder of pictures.")],
    pairs: Annotated[int, typer.Option(min=1, help="Pairs in the list.")] = 50,
    above: Annotated[
        float | None, typer.Option(help="Least similarity to the encoder; by default fitted to it.")
    ] = None,
    gap: Annotated[float, typer.Option(help="With --above: least difference to the reference's.")] = 0.2,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Write the pairs as one picture.")
    ] = None,
    seed: Seed = 0,
    cache: Cache = "",
    as_json: AsJson = False,
) -> int:
    """Find pairs of pictures that an encoder confuses although a reference tells them apart."""
    from weakspot.studies.mine.embeddings import cache_folder
    from weakspot.studies.mine.images import contact_sheet, image_encoder, mine_images
    from weakspot.studies.mine.pair_rule import PairRule

    tested, other = image_encoder(encoder), image_encoder(reference)
    with Progress(f"pictures that {encoder} confuses and {reference} tells apart") as progress:
        found = mine_images(
            tested,
            reference=other,
            images=images,
            pairs=pairs,
            rule=None if above is None else PairRule(above=above, gap=gap),
            seed=seed,
            cache=cache_folder(cache),
            progress=progress,
        )
    drawn = sheet if found.pairs else None
    if drawn is not None:
        contact_sheet(found.pairs, images, drawn)
    if as_json:
        head = {"encoder": encoder, "reference": reference, **found.plain()}
        return _printed(head | {"sheet": None if drawn is None else str(drawn), "exit_code": 0})
    for line in _listed(found, columns()):
        typer.echo(line)
    if drawn is not None:
        typer.echo(f"sheet    {shell([str(drawn)])}")
    return 0


def _listed(found: ImagePairs, wide: int) -> Iterator[str]:
    rows = [
        (str(i), pair.first, pair.second, f"{pair.tested:.2f}", f"{pair.reference:.2f}")
        for i, pair in enumerate(found.pairs, 1)
    ]
    yield from grid(("", "", "", "encoder", "reference"), rows, wide, texts=(1, 2), lead=3)
    rule = found.rule
    apart = f"less than {rule.below:.2f}" if rule.below is not None else f"at least {rule.gap or 0:.2f} less"
    yield from folded(
        f"{plural(len(found.pairs), 'pair')} of {plural(found.images, 'picture')}: more alike than "
        f"{rule.above:.2f} to the encoder, {apart} to the reference; "
        f"{count(found.candidates)}{'' if found.complete else ' or more'} candidates",
        wide,
    )
    for file in found.skipped[:3]:
        yield from wrapped("skipped", f"{file.file}: {file.why}", wide)
