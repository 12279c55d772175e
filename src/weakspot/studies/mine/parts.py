"""What `mine` is made with: its settings, the corpus, the two encoders, the judge of differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import MODELS, SOURCES, Encoder, TextEncoder, WeakspotError
from weakspot.engine import Budget, Watch
from weakspot.engine.identity import digest_in
from weakspot.judges.similarity import Validity
from weakspot.sources.corpus import NOISE, Corpus, Text, gather, read_corpus, read_phrases
from weakspot.store import Run
from weakspot.studies.mine.embeddings import default_cache, embed_texts
from weakspot.study.loading import name_of, part
from weakspot.text.llm_answers import Asked

#: Told what is being done, how much is done, and of how much.
Progress = Callable[[str, int, int], None]
#: A text that no matrix of embeddings has.
UNHEARD: Final = "a text that was not there before, about nothing in particular"
#: Texts that are embedded before there is a run, so that an encoder that cannot do it is told at once.
_PROBE: Final = 16


class MineWatch(Watch):
    """A watch that is also told how far the embedding, the search and the making of pairs are."""

    def progress(self, words: str, done: int, total: int) -> None:
        """What is being done, how much is done, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MineSettings:
    """What is mined, and how; kept in run.yaml.

    Attributes:
        encoder: Name of the encoder under test.
        reference: Name of the other encoder, which tells apart what the first should.
        corpus: Name of the corpus; see `weakspot.sources.corpus`.
        texts: Distinct texts of the corpus at most; None for all.
        noise: A file of phrases whose texts are left out; None for the built-in list.
        pairs: Pairs in the mined list.
        threshold: Alike is above this; None calibrates it for the encoder.
        gap: With a threshold, by how much the reference must find a mined pair less alike.
        calibrate: Share of random pairs that are less alike than a candidate; None for 0.9999.
        validity: Name of the judge that says whether two texts differ; "none" takes all to differ, None is
            "world" for the world's corpus and "rules" for others.
        steer: A topic that failures should matter for.
        llm: Name of a language model, which names failures and writes pairs; None for none.
        passes: How often the language model reads the pairs.
        written: Pairs the language model is asked for, per failure and stage.
        images: A folder of captioned images for the check with pictures.
        downstream: Name of a text-to-image source that draws both texts of failing pairs.
        matcher: Name of the encoder that says which text a drawn picture shows; None: the world's captioner.
        budget: Limits; a measured pair is a call.
        seed: Everything random follows from it.
        fdr: Bound on the false-discovery rate.
    """

    encoder: str
    reference: str
    corpus: str
    texts: int | None = None
    noise: str | None = None
    pairs: int = 150
    threshold: float | None = None
    gap: float = 0.2
    calibrate: float | None = None
    validity: str | None = None
    steer: str = ""
    llm: str | None = None
    passes: int = 3
    written: int = 41
    images: str | None = None
    downstream: str | None = None
    matcher: str | None = None
    budget: str = "calls=20000"
    seed: int = 0
    fdr: float = 0.05

    @property
    def judged_by(self) -> str:
        """The name of the judge of differences."""
        own = "world" if self.corpus.partition("?")[0] == "world" else "rules"
        return own if self.validity is None else self.validity

    def to_yaml(self) -> dict[str, Any]:
        """As run.yaml has it."""
        return asdict(self)


def in_calls(budget: str) -> str:
    """A budget in which pairs are written as calls, as the engine counts them."""
    return ",".join(
        f"calls={amount[6:]}" if amount.startswith("pairs=") else amount for amount in budget.split(",")
    )


def check(settings: MineSettings) -> None:
    """Refuse settings that cannot be meant, before anything is loaded or written."""
    Budget.parse(settings.budget)
    for what, value, least, most in (
        ("pairs", settings.pairs, 1, 100_000),
        ("passes", settings.passes, 1, 100),
        ("written", settings.written, 8, 1000),
        ("texts", settings.texts or 2, 2, 10**9),
    ):
        if not least <= value <= most:
            raise WeakspotError(f"{what} cannot be {value}", fix=f"choose a number from {least} to {most}")
    for what, share, low in (
        ("fdr", settings.fdr, 0.0),
        ("threshold", settings.threshold, -1.0),
        ("calibrate", settings.calibrate, 0.5),
    ):
        if share is not None and not (math.isfinite(share) and low < share < 1):
            raise WeakspotError(
                f"{what} cannot be {share:g}", fix=f"choose a number between {low:g} and 1, e.g. 0.9"
            )
    if not (math.isfinite(settings.gap) and 0 <= settings.gap < 2):
        raise WeakspotError(
            f"the gap cannot be {settings.gap:g}", fix="choose a number from 0 to 2, e.g. 0.2"
        )
    if settings.threshold is not None and settings.calibrate is not None:
        raise WeakspotError("a fixed threshold is not calibrated", fix="give --threshold or --calibrate")
    if settings.matcher is not None and settings.matcher == settings.encoder:
        raise WeakspotError(
            "the encoder under test cannot say what pictures show", fix="name another encoder with --matcher"
        )
    if settings.downstream and settings.matcher is None and not settings.downstream.startswith("world:"):
        raise WeakspotError(
            "nobody says which text a drawn picture shows", fix="name an encoder: --matcher openclip:NAME"
        )
    if settings.encoder == settings.reference and not settings.encoder.startswith("object:"):
        raise _same(settings.encoder)


