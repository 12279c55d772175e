"""What is here: what can be named, what is installed and whether the loop works, and whether a model does."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Iterator
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from weakspot.cli.flags import argument, flag, option, show
from weakspot.core import WeakspotError
from weakspot.report.format import columns, folded, wrapped

if TYPE_CHECKING:
    from weakspot.after.model_check import ModelCheck

#: What can be listed: the registries of `weakspot.core`.
What = StrEnum("What", ["MODELS", "SOURCES", "JUDGES", "CORPORA", "PICTURES", "DIFFERS", "TABLES"])
CORE: Final = (
    "numpy", "scipy", "scikit-learn", "pillow", "pydantic", "pyyaml", "typer", "rich", "jinja2",
    "onnxruntime",
)  # fmt: skip
EXTRAS: Final = {
    "torch": ("torch", "safetensors", "gymnasium", "stable-baselines3"),
    "hf": ("transformers", "diffusers", "peft", "accelerate", "sentence-transformers", "datasets"),
    "vision": ("timm", "open_clip_torch"),
    "chat": ("inspect-ai", "openai", "anthropic", "google-genai"),
    "data": ("pyarrow",),
    "web": ("starlette", "uvicorn"),
    "scale": ("ray",),
}
KEYS: Final = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "HF_TOKEN")


def doctor(
    model: str | None = argument("[MODEL]", "Load this model, and check and measure it.", default=None),
    images: str | None = option(
        None, "FOLDER", "Pictures with known labels, to check that the labels are in the right order."
    ),
    as_json: bool = flag("--json", "Print as JSON."),
) -> int:
    """Show what is installed, and test the whole loop for a few seconds; or load one model and check it.

    A model is checked against the contract of its port: answers in order, probabilities, rows of length 1,
    pictures that follow from their seed. Its speed and memory are measured. Exit code 1: something is wrong.
    """
    if model is not None:
        from weakspot import cli
        from weakspot.after.model_check import check_model

        found = check_model(model, images=images)
        code = show(found.to_json(), _checked(found, columns()), as_json=as_json, code=0 if found.ok else 1)
        if cli.debugging and found.trace and not as_json:
            typer.echo(found.trace, err=True)
        return code
    if images is not None:
        raise WeakspotError("pictures are for checking a model", fix="weakspot doctor MODEL --images FOLDER")
    facts: dict[str, Any] = {
        "weakspot": version("weakspot"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "core": {name: _version(name) for name in CORE},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
        "keys": {name: bool(os.environ.get(name)) for name in KEYS},  # never the keys themselves
        "self_test": _self_test(),
    }
    return show(
        facts, _installed(facts, columns()), as_json=as_json, code=0 if facts["self_test"]["ok"] else 1
    )


def _installed(facts: dict[str, Any], wide: int) -> Iterator[str]:
    yield from folded(f"weakspot {facts['weakspot']} · Python {facts['python']} · {facts['system']}", wide)
    yield from _packed("core", [f"{k} {v or 'MISSING'}" for k, v in facts["core"].items()], wide)
    for extra, packages in facts["extras"].items():
        missing = [name for name, found in packages.items() if not found]
        state = f"pip install 'weakspot[{extra}]' (no {', '.join(missing)})" if missing else "ready"
        yield from wrapped(f"extra    {extra}", state, wide, room=17)
    yield from _packed(
        "keys", [f"{k} {'set' if there else 'not set'}" for k, there in facts["keys"].items()], wide
    )
    test = facts["self_test"]
    yield from wrapped("test", f"{'ok' if test['ok'] else 'FAILED'}: {test['about']}", wide)


def _packed(about: str, facts: list[str], wide: int) -> Iterator[str]:
    """Facts joined by dots, in lines of at most `wide` columns; no fact is broken."""
    line = f"{about:<8} {facts[0]}"
    for fact in facts[1:]:
        if len(line) + len(fact) + 3 > wide:
            yield line
            line = f"{'':<8} {fact}"
        else:
            line += f" · {fact}"
    yield line


def _checked(found: ModelCheck, wide: int) -> Iterator[str]:
    """What a model is, whether it keeps its promises, how fast it is."""

    def line(name: str, text: str) -> Iterator[str]:
        return wrapped(name, "".join(c if c.isprintable() else " " for c in text)[:500], wide)

    yield from line("model", found.about or found.name)
    yield from line("is", ", ".join(found.ports) or "nothing that is known")
    memory = "" if found.memory is None else f" · {found.memory / 1e6:,.0f} MB of memory"
    gpu = "" if found.gpu is None else f" · {found.gpu / 1e6:,.0f} MB on the GPU"
    yield f"loaded   in {found.seconds:.1f} s{memory}{gpu}"
    for what in found.checked:
        yield from line("holds", what)
    if found.speed is not None:
        pace, items = found.speed
        yield f"speed    {pace:,.0f} {items}/s" if pace >= 10 else f"speed    {pace:.2g} {items}/s"
    for note in found.notes:
        yield from line("note", note)
    for what, fix in found.faults:
        yield from line("WRONG", what)
        yield from line("", fix)
    yield "ok" if found.ok else "not ok"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _self_test() -> dict[str, Any]:
    """A small hunt, from drawing to the ledger."""
    from weakspot import hunt

    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = hunt("world:classifier", label="fly", budget="images=512", out=Path(folder) / "run")
            images = run.ledger.spend()["images"]
            run.close()
    except Exception as error:  # whatever is wrong with the machine is what the doctor is there to say
        return {"ok": False, "about": f"{type(error).__name__}: {error}", "images_per_second": None}
    pace = images / (time.monotonic() - began)
    return {"ok": True, "about": f"drew, asked and recorded {pace:,.0f} images/s", "images_per_second": pace}


def list_(
    what: What = argument(None, "What to list."),
    as_json: bool = flag("--json", "Print as JSON."),
) -> int:
    """List the names of models, sources, judges and inputs, plugins included."""
    from weakspot.core import registry

    rows = [
        {
            "name": e.name,
            "example": e.example or e.name,
            "about": e.about,
            "extra": e.extra,
            "origin": e.origin,
        }
        for e in getattr(registry, what.name)
    ]
    return show(rows, _named(rows, columns()), as_json=as_json)


def _named(rows: list[dict[str, str]], wide: int) -> Iterator[str]:
    abouts = [r["about"] + (f" (needs weakspot[{r['extra']}])" if r["extra"] else "") for r in rows]
    room = max(len(row["example"]) for row in rows) + 2
    beside = room + max(map(len, abouts)) <= wide
    for row, about in zip(rows, abouts, strict=True):
        if beside:
            yield f"{row['example']:<{room}}{about}"
        else:
            yield row["example"]
            yield from (f"    {line}" for line in folded(about, wide - 4))
