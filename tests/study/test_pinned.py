"""Names in run.yaml say which commit of the hub was used."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from tests.studies.ask.ask_parts import Model, Words, benchmark

from weakspot import ask, hunt, resume
from weakspot.core import MODELS, Entry
from weakspot.store import Run
from weakspot.study.loading import pinned
from weakspot.study.options import Option, StudySettings

COMMIT = "c0ffee" + "0" * 34


class Settings(StudySettings):
    target: Annotated[str, Option("The model.")]
    source: Annotated[str | None, Option("What it is shown.")] = None
    verify: Annotated[tuple[str, ...], Option("Who agrees.")] = ()


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("hf:a/b", f"hf:a/b?revision={COMMIT}"),
        ("hf:a/b?batch=4", f"hf:a/b?batch=4&revision={COMMIT}"),
        ("hf:a/b?revision=main&batch=4", f"hf:a/b?revision={COMMIT}&batch=4"),
        (f"hf:a/b?revision={COMMIT}", f"hf:a/b?revision={COMMIT}"),
    ],
)
def test_the_commit_is_in_the_name(name: str, wanted: str) -> None:
    assert pinned(Settings(target=name), target=SimpleNamespace(revision=COMMIT)).target == wanted
    source = SimpleNamespace(models=(SimpleNamespace(revision=COMMIT),))
    assert pinned(Settings(target="x", source=name), source=source, target=object()) == Settings(
        target="x", source=wanted
    )


def test_what_is_not_of_the_hub_stays() -> None:
    settings = Settings(target="world:classifier")
    assert pinned(settings, target=object(), source=SimpleNamespace(revision="")) is settings


def test_several_names_in_one_field() -> None:
    settings = Settings(target="x", verify=("hf:a/b", "world:encoder", "hf:c/d"))
    seen = SimpleNamespace(revision=COMMIT)
    opinions = (SimpleNamespace(models=(seen,)), SimpleNamespace(), SimpleNamespace(models=(seen,)))
    wanted = (f"hf:a/b?revision={COMMIT}", "world:encoder", f"hf:c/d?revision={COMMIT}")
    assert pinned(settings, verify=opinions).verify == wanted


def test_a_folder_and_ones_own_code_have_no_revision(tmp_path: Path) -> None:
    """A name that says one of these could not be loaded again."""
    cached = tmp_path / "snapshots" / COMMIT
    cached.mkdir(parents=True)
    for name in (f"hf:{cached}", f"hf:{cached}?batch=2", "python:my.module:net", "object:my.module.Net"):
        settings = Settings(target=name)
        assert pinned(settings, target=SimpleNamespace(revision=COMMIT)) is settings


def net(folder: Path) -> None:
    """A classifier of transformers, tiny and untrained."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=16,
        patch_size=8, id2label={0: "fly", 1: "bee"}, label2id={},
    )  # fmt: skip
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    prepared = {"size": {"height": 16, "width": 16}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(prepared))


def test_a_hunt_keeps_to_the_commit_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    net(tmp_path / "snapshots" / COMMIT)
    asked: list[tuple[str, str | None]] = []

    def snapshot(name: str, *, revision: str | None, **_: Any) -> str:
        asked.append((name, revision))
        return str(tmp_path / "snapshots" / COMMIT)

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    hunt(
        "hf:someone/net?device=cpu", verify=("hf:someone/other?device=cpu",), label="fly",
        budget="images=64", out=tmp_path / "run",
    ).close()  # fmt: skip
    with Run.read(tmp_path / "run") as run:
        assert run.config.settings["target"] == f"hf:someone/net?device=cpu&revision={COMMIT}"
        assert run.config.settings["verify"] == [f"hf:someone/other?device=cpu&revision={COMMIT}"]
        assert run.config.settings["source"] == "world:renderer"
    assert {*asked} == {("someone/net", None), ("someone/other", None)}
    asked.clear()
    resume(tmp_path / "run", budget="images=96").close()
    assert {*asked} == {("someone/net", COMMIT), ("someone/other", COMMIT)}


class HubModel(Model):
    """A chat model that was fetched: `hub:NAME?revision=…`."""

    revision = COMMIT


def hub_model(path: str, *, revision: str = "main") -> HubModel:
    assert path == "someone/chat"
    assert revision in ("main", COMMIT)
    return HubModel()


def test_so_does_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS._entries, "hub", Entry("hub", "tests.study.test_pinned:hub_model"))
    ask("hub:someone/chat", benchmark=benchmark(30), judge=Words(), out=tmp_path / "run").close()
    with Run.read(tmp_path / "run") as run:
        assert run.config.settings["target"] == f"hub:someone/chat?revision={COMMIT}"
