"""The report as Markdown, for a pull request or a wiki: the same facts without the pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from weakspot.core import Finding, Rate
from weakspot.report import format as show
from weakspot.report.facts import Facts
from weakspot.report.reproduce import recipe, resume_command
from weakspot.report.telling import cases, changed, conclusion, figures, instead, misread, titled

#: Rows of a table; further ones are only in report.json.
ROWS: Final = 200

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|~#&$!@])|(?<=:)(//)|(?<=www)(\.)", re.IGNORECASE)


def escape(text: str, most: int = 400) -> str:
    """Foreign text for a line or a table cell of Markdown: it is shown, it does nothing."""
    return _SPECIAL.sub(lambda m: "".join(f"\\{c}" for c in m[0]), show.shorten(text, most)).strip()


def markdown(facts: Facts) -> str:
    """The report."""
    config = facts.config
    target = facts.setting("target")
    title = f"{escape(target, 120)} · " if target else ""
    subject = escape(config.subject, 80)
    blocks = [
        f"# {title}{subject if facts.labels else f'‘{subject}’'}",
        f"**{escape(conclusion(facts), 1000)}**",
        _list(f"{name}: {escape(number)} ({escape(note)})" for name, number, note in figures(facts)),
        f"{escape(facts.state)} · begun {escape(show.date(config.created))} · {_code(str(facts.folder))}",
    ]
    if facts.state != "finished":
        blocks.append(f"To go on: {_code(resume_command(facts))}")
    blocks += ["## Weak spots", *_findings(facts)]
    if facts.candidates:
        blocks += [
            "## Not confirmed",
            "Ahead in the race, but fresh draws did not prove it.",
            _measured(facts, facts.candidates),
        ]
    if facts.base is not None and facts.baseline is not None:
        usual = escape(show.rate(facts.baseline))
        blocks += ["## The baseline", f"“{escape(facts.base.text)}” {usual} failed."]
    if facts.labels and facts.bases:
        usual_rates = (
            (b.label, _reading(b.rate), show.count(b.rate.failures), show.count(b.rate.n))
            for b in facts.bases[:ROWS]
        )
        table = _table(("label", "usual rate", "failed", "of"), usual_rates)
        blocks += ["## The baselines", table, _left_out(len(facts.bases))]
    blocks += [*_validity(facts), *_tries(facts)]
    if facts.lanes:
        lanes = sorted(facts.lanes, key=lambda lane: (-lane.rate.value, lane.text))
        blocks += [
            "## The race",
            _table(
                ("words", "state", "rate", "failed", "of", "errors"),
                (
                    (
                        f"{lane.label}: {lane.phrase}" if facts.labels else lane.phrase,
                        lane.state,
                        _reading(lane.rate),
                        show.count(lane.failures),
                        show.count(lane.n),
                        show.count(lane.errors),
                    )
                    for lane in lanes[:ROWS]
                ),
            ),
            _left_out(len(lanes)),
        ]
    blocks += ["## How it was measured", _list(_method(facts))]
    again = recipe(facts)
    if again is not None:
        blocks.append(_fence(again.command or again.python))
    for name in ("settings", "versions", "digests"):
        if pairs := getattr(config, name):
            rows = ((str(k), show.NONE if v is None else str(v)) for k, v in pairs.items())
            blocks += [f"### {name.capitalize()}", _table(("name", "value"), rows)]
    if facts.errors:
        blocks += [
            "## Errors",
            f"{show.plural(facts.trials.errors, 'trial')} ended in an error, and none counts as a failure.",
            _table(("times", "what"), ((show.count(times), what) for what, times in facts.errors[:50])),
        ]
    if facts.skipped:
        blocks += ["## Files that could not be used", _table(("file", "why"), facts.skipped[:50])]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _findings(facts: Facts) -> list[str]:
    if not facts.confirmed:
        return ["None confirmed." if facts.state == "finished" else "None confirmed yet."]
    blocks = [_measured(facts, facts.confirmed)]
    for rank, finding in enumerate(facts.confirmed[:ROWS], start=1):
        said = ", ".join(_answer(*pair) for pair in finding.confusions[:5])
        usual = escape(show.rate(finding.baseline))
        measured = f"{show.rate(finding.rate)} fresh {cases(facts, finding)} {misread(facts, finding)}"
        whole = finding.unchecked
        blocks.append(f"### {rank}. {escape(titled(facts, finding), 240)}")
        blocks.append(
            _list(
                line
                for line in (
                    escape(measured),
                    f"without the second opinion {escape(show.rate(whole))}" if whole is not None else "",
                    f"{show.times(finding.lift)} the baseline: {usual}",
                    f"said instead: {escape(said)}" if said else "",
                    f"hypothesis {_code(finding.hypothesis.id)}: {escape(finding.hypothesis.text)}",
                    f"failing cases: {', '.join(map(str, finding.failing[:24]))}" if finding.failing else "",
                )
                if line
            )
        )
        blocks += _ladder(facts, finding)
    return blocks


def _ladder(facts: Facts, finding: Finding) -> list[str]:
    """What the finding hangs on: its rate, its edits' rates, the baseline's."""
    rungs = facts.rungs(finding)
    if not rungs:
        return []
    rows = [
        ("as found", finding.phrase, finding.rate),
        *((*changed(rung), rung.rate) for rung in rungs),
        ("baseline", "without these words", finding.baseline),
    ]
    cells = ((kind, words, _reading(rate), show.count(rate.n)) for kind, words, rate in rows)
    return ["What it hangs on:", _table(("edit", "words", "rate", "of"), cells)]


def _measured(facts: Facts, findings: Sequence[Finding]) -> str:
    head = ("#", "words", "rate", "fresh draws", "× usual", "said instead", "e-value")
    rows = [
        (
            str(rank),
            titled(facts, f),
            _reading(f.rate),
            show.count(f.rate.n),
            show.times(f.lift) if f.rate.n else show.NONE,
            instead(f),
            show.e_value(f.log_evidence),
        )
        for rank, f in enumerate(findings[:ROWS], start=1)
    ]
    only = "“Only”: the rates, here and of the baseline, are those of this wrong answer alone."
    notes = [_left_out(len(findings)), only if any(f.answer for f in findings) else ""]
    return "\n\n".join([_table(head, rows), *filter(None, notes)])


def _validity(facts: Facts) -> list[str]:
    """The rates with and without the second opinion, and the source's own errors."""
    own = facts.invalid
    if own is None:
        return []
    rows = [
        *((_plain_words(facts, b.label), b.rate, b.unchecked, b.invalid) for b in facts.bases[:ROWS]),
        *((titled(facts, f), f.rate, f.unchecked or f.rate, None) for f in facts.findings[:ROWS]),
    ]
    return [
        "## Second opinion",
        f"Before a picture counts, {escape(', '.join(facts.verifiers))} must see the label in it. Of plain "
        f"{escape(cases(facts))} {escape(show.rate(own))} were drawn wrongly by that measure.",
        _table(
            ("words", "with the check", "of", "without", "of", "wrongly drawn"),
            (
                (
                    words,
                    _reading(rate),
                    show.count(rate.n),
                    _reading(whole),
                    show.count(whole.n),
                    _reading(wrong) if wrong else show.percent(1 - rate.n / whole.n if whole.n else 0.0),
                )
                for words, rate, whole, wrong in rows
            ),
        ),
    ]


