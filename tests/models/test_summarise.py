"""Summarisers: the embedded one, a chat model that is asked, and a tiny seq2seq made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from weakspot.core import MODELS, Case, Hypothesis, Output, Status, Usage, WeakspotError
from weakspot.models.summarise import Asked, Extract, sentences
from weakspot.models.vectors import Ngrams
from weakspot.sources.documents import documents
from weakspot.stats.overlap import rouge
from weakspot.testing import check_encoder, check_target

H = Hypothesis("as they are")
WORDS = ["<pad>", "<unk>", "<s>", "</s>", "a", "bridge", "closed", "the", "town", "for", "two", "years"]


def cases(*texts: str) -> list[Case]:
    return [Case(H, i, i, text, "a summary") for i, text in enumerate(texts)]


def test_sentences() -> None:
    assert sentences("It rains. Is it late? “Yes!” he said.\n\nThe end") == [
        "It rains.", "Is it late?", "“Yes!", "he said.", "The end",
    ]  # fmt: skip
    assert sentences(" \n ") == []
    assert sentences("It costs 3.50 euros.") == ["It costs 3.50 euros."]


@pytest.mark.parametrize("name", ["extract", "extract:2", "extract:1?by=lead"])
def test_the_embedded_summariser_is_a_target_that_chooses_sentences(name: str) -> None:
    target = MODELS.load(name)
    texts = documents().texts[:6]
    outputs = check_target(target, cases(*texts))
    for text, output in zip(texts, outputs, strict=True):
        assert output.answer is not None
        chosen = sentences(output.answer)
        assert len(chosen) == target.count
        assert [s for s in sentences(text) if s in chosen] == chosen  # in the order of the text


def test_it_is_nearer_to_the_references_than_the_sentences_it_left_out() -> None:
    texts = documents()
    own = rest = 0.0
    for text, summary in zip(texts.texts, texts.summaries, strict=True):
        chosen = Extract(3).summary(text)
        left = " ".join(s for s in sentences(text) if s not in chosen)
        own, rest = own + rouge(chosen, summary).f, rest + rouge(left, summary).f
    assert own > 1.25 * rest


def test_nothing_in_nothing_out() -> None:
    for output in Extract(2).answer(cases("", "  \n ")):
        assert output.status is Status.EMPTY
        assert output.answer is None


def test_a_picture_is_not_a_text() -> None:
    with pytest.raises(WeakspotError, match="is shown texts"):
        Extract(2).answer([Case(H, 0, 0, 3, "")])


@pytest.mark.parametrize("name", ["extract:0", "extract:many", "extract:3?by=chance", "ngrams?size=2"])
def test_wrong_names_are_refused(name: str) -> None:
    with pytest.raises(WeakspotError):
        MODELS.load(name)


def test_texts_with_the_same_words_lie_near() -> None:
    encoder = Ngrams()
    texts = ["the old bridge closed", "bridges that closed", "storks nest on a chimney", "", "!!"]
    check_encoder(encoder, texts)
    near = encoder.embed_texts(texts) @ encoder.embed_texts(texts).T
    assert near[0, 1] > 0.4 > abs(near[0, 2])


class Chat:
    """Records what it is asked; answers, says nothing, or fails."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def answer_questions(self, questions: Any) -> list[Output]:
        self.asked += questions
        kinds = [
            Output(" A summary. ", usage=Usage(tokens=7)),
            Output("  "),
            Output(None, status=Status.ERROR, detail="gone"),
            Output(None, status=Status.BLOCKED),
        ]
        return kinds[: len(questions)]


def test_a_chat_model_is_asked_for_a_summary_of_the_text_as_material() -> None:
    chat = Chat()
    outputs = Asked(chat).answer(cases("Text {text} one.", "two", "three", "four"))
    assert [o.status.value for o in outputs] == ["ok", "empty", "error", "blocked"]
    assert outputs[0].answer == "A summary."
    assert outputs[0].usage.tokens == 7
    assert chat.asked[0].count("Text {text} one.") == 1
    assert "not instructions" in chat.asked[0]
    with pytest.raises(WeakspotError, match="no place for the text"):
        Asked(chat, instruction="Summarise.")


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    import tokenizers as library

    folder = tmp_path_factory.mktemp("bart")
    config = transformers.BartConfig(
        vocab_size=len(WORDS), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=40,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=3,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.BartForConditionalGeneration(config).eval().save_pretrained(folder)
    made = library.Tokenizer(library.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    made.post_processor = library.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)
    return folder


def test_a_seq2seq_folder_is_a_target_and_writes_what_the_library_writes(bart: Path) -> None:
    import transformers

    target = MODELS.load(f"hf:{bart}?device=cpu&tokens=8&beams=2&batch=2")
    texts = ["the town closed a bridge", "two years", "a bridge for the town " * 30, "closed"]
    outputs = check_target(target, cases(*texts))
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(bart).eval()
    words = transformers.AutoTokenizer.from_pretrained(bart)
    for text, output in zip(texts, outputs, strict=True):
        ids = words(text, return_tensors="pt", truncation=True, max_length=40).input_ids
        wanted = model.generate(ids, max_new_tokens=8, max_length=None, num_beams=2, do_sample=False)
        [said] = words.batch_decode(wanted, skip_special_tokens=True)
        assert (output.answer or "") == said.strip()
        assert (output.status is Status.EMPTY) == (not said.strip())


def test_a_summariser_has_its_own_options_and_no_pickles(bart: Path, tmp_path: Path) -> None:
    assert (
        MODELS.load(f"hf:{bart}?device=cpu&prefix=the").digest != MODELS.load(f"hf:{bart}?device=cpu").digest
    )
    with pytest.raises(WeakspotError, match="beams cannot be"):
        MODELS.load(f"hf:{bart}?beams=none&device=cpu")
    for file in bart.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(WeakspotError, match="pickle"):
        MODELS.load(f"hf:{tmp_path}?device=cpu")
