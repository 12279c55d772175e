from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from weakspot.core import JUDGES, MODELS, SOURCES, Entry, Kind, Registry, WeakspotError, parse_name, registry


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """An empty registry without plugins."""
    monkeypatch.setattr(registry, "entry_points", lambda **_: [])
    return Registry(Kind.MODEL)


def build(rest: str = "", *, size: str = "1", seed: int = 0) -> tuple[str, str, int]:
    return rest, size, seed


def build_anything(**options: Any) -> dict[str, Any]:
    return options


def build_with_missing_library() -> None:
    import a_library_nobody_has  # type: ignore[import-not-found]  # noqa: F401


HERE = __name__


@pytest.mark.parametrize(
    ("text", "scheme", "rest", "options"),
    [
        ("world:classifier", "world", "classifier", {}),
        ("label", "label", "", {}),
        ("label?top=3", "label", "", {"top": "3"}),
        ("onnx:dir/m.onnx?labels=l.txt&size=64", "onnx", "dir/m.onnx", {"labels": "l.txt", "size": "64"}),
        ("python:package.module:attr", "python", "package.module:attr", {}),
        (
            "chat:openai-api/local/qwen?base=http%3A%2F%2Fx",
            "chat",
            "openai-api/local/qwen",
            {"base": "http://x"},
        ),
        (" timm:resnet50 ", "timm", "resnet50", {}),
        ("a:b?empty=", "a", "b", {"empty": ""}),
    ],
)
def test_names_are_parsed(text: str, scheme: str, rest: str, options: dict[str, str]) -> None:
    name = parse_name(text)
    assert (name.scheme, name.rest, name.options) == (scheme, rest, options)


@pytest.mark.parametrize("text", ["", "  ", ":x", "?a=b", "a\x00:b", "a:b?c", "a:b?c=1&c=2", "\x1b[2Jx:y"])
def test_what_is_no_name_is_explained(text: str) -> None:
    with pytest.raises(WeakspotError) as caught:
        parse_name(text)
    assert caught.value.fix
    assert "\x1b" not in caught.value.what


def test_targets_are_lazy(models: Registry) -> None:
    models.add(Entry("heavy", "a_module_nobody_has:load"))
    assert [entry.name for entry in models] == ["heavy"]
    assert models.find("heavy:x")[0].name == "heavy"
    with pytest.raises(WeakspotError, match="needs a library that is missing"):
        models.load("heavy:x")


