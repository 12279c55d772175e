"""`weakspot init`: a study as a YAML file, with every option, its default and what it is for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

import typer


def command(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="hunt, mine, map, ask or rare.")],
) -> int:
    """Print a study as YAML: every option with its default and what it is for.

    As printed it runs on the embedded world, with nothing to download: weakspot init hunt > study.yaml, then
    weakspot validate study.yaml, then weakspot run study.yaml.
    """
    from weakspot.cli.study_options import STUDIES
    from weakspot.core import WeakspotError, nearest

    if study not in STUDIES:
        raise WeakspotError(
            f"no study is called {study[:60]!r}",
            fix=nearest(study, STUDIES) or f"choose from: {', '.join(STUDIES)}",
        )
    for line in template(study):
        typer.echo(line)
    return 0


def template(study: str) -> Iterator[str]:
    """The lines of the file."""
    from weakspot.cli.environment import PREFIX
    from weakspot.cli.study_options import STUDIES, about, options_of

    yield from _comment(f"weakspot {study}: {about(study)}")
    yield from _comment(
        "Check it: weakspot validate FILE. Run it: weakspot run FILE. What is null is not given; what is left"
        f" out has its default, or the value of its variable: {PREFIX}_{study.upper()}_ and its flag."
    )
    yield f"study: {study}"
    for option in options_of(study).values():
        told = option.help if option.help.endswith(".") else f"{option.help}."
        lists = " A list." if option.many else ""
        needed = " Needed." if option.required else ""
        yield ""
        yield from _comment(f"{told}{lists}{needed}")
        yield f"{option.name}: {_value(STUDIES[study].get(option.name, option.default))}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, 98, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )


def _value(value: Any) -> str:
    """A value as YAML on one line."""
    import yaml

    text: str = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()
