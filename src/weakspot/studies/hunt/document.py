"""How a hunt is told: the weak spots, what was not confirmed, the race, and how it was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

from weakspot.core import Finding, Hypothesis, Rate
from weakspot.engine.stop import Budget
from weakspot.report import format as show
from weakspot.report.document import (
    Allowance,
    Block,
    Document,
    Ending,
    Html,
    Pictures,
    Section,
    Table,
    Text,
    Tile,
    examples,
    spent,
)
from weakspot.report.markdown import bullets, escape
from weakspot.report.ranking import reading
from weakspot.store import Run
from weakspot.studies.hunt import cards, exclusion
from weakspot.studies.hunt.cards import CARDS, FAILING, PASSING, head, summed_up
from weakspot.studies.hunt.listing import Baseline, Listing, Tried, cases, conclusion, titled, usual_rates

#: Rows of a table on the page, and in Markdown; further ones are only in report.json.
ROWS, LISTED = 400, 200
#: Files that could not be used and are listed.
SKIPPED: Final = 50
#: How the sections are explained.
_TEXTS: Final[Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_name("report_texts.yaml").read_bytes())


class HuntDocument(Document):
    """See `Document`."""

    #: What the trials of the baseline are.
    drawn = "draws"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.hunt = Listing(run)

    @property
    def title(self) -> str:
        """The classifier and the label."""
        subject = show.shorten(self.run.config.subject, 80)
        subject = subject if self.hunt.labels else f"‘{subject}’"
        return " · ".join(filter(None, (show.shorten(self.hunt.setting("target"), 120), subject)))

    @property
    def conclusion(self) -> str:
        """The run in one or two sentences."""
        return conclusion(self.hunt)

    def tiles(self) -> Iterable[Tile]:  # type: ignore[override]
        """Pictures, the usual rate, what was confirmed, errors, time and cost."""
        hunt, trials = self.hunt, self.hunt.trials
        spend = self.run.ledger.spend()
        yield Tile("images", show.count(trials.drawn), f"{show.count(trials.failures)} failed")
        if hunt.base is not None and hunt.base.rate.n:
            usual = hunt.base.rate
            ends = f"{show.interval(usual.low, usual.high)} of {show.count(usual.n)}"
            yield Tile("baseline", show.percent(usual.value), ends)
        elif hunt.labels:
            rates = f"usual rates {usual_rates(hunt) or 'unknown'}"
            yield Tile("labels", show.count(len(hunt.labels)), rates)
        if (own := hunt.invalid) is not None:
            note = f"{show.interval(own.low, own.high)} of {show.count(own.n)} plain pictures"
            yield Tile("wrongly drawn", show.percent(own.value), note)
        raced = f"of {show.plural(len(hunt.race), 'caption')} raced" if hunt.race else "nothing raced yet"
        if more := len(hunt.confirmed) - len(hunt.tops):
            raced = f"and {show.count(more)} worse within them, {raced}"
        yield Tile("confirmed", show.count(len(hunt.tops)), raced)
        yield Tile("errors", show.count(trials.errors), "outside every rate")
        if trials.undecided:
            yield Tile("undecided", show.count(trials.undecided), "outside every rate")
        yield Tile("time", show.seconds(spend.get("seconds", 0.0)), "drawing and asking")
        if spend.get("dollars"):
            tokens = f"{show.count(spend.get('tokens', 0))} tokens"
            yield Tile("cost", f"${spend['dollars']:,.2f}", tokens)

    # -- the report ------------------------------------------------------------------------------------

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        """What was found, what people tried, what was not found, how it was measured."""
        hunt = self.hunt
        yield self._findings(allowance)
        if hunt.tries:
            yield Section("Tried by a person", [cards.tries(hunt, allowance, listed=LISTED)], _TEXTS["tried"])
        yield Section("What was looked at and not found", list(self._not_found()))
        yield Section("How it was measured", list(self._measured()))
        yield from self._checks()
        yield from self._usual(allowance)
        if hunt.race:
            against = "the baseline of its label" if hunt.labels else "the baseline"
            raced = f"{show.plural(len(hunt.race), 'caption')} raced against {against}. {_TEXTS['raced']}"
            yield Section("The race", [cards.race(hunt, most=ROWS, listed=LISTED)], raced)
        if skipped := hunt.result.skipped:
            rows = [(one.name, one.reason) for one in skipped[:SKIPPED]]
            table = Table("", "", ("file", "why"), rows, max(0, len(skipped) - SKIPPED))
            yield Section("Files that could not be used", [table])

    def _not_found(self) -> Iterable[Block]:
        """The bound on what else may fail, then what the race put ahead and fresh draws did not confirm."""
        hunt = self.hunt
        if excluded := exclusion.told(hunt):
            yield Text(" ".join(excluded))
            yield from exclusion.highest(hunt)
        elif not hunt.race:
            yet = " yet" if self.run.state == "running" else ""
            yield Text(
                f"No caption has been raced{yet}, so nothing is known beyond the baseline.", empty=True
            )
        if some := hunt.candidates:
            yield Text(_TEXTS["not confirmed"])
            yield self._table("Not confirmed", some)

    def _measured(self) -> Iterable[Block]:
        method = list(self._method())
        text = bullets(f"**{name}** {escape(about, 1000)}" for name, about in method)
        yield Html("weakspot.studies.hunt:method.html.j2", {"items": method}, text)

    def _checks(self) -> Iterable[Section]:
        """What the second opinion made of the pictures."""
        if (own := self.hunt.invalid) is not None:
            yield Section("Second opinion", [self._with_and_without()], self._checked(own))

    def _findings(self, allowance: Allowance) -> Section:
        hunt = self.hunt
        if not hunt.confirmed:
            text = _TEXTS["none found"] if self.run.state == "finished" else "None confirmed yet."
            text += f" {_TEXTS['bounded']}" if hunt.result.certified is not None else ""
            return Section("Weak spots", [Text(text, empty=True)])
        blocks: list[Block] = [cards.findings(hunt, allowance, again=self.again)]
        if further := hunt.confirmed[CARDS:]:
            blocks.append(self._table("Further confirmed findings", further, start=CARDS + 1))
        return Section("Weak spots", blocks, _TEXTS["found"])

    def _table(self, title: str, some: Sequence[Finding], *, start: int = 1) -> Table:
        rows = summed_up(self.hunt, some[:LISTED], start=start)
        return Table(title, cards.only(some), head(self.hunt), rows, max(0, len(some) - LISTED))

    def _checked(self, own: Rate) -> str:
        """Who was asked whether pictures show the label, and how often the source erred by that."""
        hunt = self.hunt
        drawn, invalid = show.count(hunt.trials.drawn), show.count(hunt.trials.invalid)
        who = " and ".join(hunt.verifiers)
        return str(_TEXTS["checked"]).format(
            who=who, own=show.rate(own), cases=cases(hunt), drawn=drawn, invalid=invalid
        )

    def _with_and_without(self) -> Table:
        """The baselines' rates with and without the second opinion, then the findings'."""
        hunt = self.hunt
        rows = [
            (f"baseline of {b.label}" if hunt.labels else "baseline", b.rate, b.unchecked)
            for b in hunt.bases[:LISTED]
        ]
        rows += [(titled(hunt, f), f.rate, f.unchecked or f.rate) for f in hunt.findings[:LISTED]]
        cells = [
            (
                words,
                reading(rate),
                show.count(rate.n),
                reading(whole),
                show.count(whole.n),
                show.percent(1 - rate.n / whole.n if whole.n else 0.0),
            )
            for words, rate, whole in rows
        ]
        return Table("", "", ("words", "with the check", "of", "without", "of", "left out"), cells)

    def _usual(self, allowance: Allowance) -> Iterable[Section]:
        hunt = self.hunt
        if hunt.labels and hunt.bases:
            rows = [
                (b.label, b.hypothesis.text, reading(b.rate), *map(show.count, (b.rate.failures, b.rate.n)))
                for b in hunt.bases[:ROWS]
            ]
            columns = ("label", "words", "usual rate", "failed", "of")
            note = _TEXTS["baselines"].format(labels=show.plural(len(hunt.labels), "label"))
            yield Section(
                "The baselines", [Table("", "", columns, rows, max(0, len(hunt.bases) - ROWS))], note
            )
        elif hunt.base is not None:
            yield self._baseline(hunt.base, allowance)

    def _baseline(self, base: Baseline, allowance: Allowance) -> Section:
        rate = base.rate
        found = f"{show.percent(rate.value)} {show.interval(rate.low, rate.high)}"
        measured = (
            f"Of {show.count(rate.n)} {self.drawn} {show.count(rate.failures)} failed: {found}."
            if rate.n
            else "No draw could be judged."
        )
        text = f"What “usual” means here: “{show.shorten(base.hypothesis.text, 600)}” {measured}"
        blocks: list[Block] = [Text(text)]
        passes = rate.n - rate.failures
        for title, kind, total, most in (
            ("Failing", "fail", rate.failures, FAILING), ("Passing", "pass", passes, PASSING)
        ):  # fmt: skip
            trials = self.run.ledger.trials(base.hypothesis, failed=kind == "fail", kept=True, limit=24)
            kept = [t.index for t in trials]
            if shown := examples(self.run, base.hypothesis, kept, most=most, allowance=allowance):
                note = f"first {len(shown)} of {show.count(total)}"
                blocks.append(Pictures(title, note, shown, kind))
        return Section("The baseline", blocks)

    def _method(self) -> Iterable[tuple[str, str]]:
        """How it was measured: (what, in words)."""
        hunt, fdr = self.hunt, self.run.config.settings.get("fdr")
        words = {
            "instead": "the classifier takes for the wrong answer named in the settings (target_label)"
            if hunt.setting("target_label")
            else "the classifier calls something else",
            "judged": f", as the judge {hunt.setting('judge')} decides" if hunt.setting("judge") else "",
            "bound": f"at most {show.level(fdr)}" if isinstance(fdr, float) else "bounded",
        }
        for name, about in _TEXTS["measured"].items():
            if name != "Second opinions" or hunt.verifiers:
                yield name, about.format(**words)

    def redraw(self, hypothesis: Hypothesis, index: int) -> str:
        """The source draws it again from its words, index and seed."""
        base = self.hunt.base_of(hypothesis)
        return cards.redraw(self.hunt, hypothesis, [index], base.label if base else "")

    # -- for machines ----------------------------------------------------------------------------------

    @cached_property
    def _errors(self) -> list[tuple[str, int]]:
        return list(self.run.ledger.errors()) if self.hunt.trials.errors else []

    def values(self) -> Mapping[str, Any]:
        """Everything that was measured."""
        hunt, trials, base = self.hunt, self.hunt.trials, self.hunt.base
        return {
            "baseline": None if base is None else _rated(base.hypothesis, base.rate),
            "baselines": [self._base_values(one) for one in hunt.bases],
            "validity": self._validity(),
            "findings": [self._finding_values(f) for f in hunt.findings],
            "tries": [_try_values(tried) for tried in hunt.tries],
            "race": [racer._asdict() for racer in hunt.race],
            "certified": self._certified(),
            "trials": {"drawn": trials.drawn, **trials._asdict()},
            "errors": [{"what": what, "times": times} for what, times in self._errors],
            "skipped": [{"file": one.name, "why": one.reason} for one in hunt.result.skipped],
            "spend": spent(self.run),
        }

    def _certified(self) -> dict[str, Any] | None:
        """What is excluded, and whether that is what was asked for."""
        found = self.hunt.result.certified
        return None if found is None else {**found.plain(), "passed": found.passed}

    def _base_values(self, base: Baseline) -> dict[str, Any]:
        """A label's baseline; with the rate as it would be without the check, where there was one."""
        checked = self.hunt.verifiers and base.tally.invalid
        whole = {"unchecked": base.unchecked._asdict() if checked else None}
        return {"label": base.label, **_rated(base.hypothesis, base.rate), **whole}

    def _validity(self) -> dict[str, Any] | None:
        """Who was asked whether the cases are valid, and the source's own error rate on plain cases."""
        own = self.hunt.invalid
        if own is None:
            return None
        counts = {"invalid": own.failures, "n": own.n, "value": own.value, "low": own.low, "high": own.high}
        return {"verify": list(self.hunt.verifiers), **counts}

    def _finding_values(self, finding: Finding) -> dict[str, Any]:
        base = self.hunt.base_of(finding.hypothesis)
        edits = []
        for edit in self.hunt.edits(finding):
            values = edit._asdict()
            changed = values.pop("hypothesis")
            edits.append({"id": changed.id, "text": changed.text, **values, "rate": edit.rate._asdict()})
        label = base.label if base is not None else self.hunt.setting("label")
        return {**finding.to_json(), "label": label, "edits": edits}

    # -- on a terminal ---------------------------------------------------------------------------------

    def lines(self, wide: int) -> Iterable[str]:
        """The baseline, the findings, what it cost, in at most so many columns."""
        hunt, errors = self.hunt, self._errors
        spent, state, skipped = hunt.run.ledger.spend(), hunt.run.state, hunt.result.skipped
        yield from _usual_lines(hunt, wide)
        found = hunt.confirmed
        shown = list(cards.ranking(hunt, found).lines(wide)) if found else []
        yield "─" * min(wide, max((len(row) for row in shown), default=80))
        yield from shown
        held, more = show.plural(len(hunt.tops), "finding"), len(found) - len(hunt.tops)
        held += f" and {more} worse within them" if more else ""
        fdr = show.level(float(hunt.settings.get("fdr", 0.05)))
        yield from show.folded(f"{held} confirmed on fresh images (false-discovery rate ≤ {fdr})", wide)
        yield from exclusion.lines(hunt, wide)
        yield from _validity_lines(hunt, wide)
        if state.startswith("stopped"):
            yield from show.folded(f"{state}; a larger budget may find more", wide)
        costs = [f"{show.count(spent.get('images', 0))} images", show.plural(hunt.trials.errors, "error")]
        if spent.get("tokens") or spent.get("dollars"):
            costs += [f"{show.count(spent.get('tokens', 0))} tokens", f"${spent.get('dollars', 0.0):,.2f}"]
        yield f"trials   {' · '.join([*costs, show.seconds(spent.get('seconds', 0.0))])}"
        for one in skipped[:3]:
            yield from show.wrapped("skipped", f"{one.name}: {one.reason}", wide)
        if len(skipped) > 3:
            yield f"         and {show.plural(len(skipped) - 3, 'other file')} (see the report)"
        for what, how_often in errors[:3]:
            yield from show.wrapped("error", show.shorten(f"{show.count(how_often)}× {what}", 400), wide)
        if len(errors) > 3:
            yield f"         and {show.plural(len(errors) - 3, 'other kind')} of error (see the report)"

    def ending(self) -> Ending:
        """On with the run where a budget ended it; else words to try that say what a finding depends on."""
        usual = super().ending()
        if usual.code:
            budget = str(self.run.ledger.fact("budget") or self.hunt.setting("budget"))
            larger = Budget(tuple((kind, 2 * limit) for kind, limit in Budget.parse(budget).limits))
            return Ending(usual.code, ("resume", str(self.run.folder), "--budget", str(larger)))
        return Ending(usual.code, _words_to_try(self.hunt) or usual.next)


