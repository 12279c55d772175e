"""`weakspot mine images`: pictures that an encoder takes for alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def command(
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
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of the random pairs that fit the rule.")] = 0,
    cache: Annotated[str, typer.Option(metavar="DIR|no", help="Where embeddings are kept.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Find pairs of pictures that an encoder takes for alike although a reference tells them apart."""
    from weakspot.cli.mine_grounded import cache_folder
    from weakspot.cli.progress import Progress
    from weakspot.cli.screen import columns, cut
    from weakspot.report.format import count, plural, shell
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
        document: dict[str, Any] = {"encoder": encoder, "reference": reference, **found.to_json()}
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
    for name, why in found.skipped[:3]:
        typer.echo(cut(f"skipped  {name}: {why}", columns()))
    if sheet is not None and found.pairs:
        typer.echo(f"sheet    {shell([str(sheet)])}")
    return 0
