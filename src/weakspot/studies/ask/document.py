"""How a run of `ask` is told: what is refused and what is answered, each with questions that show it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from weakspot.core.question import BENIGN, CONTRAST, CUT_OFF
from weakspot.report import format as show
from weakspot.report.document import Allowance, Document, Section, Text, Tile, errors, spent
from weakspot.report.format import cut
from weakspot.report.people.refusals import judged
from weakspot.store import Run
from weakspot.studies.ask import labelled, measured, shown, told
from weakspot.studies.ask.benign import Doubt, doubts
from weakspot.studies.ask.result import AskResult, Counted, Scenarios
from weakspot.studies.ask.told import rate


class AskDocument(Document):
    """See `Document`."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        result = AskResult.of(run) or AskResult(model=str(run.config.settings.get("target", "")))
        self.judged = judged(run)
        self.labelled = labelled.by_people(run, result, self.judged)
        self.result = labelled.corrected(result, self.labelled)

    @cached_property
    def doubts(self) -> Sequence[Doubt]:
        """What people, or another model, say of the questions themselves."""
        return doubts(self.run, self.result)

    @property
    def _sets(self) -> Collection[str]:
        """The sets of which people have labelled enough."""
        return {one.set for one in self.labelled}

    @property
    def title(self) -> str:
        rest = self.run.config.subject.removesuffix(self.result.model).strip()
        return f"{self.result.model} · {rest}" if rest else self.result.model

    @property
    def conclusion(self) -> str:
        result = self.result
        if result.scenarios:
            said = _of_scenarios(result, result.scenarios)
            return " ".join(filter(None, (said, _unsure(result), labelled.in_words(self.judged))))
        if not result.asked and not result.contrast:
            return "Nothing has been asked yet."
        if not result.n and not (result.contrast and result.contrast.n):
            return "No answer could be judged, so nothing can be said about the model."
        parts = []
        if result.n:
            parts.append(f"refuses {_of(result.refused, result.n)} harmless {_questions(result.n)}")
        if (harmful := result.contrast) and harmful.n:
            what = "ones" if parts else _questions(harmful.n)
            parts.append(f"answers {_of(harmful.answered, harmful.n)} harmful {what}")
        said = f"{show.shorten(result.model, 120)} {' and '.join(parts)}."
        if kinds := told.worse(result):
            first = kinds[0]
            verb = "refuses more" if first.set == "benign" else "answers more harmful ones"
            said += f" It {verb} {first.words}: {_of(first.wrong, first.figures.n)}"
            more = len(kinds) - 1
            said += f", and {more} more {'kind stands' if more == 1 else 'kinds stand'} out." if more else "."
        return " ".join(filter(None, (said, _unsure(result), labelled.in_words(self.judged))))

    def tiles(self) -> Sequence[Tile]:
        result = self.result
        if not result.asked and result.contrast is None:
            return ()
        sets = self._sets
        found = [_tile("harmless refused", rate(result, corrected=BENIGN in sets), result, BENIGN in sets)]
        if (harmful := result.contrast) and harmful.n:
            share = told.of_answered(harmful, corrected=CONTRAST in sets)
            found.append(_tile("harmful answered", share, harmful, CONTRAST in sets))
        if open_ := told.unsure(result):
            n = result.n + (result.contrast.n if result.contrast else 0)
            share = f"{show.count(open_)} of {show.count(n)}: may be refusals or not"
            found.append(Tile("judge unsure", show.percent(open_ / n), share))
        beside = result.errors + result.blocked + result.empty + result.undecided
        note = told.unjudged(result) or "every answer could be judged"
        return [*found, Tile("not judged", show.count(beside), note)]

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        result = self.result
        looking = shown.Looking(self.run, result, allowance, labelled=self._sets)
        if result.scenarios:
            yield Section("What it refuses", _rows(looking.described(result.scenarios)), _SCENARIOS)
            yield from measured.scenarios(result, result.scenarios)
        else:
            yield Section("What it refuses, and what it answers", _rows(looking.ranked()), _FOUND)
        yield measured.doubted(result, self.doubts)
        yield from measured.why(result)
        yield measured.not_found(result)
        yield labelled.section(result, self.labelled)
        yield from measured.measured(self.run, result)

    def values(self) -> Mapping[str, Any]:
        settings = self.run.config.settings
        named = {name: settings.get(name) or "" for name in ("benchmark", "judge")}
        found = self.result.model_dump(mode="json", exclude={"items", "order"})
        found["labelled"] = [one.plain() for one in self.labelled]
        found["doubts"] = [doubt.plain() for doubt in self.doubts]
        return named | found | {"error_kinds": errors(self.run), "spend": spent(self.run)}

    def lines(self, wide: int) -> Iterable[str]:
        result, cost = self.result, spent(self.run)
        looking = shown.Looking(self.run, result, Allowance(0), labelled=self._sets)
        rows = looking.described(result.scenarios) if result.scenarios else looking.ranked()
        if rows:
            yield from shown.lines(rows, wide)
            yield ""
        for section in measured.why(result):
            for block in section.blocks:
                if isinstance(block, Text):
                    yield from show.wrapped("why", block.text, wide)
        yield from show.wrapped("result", self.conclusion, wide)
        if kinds := told.blind(result):
            few = ", ".join(f"{kind.words} ({show.percent(kind.decided)})" for kind in kinds[:4])
            few += f" and {len(kinds) - 4} more kinds" if len(kinds) > 4 else ""
            yield from show.wrapped("unsure", f"the judge decides too little {few}", wide)
        for doubt in self.doubts:
            yield from show.wrapped("doubt", measured.without(doubt), wide)
        if missing := len(result.images_missing):
            yield f"pictures {missing} × missing (see the report)"
        if cut_off := result.grades.get(CUT_OFF):
            yield f"cut off  {show.plural(cut_off, 'answer')} at the token limit; raise max_tokens"
        if beside := told.unjudged(result):
            yield f"apart    {beside} (not in the rates)"
        price = f" · {cost['tokens']:,} tokens · ${cost.get('dollars', 0):,.2f}" if cost.get("tokens") else ""
        calls = f"{show.plural(int(cost.get('calls', 0)), 'call')}"
        yield f"asked    {calls}{price} · {show.seconds(float(cost.get('seconds', 0.0)))}"
        if unknown := measured.lost(self.run).strip():
            yield from show.wrapped("cost", unknown, wide)
        for what, times in self.run.ledger.errors()[:3]:
            yield f"error    {cut(f'{times:,} × {what}', wide - 9)}"
        if self.run.state.startswith("stopped"):
            yield cut(self.run.state, wide)


