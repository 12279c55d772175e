"""What a language model adds: names of systematic failures, new pairs that show them, and a bill.

A failure that cites no pair it was shown is not kept; a pair that is there already, or whose two texts are
both in the corpus, does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, runtime_checkable

import yaml

from weakspot.core import WeakspotError
from weakspot.engine import Budget
from weakspot.studies.mine.parts import MineContext
from weakspot.studies.mine.result import Failure, Named, Written
from weakspot.text.changes import key
from weakspot.text.llm_answers import (
    LONGEST,
    Answers,
    Asked,
    Pair,
    ask_all,
    items,
    one_line,
    quoted,
    read_pairs,
    with_unreadable,
)

if TYPE_CHECKING:
    from weakspot.models.chat.costs import Spent

PROMPTS: Final[Mapping[str, str]] = yaml.safe_load(Path(__file__).with_name("prompts.yaml").read_bytes())


@runtime_checkable
class Metered(Protocol):
    """A language model that knows what it has spent, and what it may spend."""

    @property
    def spent(self) -> Spent: ...


class Bill:
    """Enters what a metered language model costs into the ledger, and holds it to the budget of dollars."""

    def __init__(self, context: MineContext) -> None:
        self._ledger, model = context.ledger, cast("object", context.parts.llm)
        self._spent = model.spent if isinstance(model, Metered) else None
        self._entered = self._now()
        if self._spent is not None:
            budget = Budget.parse(context.settings.budget)["dollars"]
            left = budget - self._ledger.spend().get("dollars", 0.0) + self._entered["dollars"]
            self._spent.max_dollars = min(self._spent.max_dollars, max(left, 0.0))

    def enter(self) -> None:
        if self._spent is not None:
            now = self._now()
            self._ledger.record([], {kind: now[kind] - self._entered[kind] for kind in now})
            self._entered = now

    def _now(self) -> dict[str, float]:
        spent = self._spent
        return {} if spent is None else {"tokens": float(spent.tokens), "dollars": float(spent.dollars)}


def name_failures(
    pairs: Sequence[Pair], *, llm: Asked, passes: int = 3, chunk: int = 50, steer: str = "", seed: int = 0
) -> Named:
    """Name the systematic failures that pairs show, the most cited first; an error if no answer can be read.

    In each pass the pairs are in another order. `steer` is a topic for which the failures should matter.
    """
    if not pairs:
        raise WeakspotError(
            "there are no pairs to categorise", fix="lower the threshold, or give more captions"
        )
    prompts, shown = [], []
    topic = f" They must matter for this topic: {one_line(steer)}." if steer.strip() else ""
    for number in range(passes):
        order = list(range(len(pairs)))
        Random(f"{seed} {number}").shuffle(order)  # noqa: S311
        for start in range(0, len(order), chunk):
            part = order[start : start + chunk]
            rows = (
                f"{n}. {quoted(pairs[i].first)} | {quoted(pairs[i].second)}" for n, i in enumerate(part, 1)
            )
            prompts.append(PROMPTS["name"].format(pairs="\n".join(rows), steer=topic))
            shown.append((number, part))
    texts, answers = ask_all(llm, prompts)
    named: list[tuple[int, Failure]] = []
    unreadable = 0
    for (number, part), text in zip(shown, texts, strict=True):
        if text is not None:
            found = list(_failures(text, part))
            unreadable += not found
            named += [(number, failure) for failure in found]
    answers = with_unreadable(answers, unreadable)
    if not answers.read:
        because = f" ({answers.errors[0]})" if answers.errors else ""
        raise WeakspotError(
            f"no answer of the language model could be used: {answers}{because}",
            fix="check the model and its key, or categorise without one",
        )
    return Named(failures=tuple(merge(named)), answers=answers)


def merge(named: Iterable[tuple[int, Failure]]) -> list[Failure]:
    """Failures of several passes as one list: of like names, or citing mostly the same pairs, are one."""
    groups: list[list[tuple[int, Failure]]] = []
    for number, failure in named:
        alike = next((g for g in groups if any(_alike(failure, other) for _, other in g)), None)
        if alike is None:
            groups.append(alike := [])
        alike.append((number, failure))
    found = []
    for group in groups:
        best = max((f for _, f in group), key=lambda f: (len(f.cited), len(f.description)))
        cited = tuple(sorted({i for _, f in group for i in f.cited}))
        passes = len({number for number, _ in group})
        found.append(best.model_copy(update={"cited": cited, "passes": passes}))
    return sorted(found, key=lambda f: (-len(f.cited), -f.passes, f.name))


def _alike(a: Failure, b: Failure) -> bool:
    one, two = _stems(a.name), _stems(b.name)
    names = len(one & two) / max(1, min(len(one), len(two)))
    cited = len(set(a.cited) & set(b.cited)) / max(1, len(set(a.cited) | set(b.cited)))
    return names >= 0.6 or (cited >= 0.6 and min(len(a.cited), len(b.cited)) > 1)


_EMPTY_WORDS: Final = "the of in and or vs versus difference differences failure failures to"


def _stems(name: str) -> set[str]:
    """The words of a name that say something, cut short so that a plural is no other word."""
    return {
        w[:6] for w in re.findall(r"\w+", name.casefold()) if w not in _EMPTY_WORDS.split() and len(w) > 1
    }


def _failures(text: str, part: Sequence[int]) -> Iterator[Failure]:
    for item in items(text):
        name = _first_text(item, "name", "category", "failure", "title")
        description = _first_text(item, "description", "explanation", "reason", "summary")
        said = next((item[k] for k in ("pairs", "cited", "examples", "evidence") if k in item), ())
        cited = tuple(sorted({part[n - 1] for n in _numbers(said) if 1 <= n <= len(part)}))
        if name and cited:
            yield Failure(name=name, description=description, cited=cited, passes=1)


def _first_text(item: Mapping[str, Any], *keys: str) -> str:
    texts = (item[key] for key in keys if isinstance(item.get(key), str))
    return next((one_line(text)[:LONGEST] for text in texts if text.strip()), "")


def _numbers(value: Any) -> list[int]:
    """Pair numbers however they are given: [1, "2", {"pair": 3}], "1, 4", 5."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [value] if abs(value) < 10**6 else []
    if isinstance(value, str):
        return [int(n) for n in re.findall(r"\d{1,6}", value[:2000])]
    if isinstance(value, Mapping):
        return [n for v in list(value.values())[:10] for n in _numbers(v)]
    return [n for v in list(value)[:1000] for n in _numbers(v)] if isinstance(value, Sequence) else []


