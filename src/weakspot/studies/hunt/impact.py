"""How much each finding matters, and in which order findings are read.

The impact of a finding is the share of the plain failures of which its words are true; what it adds to the
findings before it is its own part. The list is ordered by impact times excess, the rate above the usual; a
narrower finding stands under the broader one that it belongs to, and findings of one kind stand together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from weakspot.concepts.rules import Sentences, sentences_of
from weakspot.core import Finding, Hypothesis, Rate
from weakspot.stats import exceeds, wilson
from weakspot.studies.hunt.captions import Captions
from weakspot.studies.hunt.claims import said_by
from weakspot.studies.hunt.families import Member, families


def placed(
    findings: Sequence[Finding], captions: Captions, bases: Sequence[Hypothesis], order: str
) -> list[Finding]:
    """The findings with their impact, in the order in which they are read; those not confirmed come last."""
    failures = {base.id: _failures(captions, base) for base in bases}
    base_of = {
        finding.hypothesis.id: max(
            (base for base in bases if finding.hypothesis.text.startswith(base.text)),
            key=lambda base: len(base.text),
            default=bases[0],
        )
        for finding in findings
    }

    def words(finding: Finding) -> Sentences:
        return said_by(finding.hypothesis, base_of[finding.hypothesis.id])

    def weighed(finding: Finding) -> Finding:
        said = failures[base_of[finding.hypothesis.id].id]
        if not said:
            return finding
        k, n = sum(words(finding) <= one for one in said), len(said)
        return replace(finding, impact=Rate(k / n, *wilson(k, n), n, k))

    def nested(finding: Finding) -> Finding:
        """Under a broader finding where it is worse beyond doubt: its own did not hold."""
        if finding.under or not finding.confirmed:
            return finding
        own = sentences_of(" ".join(words(finding)))
        for broad in findings:
            same = broad.answer == finding.answer and broad.confirmed and not broad.under
            if same and words(broad) <= own and words(broad) != words(finding):
                counts = finding.rate.failures, finding.rate.n, broad.rate.failures, broad.rate.n
                if exceeds(*counts):
                    return replace(finding, under=broad.hypothesis.id)
        return finding

    def member(finding: Finding) -> Member:
        return Member(words(finding), (base_of[finding.hypothesis.id].id, finding.answer))

    found: list[Finding] = []
    before: list[tuple[str, Sentences]] = []
    for one in listed([weighed(nested(finding)) for finding in findings], order, member):
        finding, base = one, base_of[one.hypothesis.id].id
        if one.confirmed and not one.under:
            if said := failures[base]:
                left = [some for some in said if not any(of == base and w <= some for of, w in before)]
                finding = replace(one, own=sum(words(one) <= some for some in left) / len(said))
            before.append((base, words(one)))
        found.append(finding)
    return found


def listed(
    findings: Sequence[Finding], order: str, member: Callable[[Finding], Member] | None = None
) -> list[Finding]:
    """Findings in the order in which they are read; those not confirmed come last.

    Each stands before those under it, and before others of its kind, which follow it and theirs. Without
    `member`, which says what a finding says, each is of its own kind.
    """
    key = _KEYS[order]
    tops = sorted((f for f in findings if f.confirmed and not f.under), key=key)
    groups = [[top] for top in tops]
    if member is not None:
        groups = [[tops[i] for i in group] for group in families(list(map(member, tops)), size=len(tops) + 2)]
    groups.sort(key=lambda group: key(group[0]) if order == "rate" else (sum(key(f)[0] for f in group),))
    found: list[Finding] = []
    for first, *others in groups:
        for one in (first, *(replace(other, beside=first.hypothesis.id) for other in others)):
            under = [f for f in findings if f.confirmed and f.under == one.hypothesis.id]
            found += [one, *sorted(under, key=lambda f: -f.rate.value)]
    return [*found, *sorted((f for f in findings if not f.confirmed), key=key)]


def _failures(captions: Captions, base: Hypothesis) -> list[Sentences]:
    """What is said of the plain pictures that failed; nothing where nobody knows."""
    plain = [words for words, failed in captions.plain(base) if failed]
    return plain or [t.said for t in captions.trials(base, base) if t.failed and t.said]


def _weight(finding: Finding) -> float:
    excess = finding.rate.value - finding.baseline.value
    impact = finding.impact
    return excess * (1.0 if impact is None else (impact.failures + 0.5) / (impact.n + 1))


#: By the names of the setting `order`.
_KEYS: Final[Mapping[str, Callable[[Finding], tuple[float, ...]]]] = {
    "weight": lambda f: (-_weight(f),),
    "rate": lambda f: (-f.rate.value,),
    "impact": lambda f: (-(f.impact.value if f.impact is not None else 0.0), -f.rate.value),
}