def _rated(hypothesis: Hypothesis, rate: Rate) -> dict[str, Any]:
    return {"id": hypothesis.id, "text": hypothesis.text, **rate._asdict()}


def _try_values(tried: Tried) -> dict[str, Any]:
    return {
        "id": tried.hypothesis.id,
        "text": tried.hypothesis.text,
        "phrase": tried.phrase,
        "label": tried.label,
        "verdict": tried.verdict,
        "rate": tried.rate._asdict(),
        "baseline": tried.baseline._asdict(),
        "confusions": [list(pair) for pair in tried.answers],
    }


def _usual_lines(hunt: Listing, wide: int) -> Iterable[str]:
    """The baseline's rate and words, or the rates of several labels."""
    if hunt.base is not None and hunt.base.rate.n:
        text = f"{show.rate(hunt.base.rate)}: {show.shorten(hunt.base.hypothesis.text, 300)}"
        yield from show.wrapped("baseline", text, wide)
    known = sorted((b for b in hunt.bases if b.tally.n), key=lambda b: -b.rate.value)
    if hunt.labels and known:
        worst = "; ".join(f"{show.cut(b.label, 30)} {show.rate(b.rate)}" for b in known[:3])
        rest = f" … {show.percent(known[-1].rate.value)}" if len(known) > 3 else ""
        several = show.plural(len(hunt.labels), "label")
        yield from show.wrapped("baseline", f"{several}: {worst}{rest}", wide)


