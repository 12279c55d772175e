"""`hf:` on captioners made here, tiny and untrained: the contract, the library's own sums, refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import MODELS, Captioner, WeakspotError
from weakspot.models.hf.captioner import HfCaptioner
from weakspot.testing import check_captioner

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
WORDS = [
    "<pad>",
    "<unk>",
    "<s>",
    "</s>",
    "<image>",
    "a",
    "dog",
    "is",
    "on",
    "snow",
    "it",
    "red",
    ".",
    "say",
    "what",
]
PICTURES = [np.random.default_rng(i).integers(0, 256, (16, 16 + 8 * i, 3), np.uint8) for i in range(3)]
SENTENCES = ["a dog.", "it is on red snow.", "it is red."]
TOWER: dict[str, Any] = {
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2
}  # fmt: skip
VISION: dict[str, Any] = {**TOWER, "image_size": 16, "patch_size": 8}
SPECIAL: dict[str, int] = {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}


def tokenizer() -> Any:
    import tokenizers as library

    made = library.Tokenizer(library.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = library.pre_tokenizers.Split(library.Regex(r"<\w+>|\w+|[.]"), "removed", invert=True)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>",
        cls_token="<s>", sep_token="</s>",
    )  # fmt: skip


def blip() -> Any:
    text = {
        **TOWER,
        **SPECIAL,
        "vocab_size": len(WORDS),
        "max_position_embeddings": 40,
        "encoder_hidden_size": 16,
    }
    config = transformers.BlipConfig(text_config={**text, "sep_token_id": 3}, vision_config=VISION)
    return transformers.BlipForConditionalGeneration(config)


def git() -> Any:
    config = transformers.GitConfig(
        **TOWER, **SPECIAL, vocab_size=len(WORDS), max_position_embeddings=40, vision_config=VISION
    )
    return transformers.GitForCausalLM(config)


def two_parts() -> Any:
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.ViTConfig(**VISION),
        transformers.GPT2Config(
            n_embd=16, n_layer=2, n_head=2, n_positions=40, vocab_size=len(WORDS), add_cross_attention=True,
            is_decoder=True, **SPECIAL,
        ),
    )  # fmt: skip
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 2, 0, 3
    return transformers.VisionEncoderDecoderModel(config)


def llava() -> Any:
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**VISION),
        text_config=transformers.LlamaConfig(
            **TOWER, **SPECIAL, vocab_size=len(WORDS), max_position_embeddings=80
        ),
        image_token_index=4,
        image_token_id=4,
        vision_feature_layer=-1,
    )
    return transformers.LlavaForConditionalGeneration(config)


def folder_of(kind: str, folder: Path) -> Any:
    torch.manual_seed(2)
    made = {"blip": blip, "git": git, "vit-gpt2": two_parts, "llava": llava}[kind]()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    made.eval().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    prepared = {
        "image_processor_type": "ViTImageProcessor",
        "size": {"height": 16, "width": 16},
        "image_mean": [0.5] * 3,
        "image_std": [0.25] * 3,
    }
    if kind != "llava":
        tokenizer().save_pretrained(folder)
        (folder / "preprocessor_config.json").write_text(json.dumps(prepared))
        return made
    picture = transformers.CLIPImageProcessorPil(
        size={"height": 16, "width": 16}, crop_size={"height": 16, "width": 16}
    )
    words = tokenizer()
    words.add_special_tokens({"additional_special_tokens": ["<image>"]})
    transformers.LlavaProcessor(
        picture, words, patch_size=8, vision_feature_select_strategy="default", image_token="<image>",
        num_additional_image_tokens=1,
    ).save_pretrained(folder)  # fmt: skip
    return made


@pytest.fixture(scope="module", params=["blip", "git", "vit-gpt2", "llava"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, str]:
    if request.param == "llava" and not hasattr(transformers, "CLIPImageProcessorPil"):
        pytest.skip("this version of transformers has no processors without torchvision")
    folder = tmp_path_factory.mktemp(request.param)
    return folder, folder_of(request.param, folder), request.param


def test_it_keeps_the_contract(made: tuple[Path, Any, str]) -> None:
    folder, _, _ = made
    model = MODELS.load(f"hf:{folder}?device=cpu&batch=2&tokens=6")
    assert isinstance(model, HfCaptioner)
    assert isinstance(model, Captioner)
    check_captioner(model, PICTURES, SENTENCES)
    assert len({*model.captions(PICTURES, prefix="a dog.")} - {"a dog."}) > 0
    assert model.log_probabilities(PICTURES, [""]).tolist() == [[0.0]] * 3
    assert model.log_probabilities([], ["a dog."]).shape == (0, 1)


@pytest.mark.parametrize(("options", "near"), [("?device=cpu", 1e-5), ("", 0.02)])
def test_all_next_words_together_are_certain(made: tuple[Path, Any, str], options: str, near: float) -> None:
    """Probabilities of every single next token sum to 1: nothing is left out and nothing counted twice."""
    model = MODELS.load(f"hf:{made[0]}{options}")  # by default, a GPU rounds to bfloat16
    ordinary = model.log_probabilities(PICTURES[:1], WORDS[5:], prefix="it is")[0]
    speaker = model.network
    before = speaker.tokenizer("it is", add_special_tokens=False)["input_ids"]
    logits = speaker.read(PICTURES[0], [[*before, 5]])[0, -1]
    wanted = logits - np.log(np.exp(logits).sum())
    np.testing.assert_allclose(ordinary, wanted[5 : len(WORDS)], atol=near)
    assert np.exp(wanted).sum() == pytest.approx(1)


def test_captions_are_the_likeliest_words(made: tuple[Path, Any, str]) -> None:
    """Word by word: no other next word is likelier, by the model's own probabilities."""
    model = MODELS.load(f"hf:{made[0]}?tokens=1")
    [text] = model.captions(PICTURES[:1], prefix="it is")
    told = text.removeprefix("it is").strip()
    scores = model.log_probabilities(PICTURES[:1], WORDS[5:], prefix="it is")[0]
    if told:  # it may as well end here
        assert told == WORDS[5:][int(scores.argmax())]


def test_what_cannot_be_done_is_said(made: tuple[Path, Any, str], tmp_path: Path) -> None:
    folder, _, _ = made
    model = MODELS.load(f"hf:{folder}")
    with pytest.raises(WeakspotError, match="tokens"):
        model.log_probabilities(PICTURES[:1], ["dog " * 600])
    model.release()
    with pytest.raises(WeakspotError, match="was released"):
        model.captions(PICTURES)
    shutil.copytree(folder, tmp_path / "copy")
    for name in ("preprocessor_config.json", "processor_config.json"):
        (tmp_path / "copy" / name).unlink(missing_ok=True)
    with pytest.raises(WeakspotError, match=r"preprocessor_config|cannot be loaded"):
        MODELS.load(f"hf:{tmp_path / 'copy'}").captions(PICTURES)
