"""`world:captioner`: says what is in a picture of the world, and how likely a sentence is.

It was trained by `training/captioner.py`. A text is [beginning] words [end]. The picture becomes a memory
once; the words are read one after the other against it, and what was computed for the words before (`past`)
is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.onnx.graph import Graph, OfGraphs
from weakspot.models.pictures import planes
from weakspot.world import shipped
from weakspot.world.grammar import complete, parse
from weakspot.world.scene import Scene
from weakspot.world.words import Words

Picture = NDArray[np.uint8]
#: What the image tower knows of pictures, or the words of those before them.
Memory = NDArray[np.float32]
#: Height and width of the pictures; pictures of another size are resized.
SIZE: Final = (64, 64)
#: Tokens of the longest text, its beginning and end included.
LENGTH: Final = 112
FILES: Final = ("captioner-image.onnx", "captioner-words.onnx", "words.json")
#: Pictures whose sentences are scored together. Few, because each sentence needs a copy of the memory.
_TOGETHER: Final = 16

#: By so much it overrates the end of a caption (nats; from 3,500 pictures that nothing else is measured on).
TOO_SOON: Final = 1.0


class WorldCaptioner(OfGraphs):
    """Speaks of pictures, and scores what others say of them; on the CPU with the same numbers everywhere."""

    def __init__(self, *, device: str = "cpu") -> None:
        image, words, tokens = map(shipped.file, FILES)
        self._tokens = Words.load(tokens)
        self._image, self._words = Graph(image, device=device), Graph(words, device=device, batch=128)
        state = (None, None, 2, None, None, None)
        self._image.expect({"image": (None, 3, *SIZE)}, {"memory": state}, fix=shipped.FIX)
        given = {"tokens": (None, None), "past": state, "memory": state}
        said = {"logits": (None, None, len(self._tokens.tokens)), "present": state}
        self._words.expect(given, said, fix=shipped.FIX)
        self.digest = shipped.joint_digest(*FILES)
        self._made_of("world:captioner", self._image, self._words)

    def shows(self, images: Sequence[Picture], texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each picture, as its caption tells it, is one that its text allows."""
        told = [_read(caption) for caption in self.captions(images)]
        pairs = zip(told, texts, strict=True)
        return np.array([scene is not None and parse(text).matches(scene) for scene, text in pairs], np.bool_)

    # -- saying -------------------------------------------------------------------------------------

    def captions(self, images: Sequence[Picture], *, prefix: str = "") -> list[str]:
        """See `Captioner`: the most likely next word, again and again, to the end or to `LENGTH` tokens."""
        begun = self._begun(prefix)
        shown = len(self._tokens.decode(begun))
        return [
            prefix.rstrip() + self._tokens.decode(ids)[shown:]
            for _, memory in self._memories(images, self._words.batch)
            for ids in self._say(memory, begun)
        ]

    def _say(self, memory: Memory, begun: list[int]) -> list[list[int]]:
        """The tokens of texts about the pictures with these memories."""
        said = [list(begun) for _ in memory]
        live = np.arange(len(memory))
        tokens, past = np.tile(np.array(begun, np.int64), (len(memory), 1)), _nothing(memory)
        words = self._tokens
        while len(live) and len(said[live[0]]) < LENGTH:
            logits, past = self._run(tokens, past, memory, "logits", "present")
            last = logits[:, -1].astype(np.float64)
            last[:, [words.pad, words.bos, words.unknown]] = -np.inf  # no words, so never said
            last[:, words.eos] -= TOO_SOON
            chosen = last.argmax(1)
            for row, token in zip(live, chosen, strict=True):
                said[row].append(int(token))
            on = chosen != words.eos
            live, tokens = live[on], chosen[on, None]
            past, memory = past[on], memory[on]
        return said

    # -- scoring ------------------------------------------------------------------------------------

    def log_probabilities(
        self, images: Sequence[Picture], sentences: Sequence[str], *, prefix: str = "", end: bool = False
    ) -> NDArray[np.float64]:
        """See `Captioner`. With `end` the text must end there, or else it may go on."""
        *before, last = self._begun(prefix)
        wanted = [self._tokens.encode(s) + ([self._tokens.eos] if end else []) for s in sentences]
        for sentence, ids in zip(sentences, wanted, strict=True):
            if len(before) + len(ids) > LENGTH:
                raise WeakspotError(
                    f"{sentence[:60]!r} has {len(ids)} tokens, after {len(before)} of the prefix",
                    fix=f"prefix and sentence may have {LENGTH} together",
                )
        order = sorted((i for i, ids in enumerate(wanted) if ids), key=lambda i: len(wanted[i]))
        table = np.zeros((len(images), len(sentences)))
        for first, memory in self._memories(images, _TOGETHER):
            past = _nothing(memory)
            if before:
                tokens = np.tile(np.array(before, np.int64), (len(memory), 1))
                [past] = self._run(tokens, past, memory, "present")
            step = max(1, self._words.batch // len(memory))
            for start in range(0, len(order), step):
                some = order[start : start + step]
                scores = self._score(memory, past, last, [wanted[i] for i in some])
                table[first : first + len(memory), some] = scores
        return table

    def _score(self, memory: Memory, past: Memory, last: int, wanted: list[list[int]]) -> NDArray[np.float64]:
        """log P(wanted | memory, past, last) for every memory (rows) and every row of tokens (columns)."""
        longest = max(map(len, wanted))
        ids = np.full((len(wanted), longest), self._tokens.pad, np.int64)
        for row, tokens in zip(ids, wanted, strict=True):
            row[: len(tokens)] = tokens
        there = np.arange(longest) < np.array([[len(tokens)] for tokens in wanted])
        # Each word is predicted from those before it. Padding comes last, so nothing that counts sees it.
        given = np.concatenate([np.full((len(wanted), 1), last), ids[:, :-1]], axis=1)
        logits = self._run(
            np.tile(given, (len(memory), 1)),
            np.repeat(past, len(wanted), axis=0),
            np.repeat(memory, len(wanted), axis=0),
            "logits",
        )[0].astype(np.float64)
        logits -= logits.max(-1, keepdims=True)
        chosen = np.take_along_axis(logits, np.tile(ids, (len(memory), 1))[..., None], axis=-1)[..., 0]
        each = (chosen - np.log(np.exp(logits).sum(-1))).reshape(len(memory), *ids.shape)
        return np.asarray(np.where(there, each, 0.0).sum(-1))

    # -- both ---------------------------------------------------------------------------------------

    def _begun(self, prefix: str) -> list[int]:
        """The tokens every text begins with."""
        begun = [self._tokens.bos, *self._tokens.encode(prefix)]
        if len(begun) >= LENGTH:
            raise WeakspotError(
                f"the prefix has {len(begun)} tokens: {prefix[:60]!r}…", fix=f"use fewer than {LENGTH}"
            )
        return begun

    def _memories(self, images: Sequence[Picture], together: int) -> Iterator[tuple[int, Memory]]:
        """Memories of some pictures at a time, with the number of the first."""
        first = 0
        for part in planes(images, SIZE, batch=together):
            if len(part):
                yield first, self._image.run({"image": part}, ["memory"])[0]
                first += len(part)

    def _run(
        self, tokens: NDArray[np.int64], past: Memory, memory: Memory, *outputs: str
    ) -> list[NDArray[Any]]:
        values = self._words.run({"tokens": tokens, "past": past, "memory": memory}, outputs)
        if not all(np.isfinite(value).all() for value in values):
            raise WeakspotError("the captioner gave numbers that are not finite", fix=shipped.FIX)
        return values


def _nothing(memory: Memory) -> Memory:
    """The past before the first word: that of a memory, with no place in it."""
    return np.zeros((*memory.shape[:4], 0, memory.shape[5]), np.float32)


def _read(caption: str) -> Scene | None:
    try:
        return complete(parse(caption))
    except WeakspotError:
        return None
