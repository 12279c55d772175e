"""The commands beside `weakspot mine`: an encoder held against pictures, pairs of pictures, pair files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weakspot.cli.flags import AsJson

if TYPE_CHECKING:
    from weakspot.studies.mine.pair_file import PairFile
    from weakspot.studies.mine.result import Grounded, GroundedRow
    from weakspot.text.differences import Difference

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
    """Say in what the texts of each pair differ: one category a pair, with the reason, and the totals.

    Categories: negation, number and quantifier, attribute, spatial relation, role swap, temporal/action
    state, presence, subject, gender, other. No language model is used; docs/mine-categories.md has the rules.
    """
    from weakspot.core import WeakspotError
    from weakspot.report.terminal import cut
    from weakspot.studies.mine.pair_file import read_pair_file
    from weakspot.text.differences import categorise, totals

    names = tuple(name.strip() for name in fields.split(",")) if fields else None
    if names is not None and (len(names) != 2 or not all(names)):
        raise WeakspotError(
            f"--fields takes two names, not {fields!r}", fix="for example --fields caption,foil"
        )
    read = read_pair_file(pairs, fields=names)
    found = [categorise(row.first, row.second) for row in read.rows]
    if as_json:
        typer.echo(json.dumps(_document(read, found), indent=2))
        return 0
    _print_pairs(read, found, show)
    _print_totals(totals(found))
    for line, why in read.broken[:show]:
        typer.echo(cut(f"line {line} was skipped: {why}", 300), err=True)
    if len(read.broken) > show:
        typer.echo(f"{len(read.broken)} lines were skipped in all", err=True)
    return 0


def _document(read: PairFile, found: list[Difference]) -> dict[str, Any]:
    from weakspot.text.differences import totals

    return {
        "n": len(found),
        "fields": list(read.fields),
        "totals": {category.value: count for category, count in totals(found).items()},
        "skipped": [{"line": line, "why": why} for line, why in read.broken],
        "pairs": [
            {
                "line": row.line,
                "first": row.first,
                "second": row.second,
                "category": difference.category.value,
                "reason": difference.reason,
            }
            for row, difference in zip(read.rows, found, strict=True)
        ],
    }


def _print_pairs(read: PairFile, found: list[Difference], show: int) -> None:
    from weakspot.report.terminal import columns, cut

    wide = columns()
    for row, difference in list(zip(read.rows, found, strict=True))[:show]:
        typer.echo(f"{row.line:>6}  {difference.category.value:<21}  {cut(difference.reason, wide - 31)}")
        typer.echo(f"{'':>8}{cut(row.first, wide - 8)}")
        typer.echo(f"{'':>8}{cut(row.second, wide - 8)}")
    if len(found) > show > 0:
        typer.echo(f"{'…':>6}  and {len(found) - show:,} more (--show, or --json for all)")


def _print_totals(counts: Any) -> None:
    from weakspot.report.format import count, percent, plural
    from weakspot.report.terminal import columns

    n = sum(counts.values())
    typer.echo("─" * min(columns(), 60))
    for category, number in sorted(counts.items(), key=lambda item: -item[1]):
        if number:
            typer.echo(f"{category.value:<21}  {count(number):>9}  {percent(number / n):>7}")
    typer.echo(f"{plural(n, 'pair')}")


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
            "--judge", metavar="JUDGE", help="Leaves foils out that do not differ: rules, chat:…, hf:…"
        ),
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="Captions of one change at most.")] = 1000,
    seed: Seed = 0,
    cache: Cache = "",
    show: Annotated[int, typer.Option(min=0, help="Failures shown for each blind spot.")] = 2,
    as_json: AsJson = False,
) -> int:
    """Say what an encoder cannot tell with the picture before it.

    Each caption is changed in one thing. How often is the picture nearer its own caption than the changed
    one? 50 % is blind. docs/mine-grounded.md explains the columns.
    """
    from weakspot.cli.progress import Progress
    from weakspot.core import MODELS, Encoder
    from weakspot.judges.differs.judge import differs
    from weakspot.sources.captioned import read_captioned
    from weakspot.studies.mine import grounded as check
    from weakspot.studies.mine.embeddings import cache_folder
    from weakspot.study.loading import part

    said = read_captioned(images, captions=captions)
    if only is not None:
        said = said.only(_names_in(only))
    judging = differs(judge) if judge else None
    model: Any = part(None, encoder, MODELS, Encoder, wanted="use an encoder with a text and an image tower")
    with Progress(f"grounded check of {encoder} on {images}") as progress:
        found = check.grounded(
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
        document = {"encoder": encoder, "images_of": str(images), **found.plain(), "exit_code": 0}
        typer.echo(json.dumps(document, indent=2))
        return 0
    for line in _lines(found, show=show):
        typer.echo(line)
    return 0


def _names_in(path: Path) -> set[str]:
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


def _lines(found: Grounded, *, show: int) -> list[str]:
    """The result as a person reads it."""
    from weakspot.report.format import count, interval, level, percent, plural
    from weakspot.report.terminal import columns, cut

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
        for miss in row.failures[:show]:
            out += [cut(f"    {miss.caption}", wide), cut(f"    {miss.foil}   ({miss.image})", wide)]
    if found.too_few:
        some = ", ".join(f"{kind.name} ({kind.pairs})" for kind in found.too_few)
        out.append(cut(f"too few  {some}", wide))
    out.append(
        f"{plural(len(blind), 'blind spot')} (below {percent(found.blind)}, not above chance; "
        f"false-discovery rate ≤ {level(found.fdr)}) · {plural(found.images, 'picture')} · "
        f"{plural(found.captions, 'caption')}"
    )
    if found.skipped:
        first = found.skipped[0]
        out.append(cut(f"{plural(len(found.skipped), 'picture')} left out; {first.file}: {first.why}", wide))
    return out


def _row(row: GroundedRow, name: int) -> str:
    from weakspot.report.format import count, interval, percent

    rate = f"{percent(row.rate):>6} {interval(row.low, row.high):>13}"
    note = "" if row.low > 0.6 else row.sight.value
    left = f"{row.name:<{name}}  {count(row.pairs):>6}  {rate:>20}"
    return f"{left}  {percent(row.elsewhere):>9}  {row.cosine:>6.2f}  {note}".rstrip()


def images(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="The encoder under test.")],
    reference: Annotated[str, typer.Option(metavar="ENCODER", help="Another one; may be for pictures only.")],
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
    """Find pairs of pictures that an encoder takes for alike although a reference tells them apart."""
    from weakspot.cli.progress import Progress
    from weakspot.report.format import count, plural, shell
    from weakspot.report.terminal import columns, cut
    from weakspot.studies.mine.embeddings import cache_folder
    from weakspot.studies.mine.images import contact_sheet, image_encoder, mine_images
    from weakspot.studies.mine.pair_rule import Rule

    tested, other = image_encoder(encoder), image_encoder(reference)
    with Progress(f"pictures that {encoder} takes for alike and {reference} tells apart") as progress:
        found = mine_images(
            tested,
            reference=other,
            images=images,
            pairs=pairs,
            rule=None if above is None else Rule(above=above, gap=gap),
            seed=seed,
            cache=cache_folder(cache),
            progress=progress,
        )
    if sheet is not None and found.pairs:
        contact_sheet(found.pairs, images, sheet)
    if as_json:
        document: dict[str, Any] = {"encoder": encoder, "reference": reference, **found.plain()}
        document |= {"sheet": str(sheet) if sheet is not None and found.pairs else None, "exit_code": 0}
        typer.echo(json.dumps(document, indent=2))
        return 0
    typer.echo(f"{'':>4}  {'encoder':>7}  {'reference':>9}")
    for i, pair in enumerate(found.pairs, 1):
        names = cut(f"{pair.first}   {pair.second}", columns() - 26)
        typer.echo(f"{i:>4}  {pair.tested:>7.2f}  {pair.reference:>9.2f}  {names}")
    rule = found.rule
    apart = f"less than {rule.below:.2f}" if rule.below is not None else f"at least {rule.gap or 0:.2f} less"
    typer.echo(
        f"{plural(len(found.pairs), 'pair')} of {plural(found.images, 'picture')}: more alike than "
        f"{rule.above:.2f} to the encoder, {apart} to the reference; "
        f"{count(found.candidates)}{'' if found.complete else ' or more'} candidates"
    )
    for file in found.skipped[:3]:
        typer.echo(cut(f"skipped  {file.file}: {file.why}", columns()))
    if sheet is not None and found.pairs:
        typer.echo(f"sheet    {shell([str(sheet)])}")
    return 0
