"""What an encoder cannot tell with the picture before it: is the picture nearer its caption than a foil?

A foil is the caption with one thing exchanged (`weakspot.text.contrast`). Captions of one picture are one
cluster. Three claims are made over all kinds, each with its own control of the false-discovery rate:

- above chance: the share is above 50 %.
- blind: it is below `BLIND` and not known to be above 50 %: no use, and not for want of cases.
- worse: it is below that of the easy control, the caption of another picture, on the same cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Encoder, WeakspotError
from weakspot.judges.differs.judge import DiffersJudge
from weakspot.sources.captioned import Captioned
from weakspot.stats import adjusted_bh
from weakspot.stats.clustered import clustered_rate
from weakspot.studies.mine.embeddings import embed_texts
from weakspot.studies.mine.pair_rule import Vectors
from weakspot.studies.mine.parts import Progress
from weakspot.studies.mine.result import Grounded, GroundedRow, LeftOutFile, Miss, Sight, TooFew
from weakspot.study.options import check_seed
from weakspot.text.changes import key
from weakspot.text.contrast import Foils, chosen_foils, foils

BLIND: Final = 0.6  # below this share a picture says next to nothing
LEVEL: Final = 0.95  # of the intervals
LIMIT: Final = 1000  # captions of one kind that are tried at most
LEAST: Final = 20  # a kind with fewer pairs is not judged
OTHERS: Final = 256  # other pictures that a pair is held against, to learn what its words alone are worth
TIE: Final = 1e-6  # cosines nearer than this are a tie, which counts half
SHOWN: Final = 8  # failures of a kind that are kept to be shown


def grounded(
    encoder: Encoder,
    captioned: Captioned,
    *,
    categories: Iterable[str] | None = None,
    seed: int = 0,
    limit: int = LIMIT,
    least: int = LEAST,
    judge: DiffersJudge | None = None,
    fdr: float = 0.05,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Grounded:
    """Hold captions against their pictures, and their foils, without those that the judge says mean the same.

    Categories may be kinds of change, too; of one kind `limit` captions are taken at most, and kinds with
    fewer than `least` pairs are named but not judged. `fdr` is the false-discovery rate of each claim.
    """
    kinds = chosen_foils(categories)
    check_seed(seed)
    tell = progress or (lambda *_: None)
    rows = captioned.rows(encoder, cache=cache, progress=lambda *n: tell("pictures", *n))
    said = [captioned.captions[i] for i in rows.places]
    names = [captioned.names[i] for i in rows.places]
    if len(said) < 2:
        raise WeakspotError("one picture cannot be held against others", fix="give at least two")

    tried, refused = _tried(said, kinds, seed=seed, limit=limit, judge=judge, tell=tell)
    if not any(tried.values()):
        raise WeakspotError(
            f"none of {len(kinds)} changes applies to any of the captions",
            fix="captions must be English sentences; ask for other categories",
        )
    texts = list(dict.fromkeys(t for trials in tried.values() for trial in trials for t in trial[1:]))
    vectors = embed_texts(encoder, texts, cache=cache, progress=lambda *n: tell("captions", *n))
    if vectors.shape[1] != rows.vectors.shape[1]:
        raise WeakspotError(
            f"the text tower gives {vectors.shape[1]} numbers, the image tower {rows.vectors.shape[1]}",
            fix="the two towers must belong to one encoder",
        )
    at = {text: i for i, text in enumerate(texts)}
    measured = [
        _measure(kind, tried[kind.name], rows.vectors, vectors, at, names=names, seed=seed)
        for kind in kinds
        if len(tried[kind.name]) >= least
    ]
    every = list({(t.image, t.caption): t for trials in tried.values() for t in trials}.values())
    own, said_of, easy = np.array([(t.image, at[t.caption], at[t.easy]) for t in every]).T
    gaps = (vectors[said_of] - vectors[easy]).astype(np.float64)
    return Grounded(
        rows=tuple(sorted(_claims(measured, fdr=fdr), key=lambda row: (row.rate, row.name))),
        too_few=tuple(
            TooFew(name=name, pairs=len(some)) for name, some in tried.items() if len(some) < least
        ),
        control=clustered_rate(_nearer(_products(rows.vectors[own].astype(np.float64), gaps)), own),
        images=len(said),
        captions=sum(map(len, said)),
        refused=refused,
        skipped=tuple(LeftOutFile(file=s.name, why=s.reason) for s in (*captioned.skipped, *rows.skipped)),
        seed=seed,
        fdr=fdr,
        level=LEVEL,
        blind=BLIND,
    )


class _Trial(NamedTuple):
    """A picture, its caption, a foil, and the caption of another picture."""

    image: int
    caption: str
    foil: str
    easy: str


def _tried(
    said: Sequence[Sequence[str]],
    kinds: Sequence[Foils],
    *,
    seed: int,
    limit: int,
    judge: DiffersJudge | None,
    tell: Progress,
) -> tuple[dict[str, list[_Trial]], int]:
    """One foil a caption and kind. A foil that is another caption of the picture is true, and none."""
    captions = [(image, caption) for image, some in enumerate(said) for caption in some]
    true = [{key(caption) for caption in some} for some in said]
    Random(f"{seed} captions").shuffle(captions)  # noqa: S311
    found: dict[str, list[_Trial]] = {}
    refused = 0
    for done, kind in enumerate(kinds):
        tell(f"foils: {kind.name}", done, len(kinds))
        trials: list[_Trial] = []
        for image, caption in captions:
            if len(trials) >= limit:
                break
            new = [foil for foil in foils(caption, kind) if key(foil) not in true[image]]
            if new:
                rng = Random(f"{seed} {kind.name} {caption}")  # noqa: S311
                other = (image + 1 + rng.randrange(len(said) - 1)) % len(said)
                trials.append(_Trial(image, caption, rng.choice(new), rng.choice(said[other])))
        if judge is not None and trials:
            verdicts = judge.differ([(t.caption, t.foil) for t in trials])
            refused += sum(v is False for v in verdicts)
            trials = [t for t, verdict in zip(trials, verdicts, strict=True) if verdict is not False]
        found[kind.name] = trials
    tell("foils", len(kinds), len(kinds))
    return found, refused


def _nearer(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 if a picture is nearer the caption, 0 if nearer the foil, ½ if neither."""
    return np.where(np.abs(margins) <= TIE, 0.5, (margins > 0).astype(np.float64))