def test_naming_one_thing_imports_only_that_thing() -> None:
    code = (
        "import sys; from weakspot.core import JUDGES, MODELS; JUDGES.load('label?top=2');"
        "print([m for m in ('onnxruntime', 'torch', 'PIL', 'weakspot.world.classifier') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_options_and_context_reach_the_factory(models: Registry) -> None:
    models.add(Entry("mine", f"{HERE}:build"))
    models.add(Entry("world:mine", f"{HERE}:build"))
    models.add(Entry("any", f"{HERE}:build_anything"))
    assert models.load("mine:a/b:c?size=5") == ("a/b:c", "5", 0)
    assert models.load("mine:x", seed=3, device="cpu") == ("x", "1", 3)  # it takes no device
    assert models.load("world:mine?size=2") == ("", "2", 0)
    assert models.load("any?a=1", device="cpu") == {"a": "1", "device": "cpu"}


def test_a_full_name_goes_before_its_scheme(models: Registry) -> None:
    models.add(Entry("mine", f"{HERE}:build"))
    models.add(Entry("mine:special", f"{HERE}:build_anything"))
    assert models.load("mine:special") == {}
    assert models.load("mine:other") == ("other", "1", 0)


def test_an_unknown_option_says_the_nearest(models: Registry) -> None:
    models.add(Entry("mine", f"{HERE}:build"))
    with pytest.raises(WeakspotError, match="no option 'sise'") as caught:
        models.load("mine:x?sise=5")
    assert "did you mean 'size'?" in caught.value.fix
    with pytest.raises(WeakspotError, match="no option 'qqqq'") as caught:
        models.load("mine:x?qqqq=5")
    assert "seed, size" in caught.value.fix


def test_a_name_without_its_rest_is_explained() -> None:
    with pytest.raises(WeakspotError, match="missing a required argument") as caught:
        MODELS.load("onnx")
    assert "onnx:model.onnx" in caught.value.fix


@pytest.mark.parametrize(
    ("names", "wrong", "right"),
    [
        (MODELS, "world:clasifier", "world:classifier"),
        (MODELS, "wrld:classifier", "world:classifier"),
        (MODELS, "onxn:model.onnx", "onnx"),
        (SOURCES, "world:rendrer", "world:renderer"),
        (JUDGES, "lable?top=2", "label"),
    ],
)
def test_a_wrong_name_says_the_nearest_right_one(names: Registry, wrong: str, right: str) -> None:
    with pytest.raises(WeakspotError) as caught:
        names.load(wrong)
    assert f"did you mean {right!r}?" in caught.value.fix
    assert f"weakspot list {names.kind}s" in caught.value.fix


def test_a_name_near_nothing_points_to_the_list() -> None:
    with pytest.raises(WeakspotError, match="no model is called 'qqqqqqq'") as caught:
        MODELS.find("qqqqqqq")
    assert caught.value.fix == "see: weakspot list models"


@pytest.mark.parametrize("target", ["a_module_nobody_has:load", f"{HERE}:build_with_missing_library"])
def test_a_missing_library_says_the_extra(models: Registry, target: str) -> None:
    """Whether the adapter imports it at its head or when it is called."""
    models.add(Entry("timm", target, extra="vision"))
    with pytest.raises(WeakspotError, match="'timm' needs a library that is missing") as caught:
        models.load("timm")
    assert caught.value.fix == "pip install 'weakspot[vision]'"


def test_an_entry_that_points_at_nothing_names_its_distribution(models: Registry) -> None:
    models.add(Entry("gone", f"{HERE}:no_such_thing", origin="some-plugin"))
    with pytest.raises(WeakspotError, match="points at nothing") as caught:
        models.load("gone")
    assert caught.value.fix == "reinstall some-plugin"


def test_a_second_owner_of_a_name_is_an_error(models: Registry) -> None:
    models.add(Entry("mine", "one:load", origin="first"))
    models.add(Entry("mine", "one:load", origin="first"))
    with pytest.raises(WeakspotError, match=r"registered twice: by first \(one:load\) and by second"):
        models.add(Entry("mine", "two:load", origin="second"))
    assert models.find("mine")[0].target == "one:load"


def test_a_plugin_cannot_take_a_built_in_name(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("taken", "evil:load", "weakspot.models")
    monkeypatch.setattr(registry, "entry_points", lambda **_: [point])
    models = Registry(Kind.MODEL)
    models.add(Entry("taken", f"{HERE}:build"))
    for _ in range(2):  # not the first time only
        with pytest.raises(WeakspotError, match="registered twice"):
            models.load("taken")


@pytest.mark.parametrize("names", [MODELS, SOURCES, JUDGES], ids=lambda r: r.kind)
def test_every_built_in_name_leads_somewhere(names: Registry) -> None:
    for entry in names:
        if entry.origin == "weakspot" and not entry.extra:
            assert callable(registry._attribute(entry))
            assert entry.about
            assert names.find(entry.example or entry.name)[0] is entry


def test_python_parts_are_imported_and_classes_called() -> None:
    assert JUDGES.load("python:weakspot.judges.label:LabelJudge").top == 1
    assert SOURCES.load("python:weakspot.core.registry:MODELS") is MODELS
    with pytest.raises(WeakspotError, match="names no attribute"):
        SOURCES.load("python:weakspot")
    for path in ("no.such.module:x", "weakspot.core:no_such_attribute"):
        with pytest.raises(WeakspotError, match="cannot be imported") as caught:
            SOURCES.load(f"python:{path}")
        assert "PYTHONPATH" in caught.value.fix


def test_third_parties_bring_models_by_entry_points(tmp_path: Path) -> None:
    info = tmp_path / "acme_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-models\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[weakspot.models]\nacme = acme_models:load\nacme:tiny = acme_models:tiny\n"
        "[weakspot.judges]\nstrict = acme_models:Strict\n"
    )
    (tmp_path / "acme_models.py").write_text(
        "def load(path, *, size='1'): return ('acme', path, size)\n"
        "def tiny(): return 'tiny'\n"
        "class Strict:\n    def __init__(self, *, level='1'): self.level = level\n"
    )
    code = (
        "from weakspot.core import MODELS, JUDGES\n"
        "print(MODELS.load('acme:net?size=3'), MODELS.load('acme:tiny'))\n"
        "print(JUDGES.load('strict?level=2').level)\n"
        "print([e.origin for e in MODELS if e.name == 'acme'])\n"
        "try: JUDGES.load('stritc')\n"
        "except Exception as e: print(e.fix)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "('acme', 'net', '3') tiny",
        "2",
        "['acme-models']",
        "did you mean 'strict'? see: weakspot list judges",
    ]
