"""How a run of `mine` is told: the systematic failures with examples, then the scale and the mined pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, Final

from weakspot.core import Rate
from weakspot.engine.stop import Budget
from weakspot.report import format as show
from weakspot.report.document import (
    Allowance,
    Block,
    Document,
    Ending,
    Html,
    Section,
    Table,
    Text,
    errors,
    pairs,
    spent,
)
from weakspot.report.format import folded, wrapped
from weakspot.report.markdown import escape
from weakspot.report.markdown import table as markdown_table
from weakspot.report.people.score import by_people
from weakspot.report.ranking import FAILING, LONGEST, TEMPLATE, Failing, Ranked, Ranking, marked
from weakspot.store import Run
from weakspot.studies.mine.categories import (
    TEXTS,
    CategoryShown,
    PairShown,
    categories_of,
    named,
    similarities,
)
from weakspot.studies.mine.result import Downstream, Grounded, Mined, MineResult, Named, Scores
from weakspot.text.llm_answers import COUNTED, Answers

LISTED: Final = 40  # mined pairs in the table
EACH: Final = 3  # pairs of each kind on a card
#: What the kinds of pairs are called.
KINDS: Final = {"edited": "captions edited by rule", "written": "written by the language model"}


class MineDocument(Document):
    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.result = MineResult.of(run) or MineResult()

    @cached_property
    def categories(self) -> tuple[list[CategoryShown], list[CategoryShown]]:
        return categories_of(self.run, self.result)

    @property
    def title(self) -> str:
        return str(self.run.config.settings.get("encoder", ""))

    @cached_property
    def found(self) -> list[CategoryShown]:
        """The confirmed categories, those that are confused most first."""
        return [one for one in self.categories[0] if one.confirmed]

    @property
    def conclusion(self) -> str:
        mined, named = self.result.mined, show.cut(self.title, 80)
        who, begun = named or "the encoder", named or "The encoder"
        if mined is None:
            return f"The run has not yet looked for pairs of captions that {who} confuses."
        text = (
            f"{show.plural(len(mined.pairs), 'pair')} of captions that it confuses and the reference does "
            f"not were found among {show.count(mined.texts)} texts."
        )
        if self.result.note:
            return f"{begun} cannot embed new texts, so nothing was measured on new pairs. {text}"
        if not self.found:
            return f"No systematic failure of {who} was confirmed on new pairs. {text}"
        ways = [f"{show.shorten(f.name, 60)} ({show.percent(f.rate.value)})" for f in self.found[:5]]
        more = f", and in {len(self.found) - 5} other ways" if len(self.found) > 5 else ""
        base = self.found[0].finding.baseline if self.found[0].finding else self.found[0].rate
        return (
            f"{begun} confuses captions that differ only in {_or(ways)}{more}, against "
            f"{show.percent(base.value)} where any word is replaced. {text}"
        )

    def about(self) -> Sequence[str]:
        return [f"Not measured on new pairs: {self.result.note}."] if self.result.note else ()

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        del allowance  # texts alone
        result, (rows, bases) = self.result, self.categories
        if rows or bases:
            yield Section("Blind spots", list(self._found()), TEXTS["found"] if self.found else "")
        beside = (
            self._model(),
            _grounded(result.grounded) if result.grounded else None,
            _downstream(result.downstream, self._by_people()) if result.downstream else None,
        )
        for table in filter(None, beside):
            yield Section(table.title, [table])
        if result.mined is not None:
            yield Section("Pairs from the corpus", [_mined(result.mined)])
        if rows or bases:
            yield Section("What was looked at and not found", list(self._others()))
        if result.mined is not None:
            how: list[Block] = [_threshold(result.mined), *similarities(result.mined, rows, bases)]
            if result.scores:
                how.append(_scores(result.scores))
            yield Section("How it was measured", how)

    def _found(self) -> Iterator[Block]:
        """The confirmed categories ranked, then the card of each."""
        if not self.found:
            yield Text("None was confirmed.", empty=True)
            return
        ranked = self._ranking()
        yield Html(TEMPLATE, ranked.values(), ranked.markdown(), [ranked.figure()])
        yield Text(TEXTS["examples"])
        yield _examples(self.found)

    def _ranking(self) -> Ranking:
        rows = []
        for rank, one in enumerate(self.found, start=1):
            usual = one.finding.baseline if one.finding is not None else None
            fails = [
                Failing(text=p.first, other=p.second, note=f"similarity {p.tested or 0:.3f}")
                for p in one.failing[:FAILING]
            ]
            mined = f"{show.count(one.mined)} in the corpus"
            rows.append(
                Ranked(
                    str(rank), show.shorten(one.name, 120), one.rate, usual, fails,
                    link=f"category-{rank}", more=(mined,),
                )
            )  # fmt: skip
        return Ranking(
            rows=rows, where="the two texts differ in", what="confused", further=("in the corpus",)
        )

    def _others(self) -> Iterator[Block]:
        """What was not confirmed, what could not be tested, and the baselines."""
        rows, bases = self.categories
        others = [one for one in rows if not one.confirmed]
        found = [
            (show.shorten(one.name, 120), KINDS.get(one.kind, ""), show.rate(one.rate), show.count(one.mined))
            for one in others
        ]
        for name, why in self.result.unmeasured.items():
            found.append((show.shorten(name, 120), "", f"never tested: {why}", ""))
        if others:
            most = max(others, key=lambda one: one.rate.high)
            high = show.at_most(most.rate.high)
            yield Text(
                f"Of {show.plural(len(others), 'other kind')} of differences, none was shown to be confused "
                f"more often than usual. The one that may still be confused most is {most.name}: "
                f"{high} of the time at most, by its own 95 % interval."
            )
        if found:
            head = ("the two texts differ in", "pairs", "confused", "in the corpus")
            yield Table("Not confirmed", TEXTS["others"], head, found)
        usual = [(show.shorten(one.text, 120), show.rate(one.rate)) for one in bases]
        if usual:
            yield Table("What findings are compared with", "", ("pairs", "confused"), usual)

    def _model(self) -> Table | None:
        model = self._asked()
        if model is None:
            return None
        calls = ", ".join(f"{n} {what}" for what, n in model["writing"].items() if n)
        rows = [("failures named", f"{model['named']}; {model['naming'] or 'no answers'}")]
        rows += [(show.shorten(w["name"], 80), f"{w['pairs']} pairs written") for w in model["written"]]
        rows += [("calls for pairs", calls or "none")]
        lost = (model["note"], *model["errors"])
        rows += [("what failed", show.shorten(text, 300)) for text in lost if text]
        return pairs(rows, title="Language model", note="What it gave, and what it did not.")

    def values(self) -> Mapping[str, Any]:
        result, (rows, bases) = self.result, self.categories
        known, tallies = result.plain(), self.run.ledger.tallies().values()
        mined = known["mined"] or {}
        return {
            "threshold": mined.pop("threshold", None),
            "baselines": [row.plain() for row in bases],
            "findings": [f.to_json() for f in self.run.findings],
            "categories": [row.plain() for row in rows],
            "measures": known["scores"],
            "mined": mined or None,
            "language_model": self._asked(),
            "grounded": known["grounded"],
            "downstream": known["downstream"],
            "unmeasured": known["unmeasured"],
            "note": result.note,
            "trials": {"drawn": sum(t.drawn for t in tallies), "errors": sum(t.errors for t in tallies)},
            "errors": errors(self.run),
            "spend": spent(self.run),
        }

    def _asked(self) -> dict[str, Any] | None:
        if not self.run.config.settings.get("llm"):
            return None
        named, written = self.result.named or Named(), list(self.result.written.values())
        answers = [*filter(None, [named.answers]), *(one.answers for one in written)]
        total = sum((one.answers for one in written), Answers())
        return {
            "named": len(named.failures),
            "naming": str(named.answers or ""),
            "errors": [error for one in answers for error in one.errors][:5],
            "note": named.note,
            "writing": {kind: getattr(total, kind) for kind in COUNTED},
            "written": [
                {"name": one.name, "pairs": len(one.pairs), "dropped": one.dropped}
                | {"answers": asdict(one.answers)}
                for one in written
            ],
        }

    def lines(self, wide: int) -> Iterator[str]:
        result, run = self.result, self.run
        mined, (_, bases) = result.mined, self.categories
        if mined is None:
            yield from folded(run.state, wide)
            return
        alike = f"too alike is above {mined.threshold.value:.3f} ({mined.threshold.how})"
        found = f"{show.plural(len(mined.pairs), 'pair')} of {show.count(mined.candidates)} candidates among "
        yield from wrapped("mined", f"{found}{show.count(mined.texts)} texts · {alike}", wide)
        for base in bases:
            yield from wrapped("baseline", f"{_rate(base.rate)}: {base.text}", wide)
        yield "─" * min(wide, 80)
        if self.found:
            yield from self._ranking().lines(wide)
            for one in self.found[0].failing[:1]:
                yield from wrapped("e.g.", f"“{show.shorten(one.first, 200)}”", wide)
                yield from wrapped("", f"“{show.shorten(one.second, 200)}”", wide)
        if result.note:
            yield from folded(f"not measured on new pairs: {result.note}", wide)
        else:
            failures = show.plural(len(self.found), "systematic failure")
            fdr = show.level(float(run.config.settings["fdr"]))
            yield from folded(f"{failures} confirmed on fresh pairs (false-discovery rate ≤ {fdr})", wide)
        yield from self._beside(wide)
        if run.state.startswith("stopped"):
            yield from folded(f"{run.state}; a larger budget may find more", wide)
        tallies, seconds = run.ledger.tallies().values(), float(spent(run).get("seconds", 0.0))
        wrong = show.plural(sum(t.errors for t in tallies), "error")
        took = show.seconds(seconds + sum(mined.seconds.values()))
        yield f"pairs    {show.count(sum(t.drawn for t in tallies))} measured · {wrong} · {took}"
        for error in errors(run)[:3]:
            yield from wrapped("error", show.shorten(f"{error['times']}× {error['what']}", 400), wide)

    def _beside(self, wide: int) -> Iterator[str]:
        scores, model, grounded = self.result.scores, self._asked(), self.result.grounded
        if scores is not None and scores.relevance is not None:
            text = f"{_rate(scores.relevance)} of the new pairs matter for it, by {scores.by}"
            yield from wrapped("topic", text, wide)
        if model is not None:
            wrote = show.plural(sum(one["pairs"] for one in model["written"]), "pair")
            yield f"model    named {show.plural(model['named'], 'failure')}, wrote {wrote}"
            writing = model["writing"]
            lost = ", ".join(f"{writing[kind]} {kind}" for kind in COUNTED[2:] if writing[kind])
            for why in (model["note"], lost and f"of {writing['calls']} calls for pairs: {lost}"):
                if why:
                    yield from wrapped("", why, wide)
            for error in model["errors"][:2]:
                yield from wrapped("", show.shorten(error, 400), wide)
        if grounded is not None:
            blind = [one for one in grounded.rows if one.sight.value == "blind"]
            some = ", ".join(f"{one.name} {show.percent(one.rate)}" for one in (blind or grounded.rows)[:5])
            text = f"{'blind to' if blind else 'worst at'} {some} (50 % is chance)"
            yield from wrapped("pictures", text, wide)
        if (drawn := self.result.downstream) is not None and drawn.rate is not None:
            ends = show.interval(drawn.low, drawn.high)
            yield f"drawn    {show.percent(drawn.rate)} {ends} of {drawn.n} pairs fail, by the matcher"
            for who, told in self._by_people():
                yield f"         {told}, {who}"

    def _by_people(self) -> list[tuple[str, str]]:
        """The share of drawn pairs that fail by people, once two have labelled enough."""
        if (found := by_people(self.run)) is None:
            return []
        one, people = found[0]["failed"], found[1]
        ends = show.interval(one["low"], one["high"])
        return [(f"by {people} people", f"{show.percent(one['rate'])} {ends} of {one['n']:,}")]

    def ending(self) -> Ending:
        folder = str(self.run.folder)
        if not self.run.state.startswith("stopped"):
            return Ending(0, ("export", folder, "--format", "csv"))
        budget = Budget.parse(str(self.run.ledger.fact("budget", self.run.config.settings["budget"])))
        larger = Budget(tuple((kind, 2 * limit) for kind, limit in budget.limits))
        return Ending(3, ("resume", folder, "--budget", str(larger).replace("calls=", "pairs=")))


def _rate(rate: Rate) -> str:
    return f"{show.percent(rate.value)} {show.interval(rate.low, rate.high)} of {show.count(rate.n)}"


def _or(parts: Sequence[str]) -> str:
    """Parts as a sentence names them: "a, b or c"."""
    return " or ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _examples(rows: Sequence[CategoryShown]) -> Html:
    def shown(some: Iterable[PairShown]) -> list[Any]:
        short = (pair._replace(first=_brief(pair.first), second=_brief(pair.second)) for pair in some)
        return [(pair, *marked(pair.first, pair.second)) for pair in short]

    cards = []
    for rank, one in enumerate(rows, start=1):
        kinds = (
            ("Found in the corpus", "found", one.found[:EACH]),
            ("New, confused", "failing", one.failing[:EACH]),
            ("New, told apart", "passing", one.passing[:EACH]),
        )  # fmt: skip
        changes = [(named(c.change), c.alike, c.n) for c in one.changes[:5]]
        cards.append(
            {
                "rank": rank,
                "row": one,
                "changes": changes,
                "kinds": [(title, kind, shown(some)) for title, kind, some in kinds if some],
            }
        )
    head = ("confused", "with", "similarity")
    tables = [
        f"### {escape(one.name, 120)}\n\n"
        + markdown_table(head, [(p.first, p.second, f"{p.tested or 0:.3f}") for p in one.failing])
        for one in rows
    ]
    return Html("weakspot.studies.mine:examples.html.j2", {"cards": cards}, "\n\n".join(tables))


def _brief(text: str) -> str:
    return show.shorten(text, LONGEST)


def _scores(scores: Scores) -> Table:
    rows = [("quantity", show.plural(scores.quantity, "systematic failure"))]
    if scores.success is not None:
        rows.append(("success", f"{show.percent(scores.success)} of new pairs, the mean over failures"))
    if scores.relevance is not None:
        by = show.shorten(str(scores.by), 80)
        rows.append(("relevance", f"{_rate(scores.relevance)} new pairs, by {by}"))
    return pairs(rows, title="Quantity, success, relevance", note="As the published method has them.")


def _mined(mined: Mined) -> Table:
    rows = []
    for p in mined.pairs[:LISTED]:
        texts = show.shorten(p.first, 200), show.shorten(p.second, 200)
        rows.append((*texts, f"{p.tested:.3f}", f"{p.reference:.3f}", p.category))
    struck = ", ".join(f"{show.count(n)} {why}" for why, n in mined.struck.items() if n)
    note = "Confused by the encoder and told apart by the reference, the most alike first; "
    note += f"{len(mined.pairs):,} of {mined.candidates:,} candidates."
    note += f" Passed over: {struck}." if struck else ""
    head = ("text", "text", "encoder", "reference", "category")
    folded = f"{show.plural(len(rows), 'pair')}, the most alike first"
    return Table("Pairs from the corpus", note, head, rows, max(0, len(mined.pairs) - LISTED), folded)


def _threshold(mined: Mined) -> Table:
    how, rule = mined.threshold, mined.rule
    rows = [("too alike is above", f"{how.value:.4f} ({how.how})")]
    if how.share is not None and how.random is not None:
        rows.append(("random pairs", f"{show.level(how.share)} are below {how.random:.4f}"))
    if how.reworded is not None:
        rows.append(("captions reworded", f"95 % are above {how.reworded:.4f}"))
    rows.append(("mined above", f"{rule.above:.4f}"))
    apart = f"below {rule.below:.4f}" if rule.below is not None else f"lower by more than {rule.gap:g}"
    rows.append(("told apart by the reference", apart))
    note = TEXTS["calibrated"] if how.how == "calibrated" else ""
    return pairs(rows, title="Threshold", note=note)


def _grounded(found: Grounded) -> Table:
    rows = []
    for one in found.rows:
        prefers = f"{show.percent(one.rate)} {show.interval(one.low, one.high)}"
        name, pairs_of = show.shorten(one.name, 60), show.count(one.pairs)
        rows.append((name, one.category, prefers, pairs_of, one.sight.value))
    control = show.percent(found.control.rate)
    note = TEXTS["grounded"].format(images=show.count(found.images), control=control)
    head = ("change", "category", "prefers its caption", "pairs", "sight")
    return Table("With pictures", note, head, rows)


def _downstream(found: Downstream, by_people: Sequence[tuple[str, str]]) -> Table | None:
    if found.rate is None:
        return None
    ends = show.interval(found.low, found.high)
    rows = [("pairs that fail, by the matcher", f"{show.percent(found.rate)} {ends} of {found.n:,}")]
    rows += [(f"pairs that fail, {who}", told) for who, told in by_people]
    return pairs(rows, title="Downstream", note=TEXTS["downstream"])
