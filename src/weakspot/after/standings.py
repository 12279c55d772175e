"""Who refuses least, and how sure that is: models of `ask` in their order, each with the places it may have.

A model is one row, however its name is spelt and however often it was judged. Two models are compared item by
item where they were asked the same questions (McNemar's exact test), else by their counts (Fisher's). A place
has an interval: a model stands behind each that is shown to refuse less, and before each that is shown to
refuse more. All comparisons are adjusted together (Holm), so all intervals hold at once, with 95 %.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, NamedTuple

from weakspot import stats
from weakspot.stats import adjusted_holm
from weakspot.studies.ask.analysis import Asked, compared
from weakspot.studies.ask.result import Compared, PromptRates

ALPHA: Final = 0.05
#: What a version of a model ends with that is still the same model: a date, or a word that changes meaning.
_VERSION: Final = re.compile(r"[-@_ ](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
_FILE: Final = re.compile(r"\.(?:jsonl?|csv|tsv|js|parquet)(?:\.gz)?$")
_SCHEME: Final = re.compile(r"^[a-z]+:(?=\S)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """What one model did, by one judge."""

    model: str  # whose answers
    judge: str  # who judged them
    origin: str  # the folder or file
    figures: PromptRates  # of benign questions, and of harmful ones where they were asked
    asked: tuple[Asked, ...] = ()  # outcomes by item, for paired comparisons; empty for published figures
    names: tuple[str, ...] = ()  # what else the model is called
    prompt: str = ""  # the system prompt, which makes it another row


class Standing(NamedTuple):
    """A model in its place.

    Attributes:
        places: The first and the last place that it may have; None where it cannot be compared with others.
        others: What other judges, other runs or publications say of the same model.
        above: The nearest model before it that it can be compared with, and how they compare.
    """

    place: int
    places: tuple[int, int] | None
    model: str
    row: ModelRow
    others: tuple[ModelRow, ...] = ()
    above: tuple[str, Versus] | None = None


class Versus(NamedTuple):
    """Two models compared, on shared questions where `paired` is given, else by their counts.

    Attributes:
        difference: How much more the second refuses.
    """

    p: float
    p_adjusted: float
    difference: float
    paired: Compared | None = None

    def more(self, *, second: bool) -> bool | None:
        """Whether the second, or else the first, is shown to refuse more; None where neither is."""
        if self.p_adjusted > ALPHA or not self.difference:
            return None
        return (self.difference > 0) is second


def standings(rows: Sequence[ModelRow]) -> list[Standing]:
    """One row per model, the one that refuses least first."""
    merged = [_merged(group) for group in _by_model(rows)]
    merged.sort(key=lambda one: (one[1].figures.rate is None, one[1].figures.rate or 0.0, one[0]))
    versus = _compared([row for _, row, _ in merged])
    found: list[Standing] = []
    for j, (name, row, others) in enumerate(merged):
        met = [v.more(second=pair[1] == j) for pair, v in versus.items() if j in pair]
        rivals = {i for pair in versus for i in pair}
        places = (1 + met.count(True), len(rivals) - met.count(False)) if met else None
        near = next((i for i in range(j - 1, -1, -1) if (i, j) in versus), None)
        above = None if near is None else (merged[near][0], versus[near, j])
        found.append(Standing(j + 1, places, name, row, others, above))
    return _placed(found)


def _placed(found: Sequence[Standing]) -> list[Standing]:
    """Places among those that can be compared: published figures stand beside and push nobody down."""
    placed, place = [], 0
    for one in found:
        place += one.places is not None
        placed.append(one._replace(place=place if one.places is not None else 0))
    return placed if place else [one._replace(place=i) for i, one in enumerate(found, 1)]


def _compared(rows: Sequence[ModelRow]) -> dict[tuple[int, int], Versus]:
    """Every two that can be compared, the one with the lower rate first."""
    found: dict[tuple[int, int], Versus] = {}
    for (i, one), (j, other) in combinations(enumerate(rows), 2):
        shared = compared(other.asked, one.asked) if one.asked and other.asked else None
        a, b = one.figures, other.figures
        if shared is not None:
            found[i, j] = Versus(shared.p, 1.0, shared.difference, shared)
        elif a.decided and b.decided:
            p = stats.fisher(a.refused, a.decided, b.refused, b.decided, alternative="two-sided")
            found[i, j] = Versus(p, 1.0, b.refused / b.decided - a.refused / a.decided)
    adjusted = adjusted_holm([one.p for one in found.values()]) if found else []
    return {
        pair: one._replace(
            p_adjusted=p, paired=one.paired and one.paired.model_copy(update={"p_adjusted": p})
        )
        for (pair, one), p in zip(found.items(), adjusted, strict=True)
    }


# -- which rows are of one model ---------------------------------------------------------------------


def spelt(name: str) -> tuple[Any, ...]:
    """What all spellings of a model's name have in common: its words in any order, its numbers in theirs.

    "openai/gpt-4o-2024-08-06", "chat:openai/gpt-4o" and "GPT-4o" are one, as are "gemini-pro-1-5" and "Gemini
    1.5 Pro".
    """
    bare = _VERSION.sub("", _FILE.sub("", _bare(name).casefold()))
    words, numbers = sorted(re.findall(r"[^\W\d_]+", bare)), re.findall(r"\d+", bare)
    return (tuple(words), tuple(numbers)) if words or numbers else (name,)


def _bare(name: str) -> str:
    """The name without the scheme, the provider and the options."""
    return _SCHEME.sub("", name.strip().partition("?")[0]).rpartition("/")[2] or name


def _by_model(rows: Iterable[ModelRow]) -> list[list[ModelRow]]:
    groups: list[list[ModelRow]] = []
    known: list[set[tuple[tuple[Any, ...], str]]] = []
    for row in rows:
        names = [name for name in (row.model, *row.names) if name.strip()] or [row.origin]
        keys = {(spelt(name), row.prompt) for name in names}
        met = [i for i, some in enumerate(known) if some & keys]
        if not met:
            groups.append([row])
            known.append(keys)
            continue
        first, *rest = met
        groups[first].append(row)
        known[first] |= keys
        for i in reversed(rest):  # a row that has the names of several joins them
            groups[first] += groups.pop(i)
            known[first] |= known.pop(i)
    return groups


def _merged(group: Sequence[ModelRow]) -> tuple[str, ModelRow, tuple[ModelRow, ...]]:
    """The name of a model as it was published, else as it was given; its own row, and what others say."""
    order = sorted(group, key=lambda row: (not row.asked, not row.figures.n, row.figures.rate is None))
    published = next((row.model for row in group if not row.asked and not row.figures.n), "")
    name = published or _bare(order[0].model)
    prompt = order[0].prompt
    return f"{name} ({prompt})" if prompt else name, order[0], tuple(order[1:])


def may_be_first(found: Sequence[Standing]) -> list[str]:
    """The models of which none is shown to refuse more than another."""
    return [one.model for one in found if one.places is not None and one.places[0] == 1]


def plain(versus: tuple[str, Versus] | None) -> Mapping[str, Any] | None:
    """As `--json` has it."""
    if versus is None:
        return None
    name, one = versus
    paired = {} if one.paired is None else one.paired.plain()
    return {
        "model": name,
        "paired": one.paired is not None,
        "difference": one.difference,
        "p": one.p,
        "p_adjusted": one.p_adjusted,
        **paired,
    }
