"""Repairs of a tiny summariser and of a tiny generator, from map to proof."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.repair.results import parts_of, result_of
from tests.studies.repair.watching import Watching

import weakspot
from weakspot.cli import run as command
from weakspot.core import MODELS, WeakspotError
from weakspot.store import Run

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
THINGS = ["bridge", "town", "river", "school", "train", "market", "garden", "tower"]
DEEDS = ["opened", "closed", "moved", "burned", "grew", "won"]
FILLING = ["today", "slowly", "again", "there", "quietly", "indeed"]
FEW: dict[str, Any] = {"epochs": 2, "draws": 32, "device": "cpu", "seed": 1}


def library(folder: Path, words: list[str]) -> None:
    """A tokenizer of whole words."""
    import tokenizers

    ids = {word: i for i, word in enumerate(words)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)


def learnt(model: Any, folder: Path, rows: list[dict[str, str]]) -> None:
    """A model that has seen some of the texts, as they are, and nothing else."""
    read = transformers.AutoTokenizer.from_pretrained(folder)
    fit = {"return_tensors": "pt", "padding": True}
    given = read([row["text"] for row in rows], **fit)
    labels = read([row["summary"] for row in rows], **fit).input_ids
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(120):
        optimizer.zero_grad()
        model(input_ids=given.input_ids, attention_mask=given.attention_mask, labels=labels).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)


@pytest.fixture(scope="module")
def summarised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BART, texts, and a map."""
    folder = tmp_path_factory.mktemp("texts")
    words = [*SPECIAL, ".", "the", *THINGS, *DEEDS, *FILLING]
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=len(words), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=40,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=3,
    )  # fmt: skip
    library(folder / "bart", words)
    rng = random.Random(4)
    rows = []
    for i in range(48):
        thing, deed = rng.choice(THINGS), rng.choice(DEEDS)
        rest = " ".join(rng.choices(FILLING, k=5))
        rows.append(
            {"name": str(i), "text": f"the {thing} {deed} {rest}.", "summary": f"the {thing} {deed}."}
        )
    (folder / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    learnt(transformers.BartForConditionalGeneration(config), folder / "bart", rows)
    weakspot.map(
        f"hf:{folder / 'bart'}?tokens=6&beams=1&device=cpu",
        documents=folder / "texts.jsonl",
        space="text-16",
        judge="summary?measure=rouge1&epsilon=0.5",
        budget="images=160",
        above=0.2,
        out=folder / "map",
    ).close()
    return folder


@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_summariser_is_trained_and_proved_on_other_texts(summarised: Path, method: str) -> None:
    if method == "lora":
        pytest.importorskip("peft")
    out = summarised / method
    with weakspot.repair(
        summarised / "map", modes="1", method=method, out=out, learning_rate=0.02, **(FEW | {"epochs": 8})
    ) as run:
        result: dict[str, Any] = result_of(run)
        assert run.state == "finished"
        parts = parts_of(run)
    curve = result["training"]["curve"]
    assert result["training"]["best"] > 0
    assert curve[result["training"]["best"]]["validation"] < curve[0]["validation"]
    assert result["chosen"][0]["n"] + result["errors"] >= parts["verification"]
    assert result["chosen"][0]["n"] <= parts["verification"]
    assert result["landscape"]["n"] <= 32
    model = MODELS.load(result["model"])
    assert result["model"].endswith("tokens=6&beams=1&device=cpu")
    assert type(model).__name__ == "Seq2Seq"
    assert (out / "model" / "model.safetensors").is_file()
    assert "texts" in (out / "model" / "README.md").read_text()
    with Run.read(out) as run:
        assert "What was to be repaired" in weakspot.write_report(run).read_text()


def test_an_interrupted_training_of_a_summariser_goes_on(summarised: Path) -> None:
    def stop(words: str, done: int, of: int) -> None:
        if words.startswith("training") and done == 2:
            raise KeyboardInterrupt

    given: dict[str, Any] = {"modes": "1", **(FEW | {"epochs": 4, "draws": 0})}
    with pytest.raises(KeyboardInterrupt):
        weakspot.repair(summarised / "map", out=summarised / "cut", watch=Watching(stop), **given)
    with (
        weakspot.resume(summarised / "cut") as again,
        weakspot.repair(summarised / "map", out=summarised / "whole", **given) as whole,
    ):
        one, two = (result_of(run)["training"]["curve"] for run in (again, whole))
    assert one == two


def test_texts_for_a_trainer_of_ones_own_and_what_is_refused(summarised: Path) -> None:
    with weakspot.repair(summarised / "map", modes="1", method="data", out=summarised / "data") as run:
        written = result_of(run)["data"]
    rows = [json.loads(line) for line in Path(written["folder"], "texts.jsonl").read_text().splitlines()]
    assert len(rows) == written["pictures"] == 12
    assert {row["edited"] for row in rows} == {True, False}
    with pytest.raises(WeakspotError, match="last layer"):
        weakspot.repair(summarised / "map", modes="1", method="last-layer", out=summarised / "refused")
    with pytest.raises(WeakspotError, match="not a summariser of transformers") as caught:
        weakspot.repair(summarised / "map", modes="1", target="extract:3", out=summarised / "refused")
    assert "hf:FOLDER" in caught.value.fix
    kept = (summarised / "texts.jsonl").read_text()
    try:
        (summarised / "texts.jsonl").write_text(kept.replace("bridge", "tower"))
        with pytest.raises(WeakspotError, match="digest differs"):
            weakspot.repair(summarised / "map", modes="1", out=summarised / "refused")
    finally:
        (summarised / "texts.jsonl").write_text(kept)
    assert not (summarised / "refused").exists()


class Brightness:
    """An encoder that sees of a picture how red it is, and reads the word red."""

    def embed_texts(self, texts: Any) -> np.ndarray:
        return np.stack([self._row(1.0 if "red" in text else 0.0) for text in texts])

    def embed_images(self, images: Any) -> np.ndarray:
        means = [np.asarray(image, float).mean((0, 1)) for image in images]
        return np.stack([self._row(float(m[0] > m[2])) for m in means])

    @staticmethod
    def _row(red: float) -> np.ndarray:
        return np.array([red, 1 - red], np.float32)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a tiny pipeline and a map of what it draws."""
    pytest.importorskip("peft")
    pytest.importorskip("diffusers")
    from tests.models.test_diffusers import build

    folder = tmp_path_factory.mktemp("drawn")
    (folder / "looker.py").write_text(
        "from tests.studies.repair.test_repair_tasks import Brightness\nlook = Brightness()\n"
    )
    sys.path.insert(0, str(folder))
    build(folder / "tiny")
    (folder / "space.yaml").write_text(
        "name: two\ntask: prompt\naxes:\n"
        "  - {name: what, values: [fly, bee], metric: categorical, words: 'a photo of a {value}.'}\n"
        "  - {name: when, values: [day, night], metric: categorical, words: 'it is {value}.'}\n"
    )
    judge = "picture?encoder=python:looker:look&measure=shows&attribute=a red one|a blue one&wanted=0.5,0.5"
    weakspot.map(
        f"diffusers:{folder / 'tiny'}?steps=2&device=cpu",
        space=str(folder / "space.yaml"),
        judge=judge,
        budget="images=50",
        above=0.01,
        out=folder / "map",
    ).close()
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repair of seconds."""
    from weakspot.studies.map import repair_generator
    from weakspot.tuning import diffusion

    monkeypatch.setattr(diffusion, "ROUND", 2)
    for name, value in {"EXAMPLES": 4, "TRIES": 4, "BATCH": 4, "STEPS": 6, "WATCHED": 4}.items():
        monkeypatch.setattr(repair_generator, name, value)


@pytest.mark.usefixtures("few")
def test_a_generator_learns_the_wanted_shares_by_an_adapter(
    drawn: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WeakspotError, match="not for generators"):
        weakspot.repair(drawn / "map", modes="1", out=tmp_path / "refused")
    given = ["--modes", "1", "--method", "lora", "--most", "20", "--device", "cpu"]
    given += ["--learning-rate", "0.02", "--out", str(tmp_path / "done")]
    assert command(["repair", str(drawn / "map"), *given]) in (0, 3)
    said = capsys.readouterr().out
    assert "clean" in said
    assert "newly made in" in said
    with Run.read(tmp_path / "done") as run:
        result: dict[str, Any] = result_of(run)
    assert result["model"] == f"diffusers:{tmp_path / 'done' / 'model'}?steps=2&device=cpu"
    assert result["chosen"][0]["n"] + result["errors"] >= 20
    assert result["chosen"][0]["wanted"] == 0.5
    assert sum(result["bias"]["before"]["counts"]) == sum(result["bias"]["after"]["counts"])
    training = result["training"]
    assert len(training["curve"]) == training["epochs"] + 1
    assert training["round"] == "2 steps"
    assert training["loss after"] < training["loss before"] * 1.5
    assert result["landscape"]["n"] <= 40
    assert result["landscape"]["distance"] >= 0
    assert len(result["landscape"]["before"]) == 4
    for row in result["shown"]:
        assert {"blob", "now"} <= set(row)
    assert (tmp_path / "done" / "model" / "adapter.safetensors").is_file()
    card = (tmp_path / "done" / "model" / "README.md").read_text()
    assert "rounds of 2 steps" in card
    assert "pictures that it drew itself" in card
    page = (tmp_path / "done" / "report.html").read_text()
    for words in ("Bias in the repaired modes", "before: rate by", "Wasserstein", "off the wanted rate"):
        assert words in page
    assert len(MODELS.load(result["model"]).generate(["a photo of a fly."], seeds=[1])) == 1


@pytest.mark.usefixtures("few")
def test_an_interrupted_repair_of_a_generator_goes_on_to_the_same_weights(
    drawn: Path, tmp_path: Path
) -> None:
    def stop(words: str, done: int, of: int) -> None:
        if words.startswith("training") and done == 1:
            raise KeyboardInterrupt

    given: dict[str, Any] = {"modes": "1", "method": "lora", "most": 20, "draws": 0, "device": "cpu"}
    with pytest.raises(KeyboardInterrupt):
        weakspot.repair(drawn / "map", out=tmp_path / "cut", watch=Watching(stop), **given)
    with (
        weakspot.resume(tmp_path / "cut") as again,
        weakspot.repair(drawn / "map", out=tmp_path / "whole", **given) as whole,
    ):
        one, two = (result_of(run) for run in (again, whole))
    assert one["training"]["curve"] == two["training"]["curve"]
    assert one["chosen"] == two["chosen"]
    kept = [(tmp_path / name / "model" / "adapter.safetensors").read_bytes() for name in ("cut", "whole")]
    assert kept[0] == kept[1]
