"""Checks for the models that sources and studies are made with: encoders, captioners, generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.checks.ports import ContractError, check_abilities, check_list, has_method, kind, promise, same
from weakspot.core import Captioner, Encoder, Generator, ScoringCaptioner, TextEncoder
from weakspot.core.abilities import Formatted, Repeating
from weakspot.core.ports import NoiseGenerator, understands


def check_encoder(
    encoder: TextEncoder, texts: Sequence[str], images: Sequence[NDArray[np.uint8]] | None = None
) -> NDArray[np.float32]:
    """Check that vectors have length 1 and follow from their own text or picture alone.

    Of one that says (`dtype`) that it computes in half precision, up to what such numbers round to.

    Args:
        texts: At least two, of different lengths, so that padding shows.
        images: At least two, if it is an `Encoder` of pictures too.
    """
    has_method(encoder, TextEncoder, "embed_texts")
    halves = isinstance(encoder, Formatted) and encoder.dtype in ("float16", "bfloat16")
    near = 0.02 if halves else 1e-4
    vectors = _check_vectors(encoder.embed_texts, texts, "embed_texts", near)
    if images is not None:
        if not isinstance(encoder, Encoder):
            raise ContractError(
                f"{encoder!r} has no method embed_images", fix="see weakspot.core.ports.Encoder"
            )
        width = _check_vectors(encoder.embed_images, images, "embed_images", near).shape[1]
        promise(
            width == vectors.shape[1],
            f"pictures have vectors of {width} numbers, texts of {vectors.shape[1]}",
            "put both into one space",
        )
    check_abilities(encoder)
    return vectors


def _check_vectors(
    embed: Callable[[Sequence[Any]], NDArray[np.float32]], items: Sequence[Any], method: str, near: float
) -> NDArray[np.float32]:
    vectors = embed(items)
    promise(
        isinstance(vectors, np.ndarray) and vectors.dtype == np.float32,
        f"{method} returned {kind(vectors)}",
        "return a numpy array of float32",
    )
    promise(
        vectors.ndim == 2 and len(vectors) == len(items),
        f"{method} returned the shape {vectors.shape} for {len(items)}",
        "return one row for each, in order",
    )
    promise(
        bool(np.isfinite(vectors).all()), f"{method} returned numbers that are not finite", "check the model"
    )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    promise(
        bool(np.abs(lengths - 1).max() < 1e-3),
        f"{method} returned a vector of length {lengths[np.abs(lengths - 1).argmax()]:.3f}",
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
) -> NDArray[np.float64] | None:
    """Check that captions begin as asked, and that log-probabilities are such, by the chain rule too.

    Args:
        images: At least two.
        sentences: At least two, of different lengths, that could follow each other.

    Returns:
        The log-probabilities of the sentences; None if the captioner is no `ScoringCaptioner`.
    """
    has_method(captioner, Captioner, "captions")
    images, sentences = list(images), list(sentences)
    for prefix in ("", sentences[0]):
        texts = captioner.captions(images, prefix=prefix)
        check_list(texts, len(images), "captions returned {} texts for {} pictures", "text per picture", str)
        promise(
            all(text.startswith(prefix) for text in texts),
            f"a caption does not begin with {prefix!r}",
            "the prefix is part of the caption",
        )
        promise(
            captioner.captions(images[::-1], prefix=prefix)[::-1] == texts,
            "a caption differs in another order",
            "let it follow from its picture and the prefix alone",
        )

    check_abilities(captioner)
    return _check_scoring(captioner, images, sentences) if isinstance(captioner, ScoringCaptioner) else None


def _check_scoring(
    captioner: ScoringCaptioner, images: Sequence[NDArray[np.uint8]], sentences: Sequence[str]
) -> NDArray[np.float64]:
    one, two = sentences[:2]

    def table(
        some: Sequence[NDArray[np.uint8]], said: Sequence[str], prefix: str = ""
    ) -> NDArray[np.float64]:
        scores = captioner.log_probabilities(some, said, prefix=prefix)
        promise(
            isinstance(scores, np.ndarray) and scores.shape == (len(some), len(said)),
            f"log_probabilities returned the shape {np.shape(scores)}",
            f"return one row per picture and one column per sentence: {(len(some), len(said))}",
        )
        promise(scores.dtype == np.float64, f"log_probabilities returned {scores.dtype}", "return float64")
        promise(
            bool(np.isfinite(scores).all()), "a log-probability is not finite", "sum log-softmax, not logs"
        )
        promise(
            bool((scores <= 1e-6).all()),
            f"a log-probability is {scores.max():.3f}",
            "return the log of a probability, at most 0",
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
    promise(
        np.allclose(joined, scores[:, 0] + table(images, [two], one)[:, 0], rtol=1e-4, atol=1e-4),
        "log P(a b) is not log P(a) + log P(b after a)",
        "score the sentence's own tokens, given the picture and the prefix; leave out the end of the text",
    )
    return scores


def _check_alike(
    what: str, values: NDArray[Any], others: dict[str, NDArray[Any]], *, near: float = 1e-4
) -> None:
    for how, other in others.items():
        promise(
            values.shape == other.shape and np.allclose(values, other, rtol=near, atol=near),
            f"{what} differs {how}",
            "put the model in evaluation mode, and mask the padding",
        )


def check_generator(
    generator: Generator, prompts: Sequence[str] = ("a photo of a fly.", "a photo of a bee on a flower.")
) -> list[NDArray[np.uint8]]:
    """Check that a picture follows from its prompt and seed alone, to the last bit, and from both.

    Args:
        prompts: At least two, of different lengths, so that padding shows. Each is drawn with the same two
            seeds.
    """
    has_method(generator, Generator, "generate")
    words = [prompt for prompt in prompts for _ in range(2)]
    seeds = [0, (1 << 62) + 1] * len(prompts)  # a case's seed has 63 bits; some use the lower 32
    pictures = generator.generate(words, seeds)
    check_list(pictures, len(words), "generate returned {} pictures for {} prompts", "picture per prompt")
    for picture in pictures:
        promise(
            isinstance(picture, np.ndarray)
            and picture.dtype == np.uint8
            and picture.ndim == 3
            and picture.shape[2] == 3,
            f"generate returned {kind(picture)} {np.shape(picture)}",
            "return RGB arrays of uint8, height × width × 3",
        )
    promise(generator.generate([], []) == [], "an empty list of prompts gave pictures", "return [] for it")
    again = generator.generate(words, seeds)
    backwards = generator.generate(words[::-1], seeds[::-1])[::-1]
    alone = [generator.generate([word], [seed])[0] for word, seed in zip(words, seeds, strict=True)]
    for how, others in (("a second time", again), ("in another order", backwards), ("alone", alone)):
        for word, picture, other in zip(words, pictures, others, strict=True):
            promise(
                same(picture, other),
                f"the picture of {word!r} differs when drawn {how}",
                "let everything random follow from the seed, and give the network batches of one shape",
            )
    for word, one, other in zip(words[::2], pictures[::2], pictures[1::2], strict=True):
        promise(
            not same(one, other),
            f"two seeds give the same picture of {word!r}",
            "let the noise follow the seed",
        )
    by_word = list(dict(zip(words[::2], pictures[::2], strict=True)).items())
    for at, (word, one) in enumerate(by_word):
        for before, other in by_word[:at]:
            promise(
                not same(one, other),
                f"{before!r} and {word!r} give the same picture with the same seed",
                "let the picture follow the words; check the tokenizer and its vocabulary",
            )
    check_abilities(generator)
    for word in prompts:
        promise(
            understands(generator, word),
            f"understands says no to {word!r}, which was drawn",
            "say yes to all that generate accepts",
        )
    if isinstance(generator, Repeating):
        promise(generator.repeats, "repeats says False of a generator that repeats its pictures", "say True")
    if isinstance(generator, NoiseGenerator):
        noise = np.random.default_rng(0).standard_normal((2, *generator.noise_shape)).astype(np.float32)
        drawn = [generator.generate_from([prompts[0]] * 2, noise) for _ in range(2)]
        promise(
            all(map(same, *drawn)) and not same(*drawn[0]),
            "generate_from does not follow its noise",
            "the same prompt and noise give the same picture, other noise another one",
        )
    return pictures