def settings_of(run: Run, *, budget: str | None = None) -> MineSettings:
    """The settings of a run as its run.yaml has them, with the budget it was last given."""
    given = dict(run.config.settings)
    wanted = {"encoder", "reference", "corpus"}
    wrong = [*(set(given) - {f.name for f in fields(MineSettings)}), *(wanted - set(given))]
    if wrong:
        raise WeakspotError(
            f"the settings in {run.folder / 'run.yaml'} do not fit mine: {wrong[0][:80]!r}",
            fix="restore the file from a copy",
        )
    latest = budget if budget is not None else run.ledger.fact("budget")
    settings = MineSettings(**(given | ({} if latest is None else {"budget": in_calls(str(latest))})))
    check(settings)
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run of `mine` is made with.

    Attributes:
        unheard: Why the encoder cannot embed new texts; "" if it can.
        draws: The text-to-image source, if pairs are to be drawn.
        matches: Says which text a drawn picture shows.
        digests: Of the encoders and the corpus.
    """

    corpus: Corpus
    encoder: TextEncoder
    reference: TextEncoder
    validity: Validity | None
    llm: Asked | None
    unheard: str
    digests: dict[str, str]
    draws: Any = None
    matches: Any = None
    cache: Path | None = None
    _rows: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def rows(self, which: str, progress: Progress) -> NDArray[np.float32]:
        """The corpus by "encoder" or "reference": one row of length 1 per text; computed once."""
        if which not in self._rows:
            encoder = self.encoder if which == "encoder" else self.reference
            words = f"embedding with the {which}"
            with _blamed(which):
                self._rows[which] = embed_texts(
                    encoder,
                    self.corpus.texts,
                    digest=self.corpus.digest,
                    cache=self.cache,
                    progress=lambda done, total: progress(words, done, total),
                )
        return self._rows[which]

    @property
    def fits(self) -> Callable[[str], bool] | None:
        """Whether a text is understood by the judge of differences; None if it understands any."""
        from weakspot.judges.differs.judge import SceneJudge

        judge = self.validity
        return (
            (lambda text: judge.differ([(text, text)])[0] is not None)
            if isinstance(judge, SceneJudge)
            else None
        )


class Bill:
    """Enters what a language model costs into the ledger, and holds it to the run's budget.

    Args:
        run: Open for writing.
        model: The language model; one that does not say what it spent is free.
        budget: Of the run: its dollars are the language model's.
    """

    def __init__(self, run: Run, model: Any, budget: Budget) -> None:
        self._ledger, self._spent = run.ledger, getattr(model, "spent", None)
        self._known = {"tokens": 0.0, "dollars": 0.0}
        if self._spent is not None:
            self._known = {kind: float(getattr(self._spent, kind)) for kind in self._known}
            left = budget["dollars"] - self._ledger.spend().get("dollars", 0.0) + self._known["dollars"]
            self._spent.max_dollars = min(self._spent.max_dollars, max(left, 0.0))

    def enter(self) -> None:
        """What was spent since the last time."""
        if self._spent is not None:
            now = {kind: float(getattr(self._spent, kind)) for kind in self._known}
            self._ledger.record([], {kind: now[kind] - self._known[kind] for kind in now})
            self._known = now


def load(
    settings: MineSettings,
    *,
    encoder: Any = None,
    reference: Any = None,
    corpus: Any = None,
    validity: Any = None,
    llm: Any = None,
    downstream: Any = None,
    matcher: Any = None,
    cache: Path | None = None,
) -> Parts:
    """Load what is named; what is given as an object is used as it is.

    Raises:
        WeakspotError: Something cannot be loaded, or the encoders do not fit the corpus or each other.
    """
    again = "go on from Python: weakspot.resume(folder, encoder=…, reference=…, corpus=…, validity=…, llm=…)"
    texts = read(settings, corpus, again)
    both = [
        part(
            given,
            name,
            MODELS,
            TextEncoder,
            without_name=again,
            wanted="name an encoder of texts, as st:NAME",
        )
        for given, name in ((encoder, settings.encoder), (reference, settings.reference))
    ]
    tested, other = both
    probe(tested, other, texts, names=(settings.encoder, settings.reference))
    if settings.images is not None:
        _see(tested, settings)
    digests = {"corpus": texts.digest}
    draws = matches = None
    if settings.downstream is not None:
        draws = part(downstream, settings.downstream, SOURCES, object, without_name=again)
        matches = _matcher(settings, matcher, again)
    asked = {"encoder": tested, "reference": other, "downstream": draws, "matcher": matches}
    for what, used in asked.items():
        if own := digest_in(used):
            digests[what] = own
    model = None
    if settings.llm is not None:
        model = part(llm, settings.llm, MODELS, Asked, without_name=again, wanted="name a chat model: chat:…")
    return Parts(
        corpus=texts,
        encoder=tested,
        reference=other,
        validity=_validity(settings, validity, again),
        llm=model,
        unheard=_unheard(tested),
        digests=digests,
        draws=draws,
        matches=matches,
        cache=default_cache() if cache is None else cache,
    )


def read(settings: MineSettings, given: Any, again: str) -> Corpus:
    """The corpus: named, the texts of a matrix (npz:…), a `Corpus`, or any texts."""
    from weakspot.models.recorded.vectors import Precomputed

    if isinstance(given, Corpus):
        return given
    if given is None or isinstance(given, str | Path):
        if settings.corpus.startswith("object:"):
            raise WeakspotError("this run was made with texts that have no name", fix=again)
        if settings.corpus.startswith("npz:"):
            matrix = part(None, settings.corpus, MODELS, Precomputed, wanted="name a matrix with its texts")
            texts = (Text(text) for text in matrix.texts)
            return gather(texts, name=settings.corpus, noise=_phrases(settings), limit=settings.texts)
        return read_corpus(settings.corpus, noise=settings.noise, limit=settings.texts)
    return gather((Text(str(text)) for text in given), name=settings.corpus, limit=settings.texts)


def _phrases(settings: MineSettings) -> list[str]:
    return read_phrases(NOISE if settings.noise is None else Path(settings.noise))


def probe(tested: TextEncoder, other: TextEncoder, corpus: Corpus, *, names: tuple[str, str]) -> None:
    """Refuse encoders that do not know the corpus, or that are one and the same."""
    from weakspot.models.recorded.vectors import Precomputed

    some = list(corpus.texts[:_PROBE])
    rows = []
    for name, encoder in zip(names, (tested, other), strict=True):
        with _blamed(name):
            if isinstance(encoder, Precomputed):  # a look into a table: all texts at once
                encoder.embed_texts(corpus.texts)
            rows.append(embed_texts(encoder, some))
    one, two = rows
    if one.shape == two.shape and np.allclose(one @ one.T, two @ two.T, atol=1e-5):
        raise _same(names[0] if names[0] == names[1] else f"{names[0]} and {names[1]}")


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """An encoder may raise anything; whose mistake it is must be said."""
    try:
        yield
    except (WeakspotError, MemoryError):
        raise
    except Exception as error:  # of the encoder's library
        raise WeakspotError(
            f"{name[:200]} cannot embed the texts: {type(error).__name__}: {error}",
            fix="mend the encoder; --debug shows where",
        ) from error


def _same(name: str) -> WeakspotError:
    return WeakspotError(
        f"{name[:300]}: encoder and reference embed alike, so nothing could differ between them",
        fix="name another reference, such as a sentence encoder: --reference st:all-mpnet-base-v2",
    )


def _see(tested: TextEncoder, settings: MineSettings) -> None:
    """Refuse an encoder without an image tower, or a folder without captions."""
    from weakspot.sources.captioned import read_captioned

    if not isinstance(tested, Encoder):
        raise WeakspotError(
            f"{settings.encoder[:200]} embeds texts alone, so it cannot be checked with pictures",
            fix="name an encoder of pictures and texts, or leave out --images",
        )
    read_captioned(str(settings.images))


def _matcher(settings: MineSettings, given: Any, again: str) -> Any:
    name = settings.matcher or "world:captioner"
    return part(given, name, MODELS, object, without_name=again)


def _unheard(encoder: TextEncoder) -> str:
    try:
        embed_texts(encoder, [UNHEARD])
    except WeakspotError as error:
        return "the encoder knows the texts of its matrix alone" if hasattr(encoder, "texts") else error.what
    return ""


def _validity(settings: MineSettings, given: Any, again: str) -> Validity | None:
    from weakspot.judges.differs.judge import differs

    if given is not None and not isinstance(given, str):
        if not isinstance(given, Validity):
            raise WeakspotError(f"{name_of(given)[:200]} cannot judge pairs", fix="it must have: differ")
        return given
    if settings.judged_by.startswith("object:"):
        raise WeakspotError("this run was made with a judge of differences that has no name", fix=again)
    return None if settings.judged_by == "none" else differs(settings.judged_by)


def texts_name(corpus: str | Path | Sequence[str] | Corpus) -> str:
    """The name of a corpus as run.yaml has it."""
    if isinstance(corpus, str | Path):
        return str(corpus)
    return f"object:{corpus.name}" if isinstance(corpus, Corpus) else f"object:{len(corpus)} texts"
