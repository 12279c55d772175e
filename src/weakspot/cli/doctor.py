"""`weakspot doctor`: what is installed and whether the loop works here; with a model, whether that works."""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final

import typer

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


def command(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="Load this model, and check and measure it.")
    ] = None,
    images: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Pictures with known labels: is the order of labels right?"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Say what is installed, and test the whole loop for a few seconds; or load one model and check it.

    A model is checked against the contract of its port: answers in order, probabilities, rows of length 1,
    pictures that follow from their seed. Its speed and memory are told. Exit code 1: something is wrong.
    """
    if model is not None:
        from weakspot import cli
        from weakspot.cli import doctor_model

        return doctor_model.run(model, images=images, as_json=as_json, debug=cli.debugging)
    if images is not None:
        from weakspot.core.errors import WeakspotError

        raise WeakspotError("pictures are for checking a model", fix="weakspot doctor MODEL --images FOLDER")
    facts = examine()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        typer.echo(f"weakspot {facts['weakspot']} · Python {facts['python']} · {facts['system']}")
        _tell("core", [f"{k} {v or 'MISSING'}" for k, v in facts["core"].items()])
        for extra, packages in facts["extras"].items():
            missing = [name for name, found in packages.items() if not found]
            state = f"pip install 'weakspot[{extra}]'   (no {', '.join(missing)})" if missing else "ready"
            typer.echo(f"extra    {extra:<7} {state}")
        _tell("keys", [f"{k} {'set' if there else 'not set'}" for k, there in facts["keys"].items()])
        test = facts["self_test"]
        typer.echo(f"test     {'ok' if test['ok'] else 'FAILED'}: {test['about']}")
    return 0 if facts["self_test"]["ok"] else 1


def _tell(about: str, facts: list[str]) -> None:
    """Facts joined by dots, in lines of at most 80 columns."""
    line = f"{about:<8} {facts[0]}"
    for fact in facts[1:]:
        if len(line) + len(fact) + 3 > 80:
            typer.echo(line)
            line = f"{'':<8} {fact}"
        else:
            line += f" · {fact}"
    typer.echo(line)


def examine() -> dict[str, Any]:
    """Everything the doctor knows. Of keys only whether they are set."""
    return {
        "weakspot": version("weakspot"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "core": {name: _version(name) for name in CORE},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
        "keys": {name: bool(os.environ.get(name)) for name in KEYS},
        "self_test": _self_test(),
    }


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