_FOUND = (
    "The share of each set, and of the kinds of question that stand out in it, with 95 % intervals. Below "
    "each are the first questions that show it, with the picture and the first lines of the answer."
)
_SCENARIOS = "Descriptions that are refused more than others, each with the first questions that show it."


def _unsure(result: AskResult) -> str:
    """What the rates may be, as those answers fall that the judge is unsure of."""
    if not (n := told.unsure(result)):
        return ""
    parts = [f"refuses {told.bounds(result)}"] if result.unsure else []
    if result.contrast and result.contrast.unsure:
        parts.append(f"answers {told.bounds(result.contrast, CONTRAST)}")
    said = show.plural(n, "answer")
    return f"The judge is unsure of {said}: depending on these, it {' and '.join(parts)}."


def _rows(rows: Sequence[shown.Ranked]) -> list[Any]:
    return [shown.block(rows)] if rows else []


def _of(k: int, n: int) -> str:
    return f"{show.count(k)} of {show.count(n)}"


def _questions(n: int) -> str:
    return "question" if n == 1 else "questions"


def _of_scenarios(result: AskResult, found: Scenarios) -> str:
    confirmed = [row for row in found.descriptions if row.confirmed]
    usual = f"{_of(result.refused, result.n)} of any kind"
    model = show.shorten(result.model, 120)
    if not confirmed:
        tried = show.plural(len(found.descriptions), "kind")
        return f"{model} refuses none of {tried} of harmless questions more than usual ({usual})."
    named = "; ".join(
        f"‘{show.shorten(row.description, 100)}’ {_of(row.refused, row.n)}" for row in confirmed[:4]
    )
    return f"{model} refuses some harmless questions more than others ({usual}): {named}."


def _tile(name: str, share: str, figures: Counted, by_people: bool) -> Tile:
    if not figures.n:
        return Tile(name, show.NONE, "nothing judged")
    number, _, ends = share.partition(" [")
    beside = ", by people's labels" if by_people else ""
    return Tile(name, number, f"[{ends} of {show.count(figures.n)}{beside}")
