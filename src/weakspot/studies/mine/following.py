"""What follows when the failures are known: the paper's three measures, pictures, downstream."""

from __future__ import annotations

from typing import Any, Final, cast

from weakspot.core import Encoder, Stage
from weakspot.store import Run
from weakspot.studies.mine.pairs_made import pair_of
from weakspot.studies.mine.parts import MineSettings, Parts, Progress
from weakspot.studies.mine.steer import relevant, share

#: New pairs of a finding whose relevance is judged, and pairs of a finding that are drawn.
JUDGED: Final = 41
DRAWN: Final = 12


def after(run: Run, settings: MineSettings, parts: Parts, progress: Progress) -> None:
    """Measure and keep what the settings ask for beyond the findings."""
    ledger = run.ledger
    ledger.set_fact("measures", measures(run, settings, parts, progress))
    if settings.images is not None and ledger.fact("grounded") is None:
        ledger.set_fact("grounded", with_pictures(settings, parts, progress))
    if settings.downstream is not None and ledger.fact("downstream") is None:
        ledger.set_fact("downstream", drawn(run, settings, parts, progress))


def measures(run: Run, settings: MineSettings, parts: Parts, progress: Progress) -> dict[str, Any]:
    """Quantity, success and relevance.

    Quantity is how many systematic failures are confirmed; success the share of their new pairs that is
    alike (and differs), the mean over failures; relevance the share of new pairs that matter for the topic.
    """
    confirmed = [finding for finding in run.findings if finding.confirmed]
    rates = [finding.rate.value for finding in confirmed]
    told: dict[str, Any] = {
        "quantity": len(confirmed),
        "success": sum(rates) / len(rates) if rates else None,
        "relevance": None,
        "by": None,
        "each": {},
    }
    if settings.steer and confirmed:
        said: list[bool | None] = []
        for finding in confirmed:
            trials = run.ledger.trials(finding.hypothesis, stage=Stage.CONFIRM)
            pairs = [(made.first, made.second) for made in map(pair_of, trials[:JUDGED])]
            own = relevant(pairs, settings.steer, parts, progress)
            told["each"][finding.hypothesis.id] = share(own)._asdict()
            said += own
        told["relevance"] = share(said)._asdict()
        told["by"] = settings.llm or "likeness to the topic, by the reference"
    return told


def with_pictures(settings: MineSettings, parts: Parts, progress: Progress) -> dict[str, Any]:
    """The check with pictures: see `weakspot.studies.mine.grounded`."""
    from weakspot.sources.captioned import read_captioned
    from weakspot.studies.mine.grounded import grounded

    found = grounded(
        cast("Encoder", parts.encoder),
        read_captioned(str(settings.images)),
        seed=settings.seed,
        judge=parts.validity,
        fdr=settings.fdr,
        cache=parts.cache,
        progress=progress,
    )
    return found.to_json()


def drawn(run: Run, settings: MineSettings, parts: Parts, progress: Progress) -> dict[str, Any]:
    """What a text-to-image source makes of failing pairs: see `weakspot.studies.mine.downstream`."""
    from weakspot.studies.mine.downstream import downstream, matcher

    pairs = []
    for finding in run.findings:
        trials = (run.ledger.trial(finding.hypothesis, index) for index in finding.failing[:DRAWN])
        pairs += [
            (made.first, made.second) for made in map(pair_of, filter(None, trials)) if finding.confirmed
        ]
    if not pairs or parts.draws is None:
        return {"pairs": [], "failures": 0, "n": 0}
    others = parts.corpus.texts[:500]
    found = downstream(
        pairs,
        parts.draws,
        matcher(parts.matches, others=others),
        seed=settings.seed,
        folder=run.folder / "downstream",
        progress=progress,
    )
    return found.to_json()
