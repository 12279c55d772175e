"""docs/models.md is what the registry says, and every example in it is a name that can be read."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from weakspot.core import JUDGES, MODELS, SOURCES, Entry, Registry
from weakspot.models.http.endpoint import read_endpoint

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("make_models", DOCS / "make_models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(maker: ModuleType) -> None:
    assert (DOCS / "models.md").read_text("utf-8") == maker.page(), "python docs/make_models.py"


def test_every_model_is_on_it_with_what_is_checked(maker: ModuleType) -> None:
    page = maker.page()
    for entry in maker.own(MODELS):
        assert entry.ports, entry.name
        assert {*entry.ports} <= {*maker.PORTS}, entry.name
        assert f"| `{entry.name}` |" in page


def examples() -> list[tuple[Registry, str]]:
    """Of the registry, and those in the text of the page."""
    found = [(r, e.example or e.name) for r in (MODELS, SOURCES, JUDGES) for e in r if e.origin == "weakspot"]
    found += [(MODELS, text) for e in MODELS for text in e.examples.values()]
    schemes = {e.name for e in MODELS}
    for text in re.findall(r"`([a-z]+:[^` ]+)`", (DOCS / "models.md").read_text("utf-8")):
        scheme = text.partition(":")[0]
        if scheme in schemes and not text.endswith(":") and (MODELS, text) not in found:
            registry = SOURCES if (SOURCES, text) in found else MODELS
            found.append((registry, text))
    return found


@pytest.mark.parametrize(
    ("registry", "text"), examples(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_example_can_be_read(registry: Registry, text: str, maker: ModuleType) -> None:
    entry, name = registry.find(text)
    assert entry.name in (name.full, name.scheme)
    made = maker.factory(entry)
    rest = (name.rest,) if name.full != entry.name else ()
    of_the_study = {"space": None} if entry.name == "world:cells" else {}  # map itself gives it
    inspect.signature(made).bind(
        *rest, **name.options, **of_the_study
    )  # a TypeError if an option is unknown or missing


def test_the_endpoint_on_the_page_can_be_read(tmp_path: Path) -> None:
    [block] = re.findall(r"```yaml\n(.*?)```", (DOCS / "models.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "endpoint.yaml").write_text(block)
    endpoint = read_endpoint(str(tmp_path / "endpoint.yaml"), scheme="http", given={})
    assert endpoint.labels == ("robin", "wren", "owl")
    assert endpoint.request([pytest.importorskip("numpy").zeros((2, 2, 3), "uint8")])[1] == "application/json"


def test_an_entry_that_is_wrong_would_be_seen(maker: ModuleType) -> None:
    wrong = Entry("x", "weakspot.models.onnx.models:load", example="onnx:m.onnx?lables=x")
    with pytest.raises(TypeError):
        inspect.signature(maker.factory(wrong)).bind("m.onnx", lables="x")