def _products(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->i", one, other))


def _measure(
    kind: Foils,
    trials: Sequence[_Trial],
    images: Vectors,
    texts: Vectors,
    at: dict[str, int],
    *,
    names: Sequence[str],
    seed: int,
) -> GroundedRow:
    """A row with p-values that are not adjusted yet, and no claims."""
    own = np.array([t.image for t in trials])
    columns = [[at[text] for text in column] for column in zip(*(t[1:] for t in trials), strict=True)]
    captions, foil, easy = (np.asarray(texts[column], np.float64) for column in columns)
    pictures = np.asarray(images[own], np.float64)
    gaps = captions - foil
    margins = _products(pictures, gaps)
    scores, control = _nearer(margins), _nearer(_products(pictures, captions - easy))
    differ = scores != control
    # Where the two disagree, the control is right as often as not if the change is as easy.
    worse = clustered_rate((control[differ] - scores[differ] + 1) / 2, own[differ])
    rng = np.random.default_rng([seed, len(trials)])
    others = rng.permutation(len(images))[:OTHERS]
    nearer = _nearer(np.asarray(images[others], np.float64) @ gaps.T)
    nearer[others[:, None] == own[None]] = np.nan
    rate = clustered_rate(scores, own, LEVEL)
    widest = [(trials[i], float(margins[i])) for i in np.argsort(margins)[:SHOWN] if margins[i] < -TIE]
    return GroundedRow(
        name=kind.name,
        category=kind.category.value,
        rate=rate.rate,
        low=rate.low,
        high=rate.high,
        pairs=rate.n,
        images=rate.clusters,
        elsewhere=float(np.nansum(nearer) / max(np.isfinite(nearer).sum(), 1)),
        cosine=float(_products(captions, foil).mean()),
        control=float(control.mean()),
        p_above=rate.above(0.5),
        p_blind=rate.below(BLIND),
        p_worse=worse.above(0.5),
        sight=Sight.UNKNOWN,
        worse=False,
        failures=tuple(
            Miss(image=names[t.image], caption=t.caption, foil=t.foil, margin=margin) for t, margin in widest
        ),
    )


def _claims(measured: Sequence[GroundedRow], *, fdr: float) -> Iterator[GroundedRow]:
    """The rows with each claim, made over all kinds by Benjamini and Hochberg's procedure."""
    claims = ("p_above", "p_blind", "p_worse")
    adjusted = [adjusted_bh([getattr(row, claim) for row in measured]) for claim in claims]
    for row, *values in zip(measured, *adjusted, strict=True):
        above, blind, worse = (value <= fdr for value in values)
        sight = (Sight.FAINT if blind else Sight.ABOVE) if above else Sight.BLIND if blind else Sight.UNKNOWN
        found = dict(zip(claims, values, strict=True))
        yield row.model_copy(update={**found, "sight": sight, "worse": worse})
