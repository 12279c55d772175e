"""The job that a hunt leaves: its findings are drawn anew, and so are the labels they are mistaken for.

A classifier that learns from flies on flowers alone learns that a flower means a fly. So it is shown bees
on flowers as well, and all labels as they usually look; and the proof counts what became of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Classifier, Finding, Hypothesis, Source, Target, WeakspotError
from weakspot.core.ports import Relabelled, Selective, understands
from weakspot.judges import LabelJudge
from weakspot.sources.prompts import LabelWords, base_prompt
from weakspot.store import Run
from weakspot.studies.hunt.finished import FinishedHunt, load_judge, read_hunt, same_for
from weakspot.studies.hunt.parts import load
from weakspot.studies.hunt.photographs import COLLECTED
from weakspot.study.labels import ByLabel
from weakspot.study.loading import rooted
from weakspot.study.repairs import Job, RepairTask, Spot, chosen_of, derived, mixed

#: Pictures that are drawn to learn from: of the findings and what they are mistaken for; and as usual.
WEAK: Final = 2_400
#: Pictures that say how far the weights are moved: as usual; and of the findings, and of each label that they
#: are mistaken for, under the same words.
GUARDS, GUARDS_EACH = 2_000, 1_000
#: Labels that are drawn as they usually look, at most.
LABELS: Final = 24
#: Wrong answers of a finding that are drawn under its words.
CONFUSED: Final = 3
#: Wrong answers that are rarer than this are not.
RARE: Final = 0.05
#: Findings that are repaired where nobody chose.
TOP: Final = 3


def hunt_job(run: Run, settings: RepairTask, *, target: Target | None = None) -> Job:
    """The findings of a hunt; an error where there are none, or the target does not say its labels."""
    hunt = read_hunt(run)
    if any(finding.hypothesis.origin == COLLECTED for finding in hunt.findings):
        raise WeakspotError(
            "the hunt asked about every photograph of its folder, so none is left to train and to test on",
            fix="map the model on other labelled photographs (weakspot map MODEL --images FOLDER) "
            "and repair that run",
        )
    hunted = rooted(hunt.settings, settings.here, target=settings.target)
    count = len(hunt.findings)
    confirmed = [i for i, f in enumerate(hunt.findings, start=1) if f.confirmed]
    preferred = (confirmed or list(range(1, count + 1)))[:TOP] if settings.numbers is None else None
    numbers = chosen_of(settings, preferred, count, "finding")
    parts = load(hunted.changed(captioner=None, encoder=None, llm=None, from_images=None), target=target)
    model = parts.target
    if not isinstance(model, Classifier) or not model.labels:
        raise WeakspotError(
            f"{hunted.target[:200]} does not say what its labels are", fix="use one that does"
        )
    chosen = [hunt.findings[i - 1] for i in numbers]
    known = {hunt.label_of(f.hypothesis) for f in chosen}
    wrong = [
        label
        for f in chosen
        for label, share in f.confusions[:CONFUSED]
        if share >= RARE and label in model.labels
    ]
    labels = _some_labels(model.labels, [*known, *wrong], settings.seed)
    bases = {}
    for label in labels:
        words = parts.words.get(label) or LabelWords(label, model.parents.get(label, ""))
        text = base_prompt(words.words, words.parent, template=hunted.prompt)
        bases[label] = Hypothesis(text, origin="baseline")
    source = _source(parts.source, bases, known)
    understood = [label for label in labels if understands(source, bases[label].text)]
    others = _mistaken(chosen, hunt, bases, source, model.labels)
    if hunt.settings.target_label is None:
        judge = load_judge(hunt, model, same=same_for(hunt, model, sorted(known), None))
    else:
        judge = LabelJudge()
    spots = tuple(Spot(f.phrase, (f.hypothesis,), i) for f, i in zip(chosen, numbers, strict=True))
    clean = Spot("all labels as they usually look", tuple(bases[label] for label in understood))

    def drawn(hypotheses: Sequence[Hypothesis], n: int, what: str = "repair") -> list[Case]:
        each = max(1, n // max(len(hypotheses), 1))
        return mixed([source.draw(h, range(each), seed=derived(settings.seed, what)) for h in hypotheses])

    def weak() -> list[Case]:
        own = drawn([f.hypothesis for f in chosen], WEAK // 2)
        more = [h for spot in others for h in spot.hypotheses]
        return mixed([own, drawn(more, WEAK // 2)]) if others else own

    def lessons(labels: Sequence[str]) -> Any:
        from weakspot.tuning.lessons import DrawnLessons

        place = {label: i for i, label in enumerate(labels)}

        def rows(cases: Sequence[Case]) -> list[tuple[NDArray[np.uint8], int]]:
            return [(c.input, place[c.expected]) for c in cases if c.expected in place]

        shown = rows(weak())
        usual = rows(drawn(clean.hypotheses, len(shown)))
        kinds = [rows(drawn(spot.hypotheses, GUARDS_EACH, "guard")) for spot in others]
        own = rows(drawn([f.hypothesis for f in chosen], GUARDS_EACH if kinds else GUARDS, "guard"))
        beside = DrawnLessons(mixed([own, *kinds]), rows(drawn(clean.hypotheses, GUARDS, "guard")))
        return DrawnLessons(
            shown, usual, beside=beside, apart=[DrawnLessons([], kind) for kind in kinds if kind]
        )

    def samples(rate: float, seed: int) -> list[tuple[NDArray[np.uint8], str, str]]:
        del seed
        some = weak()
        usual = drawn(clean.hypotheses, round(len(some) * (1 - rate) / rate))
        return [(c.input, c.expected, c.hypothesis.text) for c in [*some, *usual]]

    return Job(
        target=model,
        name=hunted.target,
        judge=judge,
        chosen=spots,
        others=tuple(others),
        clean=clean,
        source=source,
        seed=derived(settings.seed, "verification"),
        lessons=lessons,
        samples=samples,
        counts={"repair": 2 * WEAK, "guard": GUARDS + (len(others) + 1) * GUARDS_EACH},
    )


def _some_labels(labels: Sequence[str], needed: Sequence[str], seed: int) -> list[str]:
    """Those that are needed, and others at random."""
    rng = np.random.default_rng([seed, 33])
    rest = [label for label in labels if label not in needed]
    more = rng.permutation(len(rest))[: max(0, LABELS - len(set(needed)))]
    chosen = {*needed, *(rest[i] for i in more)}
    return [label for label in labels if label in chosen]


def _source(source: Source, bases: dict[str, Hypothesis], known: set[str]) -> Source:
    """A source that knows what is expected of every label's pictures."""
    if isinstance(source, ByLabel):
        source = source.source
    if not isinstance(source, Selective | Relabelled) and len(bases) > len(known):
        raise WeakspotError(
            "the hunt's source draws one label only, and a model that learns from that forgets the others",
            fix="hunt with world:renderer or diffusers:…, or map the model on labelled pictures",
        )
    return ByLabel(source, list(bases.values()), list(bases))


def _mistaken(
    chosen: Sequence[Finding],
    hunt: FinishedHunt,
    bases: dict[str, Hypothesis],
    source: Source,
    labels: Sequence[str],
) -> list[Spot]:
    """What the findings are mistaken for, under the same words."""
    found: dict[str, Spot] = {}
    for finding in chosen:
        base = hunt.base_of(finding.hypothesis)
        rest = finding.hypothesis.beyond(base)
        for label, share in finding.confusions[:CONFUSED]:
            if share < RARE or label not in bases or label not in labels or rest == finding.hypothesis.text:
                continue
            other = Hypothesis(f"{bases[label].text} {rest}", origin="repair", parent=bases[label].id)
            if understands(source, other.text):
                found.setdefault(other.id, Spot(f"a {label}: {rest}", (other,)))
    return list(found.values())