def _validity_lines(hunt: Listing, wide: int) -> Iterable[str]:
    """How the source errs, and the rates without the second opinion."""
    own = hunt.invalid
    if own is None:
        return
    whole = [show.rate(f.unchecked or f.rate) for f in hunt.confirmed[:3]]
    base = hunt.bases[0].unchecked if len(hunt.bases) == 1 else None
    parts = [f"baseline {show.rate(base)}"] if base is not None else []
    parts += [f"findings {', '.join(whole)}{' …' if len(hunt.confirmed) > 3 else ''}"] if whole else []
    doubt = "plain images do not show the label, by the second opinion"
    yield from show.wrapped("checked", f"{show.rate(own)} {doubt}", wide)
    if parts:
        yield from show.wrapped("", "without the check: " + "; ".join(parts), wide)


def _words_to_try(hunt: Listing) -> tuple[str, ...]:
    """The command that tries an edit of a finding: few images were drawn of it, so there is more to learn."""
    edited = [(f, edit) for f in hunt.confirmed for edit in hunt.edits(f)]
    edited.sort(key=lambda pair: pair[1].kind in ("negate", "drop"))  # something else says more than nothing
    for finding, edit in edited:
        if len(edit.phrase) <= 120 and show.clean(edit.phrase) == edit.phrase and edit.rate.n:
            label = hunt.label_of(finding)
            which = ("--label", label) if label else ()
            return ("try", str(hunt.run.folder), edit.phrase, *which)
    return ()
