"""`weakspot init`: a study as a YAML file, with every option, its default and what it is for."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer


def command(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="hunt, mine, map, ask, rare or repair.")],
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Also write a JSON Schema, and name it in the YAML: editors then complete and check it.",
        ),
    ] = None,
) -> int:
    """Print a study as YAML: every option with its default and what it is for.

    As printed it runs on the embedded world, with nothing to download: weakspot init hunt > study.yaml, then
    weakspot validate study.yaml, then weakspot run study.yaml.
    """
    from weakspot.study.files import schema_of
    from weakspot.study.study import find_study

    chosen = find_study(study)
    if schema is not None:
        schema.write_text(json.dumps(schema_of(chosen), indent=2) + "\n", "utf-8")
        typer.echo(f"# yaml-language-server: $schema={schema}")
    for line in template(study):
        typer.echo(line)
    return 0


def template(name: str) -> Iterator[str]:
    """The lines of the file."""
    from weakspot.cli.environment import PREFIX
    from weakspot.study.options import fields_of
    from weakspot.study.study import find_study

    study = find_study(name)
    yield from _comment(f"weakspot {name}: {study.about}")
    yield from _comment(
        "Check it: weakspot validate FILE. Run it: weakspot run FILE. What is null is not given; what is left"
        f" out has its default, or the value of its variable: {PREFIX}_{name.upper()}_ and its flag."
    )
    yield f"study: {name}"
    for field in fields_of(study):
        explained = field.option.help if field.option.help.endswith(".") else f"{field.option.help}."
        lists = " A list." if field.many else ""
        needed = " Needed." if field.required else ""
        yield ""
        yield from _comment(f"{explained}{lists}{needed}")
        yield f"{field.name}: {_value(study.example.get(field.name, field.default))}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, 98, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )


def _value(value: Any) -> str:
    """A value as YAML on one line."""
    import yaml

    plain = list(value) or None if isinstance(value, tuple) else value
    text: str = yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()
