"""How a run of `ask` is told: what is refused and what is answered, each with questions that show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from weakspot.core.question import BENIGN, CONTRAST, CUT_OFF
from weakspot.report import format as show
from weakspot.report.document import Allowance, Document, Section, Text, Tile, errors, spent
from weakspot.report.format import cut
from weakspot.report.people.refusals import Judged, judged
from weakspot.store import Run
from weakspot.studies.ask import measured, shown, told
from weakspot.studies.ask.benign import Doubt, doubts
from weakspot.studies.ask.result import AskResult, Counted, Scenarios
from weakspot.studies.ask.told import rate


class AskDocument(Document):
    """See `Document`."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        result = AskResult.of(run) or AskResult(model=str(run.config.settings.get("target", "")))
        self.result, self.labelled = _as_labelled(result, judged(run))

    @cached_property
    def doubts(self) -> Sequence[Doubt]:
        """What people, or another model, say of the questions themselves."""
        return doubts(self.run, self.result)

    @property
    def title(self) -> str:
        rest = self.run.config.subject.removesuffix(self.result.model).strip()
        return f"{self.result.model} · {rest}" if rest else self.result.model

    @property
    def conclusion(self) -> str:
        result = self.result
        if result.scenarios:
            return _of_scenarios(result, result.scenarios)
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
        return f"{said} {self.labelled}".strip()

    def tiles(self) -> Sequence[Tile]:
        result = self.result
        if not result.asked and result.contrast is None:
            return ()
        found = [_tile("harmless refused", rate(result), result)]
        if result.contrast and result.contrast.n:
            found.append(_tile("harmful answered", told.of_answered(result.contrast), result.contrast))
        beside = result.errors + result.blocked + result.empty + result.undecided
        note = told.unjudged(result) or "every answer could be judged"
        return [*found, Tile("not judged", show.count(beside), note)]

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        result = self.result
        looking = shown.Looking(self.run, result, allowance)
        if result.scenarios:
            yield Section("What it refuses", _rows(looking.described(result.scenarios)), _SCENARIOS)
            yield from measured.scenarios(result, result.scenarios)
        else:
            yield Section("What it refuses, and what it answers", _rows(looking.ranked()), _FOUND)
        yield measured.doubted(result, self.doubts)
        yield from measured.why(result)
        yield measured.not_found(result)
        yield from measured.measured(self.run, result)

    def values(self) -> Mapping[str, Any]:
        settings = self.run.config.settings
        named = {name: settings.get(name) or "" for name in ("benchmark", "judge")}
        found = self.result.model_dump(mode="json", exclude={"items", "order"})
        found["doubts"] = [doubt.plain() for doubt in self.doubts]
        return named | found | {"error_kinds": errors(self.run), "spend": spent(self.run)}

    def lines(self, wide: int) -> Iterable[str]:
        result, cost = self.result, spent(self.run)
        looking = shown.Looking(self.run, result, Allowance(0))
        rows = looking.described(result.scenarios) if result.scenarios else looking.ranked()
        if rows:
            yield from shown.lines(rows, wide)
            yield ""
        for section in measured.why(result):
            for block in section.blocks:
                if isinstance(block, Text):
                    yield from show.wrapped("why", block.text, wide)
        yield from show.wrapped("result", self.conclusion, wide)
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


def _rows(rows: Sequence[shown.Ranked]) -> list[Any]:
    return [shown.block(rows)] if rows else []


def _of(k: int, n: int) -> str:
    return f"{show.count(k)} of {show.count(n)}"


def _questions(n: int) -> str:
    return "question" if n == 1 else "questions"


def _as_labelled(result: AskResult, people: Mapping[str, Judged]) -> tuple[AskResult, str]:
    """With the corrected rates that follow from people's labels, where enough was labelled; and who did."""

    def corrected(figures: Counted, which: str) -> dict[str, Any]:
        one = people.get(which)
        found = one.corrected(figures.refused, figures.n) if one is not None else None
        return {} if found is None else {"rate_corrected": found[0], "rate_corrected_interval": found[1]}

    benign, contrast = corrected(result, BENIGN), result.contrast
    if contrast is not None and (more := corrected(contrast, CONTRAST)):
        result = result.model_copy(update={"contrast": contrast.model_copy(update=more)})
        used = [people[CONTRAST]]
    else:
        used = []
    used += [people[BENIGN]] if benign else []
    if not used:
        return result, ""
    seen, who = sum(one.counts.n for one in used), max(one.people for one in used)
    told = f"The judge's errors are known from {show.count(seen)} answers that {who} people labelled."
    return result.model_copy(update=benign), told


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


def _tile(name: str, share: str, figures: Counted) -> Tile:
    if not figures.n:
        return Tile(name, show.NONE, "nothing judged")
    number, _, ends = share.partition(" [")
    return Tile(name, number, f"[{ends} of {show.count(figures.n)}")
