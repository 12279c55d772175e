"""Checks for your own sources, targets, judges, searches and models: each says what breaks the contract.

    from weakspot.testing import check_source, check_target

    def test_my_source():
        cases = check_source(MySource(), Hypothesis("a photo of a fly."))
        check_target(MyModel(), cases)

Our own adapters' tests run the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import (
    Captioner,
    Case,
    Classifier,
    Encoder,
    Generator,
    Hypothesis,
    Judge,
    LedgerView,
    Output,
    Search,
    Source,
    Stage,
    Status,
    Target,
    TextEncoder,
    Verdict,
    WeakspotError,
    case_seed,
)

__all__ = [
    "ContractError",
    "check_captioner",
    "check_encoder",
    "check_generator",
    "check_judge",
    "check_search",
    "check_source",
    "check_target",
]


class ContractError(WeakspotError):
    """A part does not do what its port promises."""


def check_source(source: Source, hypothesis: Hypothesis, *, seed: int = 0, n: int = 6) -> list[Case]:
    """Check that a case follows from (run seed, hypothesis, index) alone.

    Args:
        source: Yours.
        hypothesis: Words that it can draw.
        seed: A run's seed.
        n: How many cases to draw; at least 2.

    Returns:
        The first n cases, for use with `check_target` and `check_judge`.
    """
    _promise(isinstance(source, Source), f"{source!r} has no method draw", "see weakspot.core.ports.Source")
    indices = [*range(n - 1), Stage.CONFIRM.start]
    cases = source.draw(hypothesis, indices, seed=seed)
    _promise(isinstance(cases, list), f"draw gave a {type(cases).__name__}", "give a list of cases")
    _promise(
        len(cases) == n, f"draw gave {len(cases)} cases for {n} indices", "give one case per index, in order"
    )
    for index, case in zip(indices, cases, strict=True):
        _promise(isinstance(case, Case), f"draw gave a {type(case).__name__}", "give weakspot.Case values")
        _promise(
            case.index == index, f"index {case.index} came for {index}", "give the cases in the given order"
        )
        _promise(
            case.hypothesis == hypothesis, f"case {index} names another hypothesis", "pass it on unchanged"
        )
        wanted = case_seed(seed, hypothesis, index)
        _promise(
            case.seed == wanted,
            f"case {index} has seed {case.seed}",
            "use case_seed(seed, hypothesis, index)",
        )
        _promise(
            isinstance(case.expected, str),
            f"case {index} expects {case.expected!r}",
            "give a text, e.g. a label",
        )
        _promise(case.input is not None, f"case {index} has no input", "draw one, or raise")
    again = source.draw(hypothesis, indices, seed=seed)
    backwards = source.draw(hypothesis, indices[::-1], seed=seed)[::-1]
    alone = [source.draw(hypothesis, [i], seed=seed)[0] for i in indices]
    for how, others in (("a second time", again), ("in another order", backwards), ("alone", alone)):
        for case, other in zip(cases, others, strict=True):
            _promise(
                _same(case.input, other.input)
                and (case.expected, case.caption) == (other.expected, other.caption),
                f"case {case.index} differs when drawn {how}",
                "let everything random follow from the case's seed, and keep nothing between draws",
            )
    return cases


def check_target(target: Target, cases: Sequence[Case], *, deterministic: bool = True) -> list[Output]:
    """Check that a target gives one well-formed output per case.

    Args:
        target: Yours.
        cases: From `check_source`, or made by hand.
        deterministic: Also check that an answer does not depend on the batch; False for chat models.

    Returns:
        The outputs.
    """
    _promise(isinstance(target, Target), f"{target!r} has no method answer", "see weakspot.core.ports.Target")
    outputs = target.answer(cases)
    _promise(
        isinstance(outputs, list) and len(outputs) == len(cases),
        f"answer gave {_size(outputs)} outputs for {len(cases)} cases",
        "give a list with one output per case, in order",
    )
    for case, output in zip(cases, outputs, strict=True):
        _promise(
            isinstance(output, Output),
            f"answer gave a {type(output).__name__}",
            "give weakspot.Output values",
        )
        _promise(isinstance(output.status, Status), f"status {output.status!r}", "use weakspot.Status")
        if output.status is Status.ERROR:
            _promise(
                output.answer is None, f"an error of case {case.index} carries an answer", "set it to None"
            )
            _promise(
                bool(output.detail),
                f"an error of case {case.index} says nothing",
                "say what happened in detail",
            )
    if isinstance(target, Classifier):
        _check_scores(target, outputs)
    if deterministic:
        backwards = target.answer(list(cases)[::-1])[::-1]
        for case, one, other in zip(cases, outputs, backwards, strict=True):
            _promise(
                one.answer == other.answer,
                f"case {case.index} is answered {one.answer!r}, and {other.answer!r} in another order",
                "put the model in evaluation mode; pass deterministic=False if it samples",
            )
    return outputs


def _check_scores(target: Classifier, outputs: Sequence[Output]) -> None:
    labels = target.labels
    _promise(isinstance(labels, tuple) and bool(labels), "labels must be a tuple of names", "list all labels")
    _promise(len(set(labels)) == len(labels), "a label is there twice", "make the labels distinct")
    for output in outputs:
        if output.status is not Status.OK:
            continue
        _promise(
            output.answer in labels, f"{output.answer!r} is not one of the labels", "answer with a label"
        )
        if output.scores is None:
            continue
        values = np.asarray(output.scores.values, dtype=np.float64)
        _promise(output.scores.labels == labels, "the scores have other labels", "use the target's labels")
        _promise(
            values.shape == (len(labels),), f"scores of shape {values.shape}", "give one score per label"
        )
        _promise(bool(np.isfinite(values).all()), "a score is not finite", "check the model's outputs")
        _promise(
            bool((values >= 0).all()) and abs(float(values.sum()) - 1) < 1e-3,
            f"the scores sum to {values.sum():.3f}",
            "give probabilities, not logits",
        )
        _promise(
            output.scores.top(1)[0][0] == output.answer,
            "the answer is not the most probable label",
            "use argmax",
        )


def check_judge(judge: Judge, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
    """Check that a judge gives one verdict per case and never counts an error as a failure.

    Returns:
        The verdicts.
    """
    _promise(isinstance(judge, Judge), f"{judge!r} has no method judge", "see weakspot.core.ports.Judge")
    verdicts = judge.judge(cases, outputs)
    _promise(
        isinstance(verdicts, list) and len(verdicts) == len(cases),
        f"judge gave {_size(verdicts)} verdicts for {len(cases)} cases",
        "give a list with one verdict per case, in order",
    )
    for verdict in verdicts:
        _promise(
            isinstance(verdict, Verdict),
            f"judge gave a {type(verdict).__name__}",
            "give weakspot.Verdict values",
        )
        _promise(
            verdict.failed in (True, False, None), f"failed is {verdict.failed!r}", "say True, False or None"
        )
    for status in (Status.ERROR, Status.BLOCKED, Status.EMPTY):
        broken = [Output(None, status=status, detail="planted by check_judge")] * len(cases)
        for verdict in judge.judge(cases, broken):
            _promise(
                verdict.failed is None,
                f"an output with status {status} was judged",
                "give failed=None for it",
            )
            _promise(
                verdict.status is status, f"{status} became {verdict.status}", "copy the output's status"
            )
    return verdicts


def check_search(search: Search, ledger: LedgerView) -> list[Hypothesis]:
    """Check that proposals are distinct and follow from the ledger alone.

    Returns:
        The proposals.
    """
    _promise(
        isinstance(search, Search), f"{search!r} has no method propose", "see weakspot.core.ports.Search"
    )
    proposed = search.propose(ledger)
    _promise(
        isinstance(proposed, list), f"propose gave a {type(proposed).__name__}", "give a list, [] when done"
    )
    for hypothesis in proposed:
        _promise(
            isinstance(hypothesis, Hypothesis),
            f"propose gave a {type(hypothesis).__name__}",
            "give weakspot.Hypothesis",
        )
    ids = [h.id for h in proposed]
    _promise(len(set(ids)) == len(ids), "a hypothesis is proposed twice", "propose each once")
    _promise(
        [h.id for h in search.propose(ledger)] == ids,
        "the same ledger gives other proposals",
        "let everything random follow from a seed, or a resumed run will differ",
    )
    return proposed


def check_encoder(
    encoder: TextEncoder, texts: Sequence[str], images: Sequence[NDArray[np.uint8]] | None = None
) -> NDArray[np.float32]:
    """Check that vectors have length 1 and follow from their own text or picture alone.

    Of one that says (`dtype`) that it computes in half precision, up to what such numbers round to.

    Args:
        encoder: Yours.
        texts: At least two, of different lengths, so that padding shows.
        images: At least two, if it is an `Encoder` of pictures too.

    Returns:
        The vectors of the texts.
    """
    _promise(
        isinstance(encoder, TextEncoder),
        f"{encoder!r} has no method embed_texts",
        "see weakspot.core.ports.TextEncoder",
    )
    near = 0.02 if getattr(encoder, "dtype", "") in ("float16", "bfloat16") else 1e-4
    vectors = _check_vectors(encoder.embed_texts, texts, "embed_texts", near)
    if images is not None:
        if not isinstance(encoder, Encoder):
            raise ContractError(
                f"{encoder!r} has no method embed_images", fix="see weakspot.core.ports.Encoder"
            )
        width = _check_vectors(encoder.embed_images, images, "embed_images", near).shape[1]
        _promise(
            width == vectors.shape[1],
            f"pictures have vectors of {width} numbers, texts of {vectors.shape[1]}",
            "put both into one space",
        )
    return vectors


def _check_vectors(
    embed: Callable[[Sequence[Any]], NDArray[np.float32]], items: Sequence[Any], method: str, near: float
) -> NDArray[np.float32]:
    vectors = embed(items)
    _promise(
        isinstance(vectors, np.ndarray) and vectors.dtype == np.float32,
        f"{method} gave {getattr(vectors, 'dtype', type(vectors).__name__)}",
        "give a numpy array of float32",
    )
    _promise(
        vectors.ndim == 2 and len(vectors) == len(items),
        f"{method} gave the shape {vectors.shape} for {len(items)}",
        "give one row for each, in order",
    )
    _promise(
        bool(np.isfinite(vectors).all()), f"{method} gave numbers that are not finite", "check the model"
    )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    _promise(
        bool(np.abs(lengths - 1).max() < 1e-3),
        f"{method} gave a vector of length {lengths[np.abs(lengths - 1).argmax()]:.3f}",
        "divide each row by its length",
    )
    _check_alike(
        f"{method}: a vector",
        vectors,
        {
            "in another order": embed(items[::-1])[::-1],
            "alone": np.concatenate([embed([item]) for item in items]),
        },
        near=near,
    )
    return vectors


def check_captioner(
    captioner: Captioner, images: Sequence[NDArray[np.uint8]], sentences: Sequence[str]
) -> NDArray[np.float64]:
    """Check that captions begin as told and that log-probabilities are such, by the chain rule too.

    Args:
        captioner: Yours.
        images: At least two.
        sentences: At least two, of different lengths, that could follow each other.

    Returns:
        The log-probabilities of the sentences.
    """
    _promise(
        isinstance(captioner, Captioner),
        f"{captioner!r} has no methods captions and log_probabilities",
        "see weakspot.core.ports.Captioner",
    )
    images, sentences = list(images), list(sentences)
    one, two = sentences[:2]
    for prefix in ("", one):
        texts = captioner.captions(images, prefix=prefix)
        _promise(
            isinstance(texts, list) and len(texts) == len(images) and all(isinstance(t, str) for t in texts),
            f"captions gave {_size(texts)} texts for {len(images)} pictures",
            "give a list with one text per picture, in order",
        )
        _promise(
            all(text.startswith(prefix) for text in texts),
            f"a caption does not begin with {prefix!r}",
            "the prefix is part of the caption",
        )
        _promise(
            captioner.captions(images[::-1], prefix=prefix)[::-1] == texts,
            "a caption differs in another order",
            "let it follow from its picture and the prefix alone",
        )

    def table(
        some: Sequence[NDArray[np.uint8]], said: Sequence[str], prefix: str = ""
    ) -> NDArray[np.float64]:
        scores = captioner.log_probabilities(some, said, prefix=prefix)
        _promise(
            isinstance(scores, np.ndarray) and scores.shape == (len(some), len(said)),
            f"log_probabilities gave the shape {getattr(scores, 'shape', None)}",
            f"give one row per picture and one column per sentence: {(len(some), len(said))}",
        )
        _promise(scores.dtype == np.float64, f"log_probabilities gave {scores.dtype}", "give float64")
        _promise(
            bool(np.isfinite(scores).all()), "a log-probability is not finite", "sum log-softmax, not logs"
        )
        _promise(
            bool((scores <= 1e-6).all()),
            f"a log-probability is {scores.max():.3f}",
            "give the log of a probability, at most 0",
        )
        return scores

    scores = table(images, sentences)
    _check_alike(
        "a log-probability",
        scores,
        {
            "with the pictures in another order": table(images[::-1], sentences)[::-1],
            "with the sentences in another order": table(images, sentences[::-1])[:, ::-1],
            "alone": np.stack([[table([i], [s])[0, 0] for s in sentences] for i in images]),
        },
    )
    joined = table(images, [f"{one} {two}"])[:, 0]
    _promise(
        np.allclose(joined, scores[:, 0] + table(images, [two], one)[:, 0], rtol=1e-4, atol=1e-4),
        "log P(a b) is not log P(a) + log P(b after a)",
        "score the sentence's own tokens, given the picture and the prefix; leave out the end of the text",
    )
    return scores


def _check_alike(
    what: str, values: NDArray[Any], others: dict[str, NDArray[Any]], *, near: float = 1e-4
) -> None:
    for how, other in others.items():
        _promise(
            values.shape == other.shape and np.allclose(values, other, rtol=near, atol=near),
            f"{what} differs {how}",
            "put the model in evaluation mode, and mask the padding",
        )


def check_generator(
    generator: Generator, prompts: Sequence[str] = ("a photo of a fly.", "a photo of a bee on a flower.")
) -> list[NDArray[np.uint8]]:
    """Check that a picture follows from its prompt and seed alone, to the last bit, and from both.

    Args:
        generator: Yours.
        prompts: At least two, of different lengths, so that padding shows. Each is drawn with the same two
            seeds.

    Returns:
        The pictures, two for each prompt.
    """
    _promise(
        isinstance(generator, Generator),
        f"{generator!r} has no method generate",
        "see weakspot.core.ports.Generator",
    )
    words = [prompt for prompt in prompts for _ in range(2)]
    seeds = [0, (1 << 62) + 1] * len(prompts)  # a case's seed has 63 bits; some use the lower 32
    pictures = generator.generate(words, seeds)
    _promise(
        isinstance(pictures, list) and len(pictures) == len(words),
        f"generate gave {_size(pictures)} pictures for {len(words)} prompts",
        "give a list with one picture per prompt, in order",
    )
    for picture in pictures:
        _promise(
            isinstance(picture, np.ndarray)
            and picture.dtype == np.uint8
            and picture.ndim == 3
            and picture.shape[2] == 3,
            f"generate gave {getattr(picture, 'dtype', type(picture).__name__)} {np.shape(picture)}",
            "give RGB arrays of uint8, height × width × 3",
        )
    _promise(generator.generate([], []) == [], "no prompts gave pictures", "give [] for them")
    again = generator.generate(words, seeds)
    backwards = generator.generate(words[::-1], seeds[::-1])[::-1]
    alone = [generator.generate([word], [seed])[0] for word, seed in zip(words, seeds, strict=True)]
    for how, others in (("a second time", again), ("in another order", backwards), ("alone", alone)):
        for word, picture, other in zip(words, pictures, others, strict=True):
            _promise(
                _same(picture, other),
                f"the picture of {word!r} differs when drawn {how}",
                "let everything random follow from the seed, and give the network batches of one shape",
            )
    for word, one, other in zip(words[::2], pictures[::2], pictures[1::2], strict=True):
        _promise(
            not _same(one, other),
            f"two seeds give the same picture of {word!r}",
            "let the noise follow the seed",
        )
    drawn = list(dict(zip(words[::2], pictures[::2], strict=True)).items())
    for at, (word, one) in enumerate(drawn):
        for before, other in drawn[:at]:
            _promise(
                not _same(one, other),
                f"{before!r} and {word!r} give the same picture with the same seed",
                "let the picture follow the words; check the tokenizer and its vocabulary",
            )
    return pictures


def _promise(kept: bool, what: str, fix: str) -> None:
    if not kept:
        raise ContractError(what, fix=fix)


def _size(value: Any) -> str:
    return str(len(value)) if isinstance(value, Sequence) else f"a {type(value).__name__}, not a list of"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)