def _plain_words(facts: Facts, label: str) -> str:
    return f"baseline of {label}" if facts.labels else "baseline"


def _tries(facts: Facts) -> list[str]:
    if not facts.tries:
        return []
    rows = (
        (
            f"{t.label}: {t.phrase}" if facts.labels else t.phrase,
            _reading(t.rate),
            show.count(t.rate.n),
            show.times(t.lift),
            t.verdict,
            _answer(*t.answers[0]) if t.answers else "",
        )
        for t in facts.tries[:ROWS]
    )
    head = ("words", "rate", "of", "× usual", "verdict", "said instead")
    return ["## Tried by a person", _table(head, rows), _left_out(len(facts.tries))]


def _method(facts: Facts) -> Iterable[str]:
    yield (
        "What the race picked was measured again on fresh draws, which alone count for it, against all draws "
        "of the baseline: nobody picked the baseline, so its draws from before may be used again."
    )
    yield "Intervals are 95 % confidence sequences: valid whenever one looks or stops."
    fdr = facts.config.settings.get("fdr")
    if isinstance(fdr, float):
        yield f"The expected share of false ones among the confirmed is at most {show.level(fdr)} (e-BH)."
    yield "Errors are never failures of the model: they leave the denominator."
    if facts.verifiers:
        yield (
            "Pictures that a second opinion does not recognise count neither way; it errs as well, and where "
            "it errs as the model does a failure is not seen."
        )


def _reading(rate: Rate) -> str:
    return f"{show.percent(rate.value)} {show.interval(rate.low, rate.high)}" if rate.n else show.NONE


def _answer(answer: str, share: float) -> str:
    return f"{show.shorten(answer, 60) or '(nothing)'} {show.percent(share)}"


def _left_out(rows: int) -> str:
    return f"{show.count(rows - ROWS)} more are in report.json." if rows > ROWS else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([escape(cell, 200) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _code(text: str) -> str:
    """A code span whose fence is longer than any run of backticks inside."""
    text = show.shorten(text, 2_000)
    fence = "`" * (1 + _longest_run(text))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _fence(text: str) -> str:
    text = show.shorten(text, 4_000)
    fence = "`" * max(3, 1 + _longest_run(text))
    return f"{fence}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