def write_pairs(
    name: str,
    description: str,
    *,
    llm: Asked,
    n: int = 41,
    examples: Sequence[Pair] = (),
    corpus: Iterable[str] = (),
    steer: str = "",
    rounds: int = 3,
) -> Written:
    """New pairs that show a failure, up to n, asked for in so many rounds at most; none of the examples."""
    known = {key(text) for text in corpus}
    seen = {frozenset((key(p.first), key(p.second))) for p in examples}
    found: list[Pair] = []
    dropped: Counter[str] = Counter()
    total = Answers()
    for _ in range(rounds):
        if len(found) >= n:
            break
        shown = "\n".join(f"({quoted(p.first)}, {quoted(p.second)})," for p in (*examples[:8], *found[-8:]))
        prompt = PROMPTS["write"].format(
            name=one_line(name),
            description=one_line(description),
            n=n - len(found),
            examples=PROMPTS["shown"].format(shown=shown) if shown else "",
            steer=f" All must be about: {one_line(steer)}." if steer.strip() else "",
        )
        (text,), answers = ask_all(llm, [prompt])
        new = list(read_pairs(text)) if text is not None else []
        total += with_unreadable(answers, text is not None and not new)
        for pair in new:
            one, two = key(pair.first), key(pair.second)
            if one == two:
                dropped["the same text twice"] += 1
            elif frozenset((one, two)) in seen:
                dropped["again"] += 1
            elif one in known and two in known:
                dropped["in the corpus"] += 1
            elif len(found) < n:
                seen.add(frozenset((one, two)))
                found.append(pair)
    pairs = tuple(found)
    return Written(name=name, description=description, pairs=pairs, dropped=dict(dropped), answers=total)
