"""Images until a classifier's bugs are found: the published protocol against `weakspot hunt`, in one run.

    python benchmarks/hunt_cost.py [--source world:renderer] [--pairs 10] [--json FILE] [--picture FILE]

The pairs (label, wrong answer) are the strongest of `weakspot.world.classifier.weak_spots()`: in its order,
one for each label, no wrong answer more than twice. For each pair:

- published (Wiles, Albuquerque and Gowal, arXiv 2208.08831): the baseline prompt is drawn until 20 target
  failures; the captions of these 20 images are split into sentences; each sentence with the base prompt is
  drawn until 20 target failures, nothing is raced; then the best one without its adjectives. The caption with
  the highest rate is reported from the images that selected it. A caption that has been drawn as often as the
  baseline is given up (it is no worse, and the paper would have gone on); other limits are shown beside.
- ours, for the same findings: `hunt(label=…, target_label=…, edits=0)` with a budget of 1,500 images, then
  of twice as many, until it says the caption that the protocol reports and at least as many true ones; the
  images of all these hunts count.
- ours, as it is by default: one hunt with `--budget`; all images that it drew count. It looks for more than
  the protocol does, and for conditions that matter only together; with `--sentences 3,1` it is run once more
  with single sentences alone, the protocol's own kind of caption, and shown beside.

A finding is true if it fails more often than the baseline on fresh images that neither method saw.

Of a published caption at most `--probe` images are drawn. What it still needs is arithmetic: its rate is
taken as what was seen together with one failure at the baseline's rate, (k + 1) / (m + 1 / baseline) after k
failures in m images; and, as the generous reading, as (k + 1) / (m + 1), which is more than was seen. A
caption whose 20 failures were not all drawn is counted among those that the protocol reports only if it is
significantly above the baseline, so that its false findings are not overstated. A baseline that has not
failed 20 times after `--most` images counts as if it had needed no more.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.frugal import baseline_per_draw, exceeds_each_frugal

from benchmarks import hunt_cost_show as show
from benchmarks import sequential
from weakspot import hunt
from weakspot.concepts.rules import sentences_of
from weakspot.core import MODELS, SOURCES, Case, Hypothesis, Status, WeakspotError
from weakspot.core.ports import understands
from weakspot.engine import Lane, Watch
from weakspot.engine.executor import local
from weakspot.stats import exceeds, log_evidence_below
from weakspot.studies.hunt.parts import HuntParts, load
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study.labels import base_hypothesis
from weakspot.text.sentences import sentences, without_adjectives
from weakspot.world.classifier import weak_spots

TARGET: Final = "world:classifier"
#: The published stop rule: so many target failures.
WANTED: Final = 20
#: Limits per caption: what each is called, and its number (None: as many as the baseline needed).
LIMITS: Final[Mapping[str, int | None]] = {
    "baseline's number": None,
    "1,000": 1_000,
    "10,000": 10_000,
    "50,000": 50_000,
    "1,000,000": 1_000_000,
}
HEADLINE: Final = "baseline's number"
#: A weak spot is strong if its true rate is so many times the baseline's.
STRONG: Final = 3.0
#: Findings of a hunt at most.
MOST_FOUND: Final = 8
#: Sentences of a description of all failures together (the paper's own captions have 4 to 7).
DESCRIBED: Final = 5
BATCH: Final = 128
#: What a picture source needs that does not know what it drew.
CAPTIONER, VERIFIER = "world:captioner", "world:classifier-fair"


class Pair(NamedTuple):
    """A label, and the wrong answer that counts."""

    label: str
    answer: str


class Sampled(NamedTuple):
    """Images drawn of a caption and the target failures among them."""

    sentence: str
    drawn: int
    failures: int

    @property
    def rate(self) -> float:
        return self.failures / max(self.drawn, 1)

    def needed(self, prior: float) -> float:
        """Images until the wanted failures; those not drawn at the rate seen and one failure in `prior`."""
        left = max(WANTED - self.failures, 0)
        return self.drawn + left * (self.drawn + prior) / (self.failures + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is run.

    Attributes:
        source: What draws.
        budget: Of our hunt, in images.
        probe: Images drawn of a published caption at most.
        most: Images drawn of a baseline at most.
        fresh: Images drawn at most to learn whether a finding is true.
        seed: Of everything.
        first: Images of the first of our hunts for the same findings.
        last: Of the last one at most.
        sentences: For each, a hunt with captions of at most so many sentences; the first is the headline.
        verifier: The second opinion, where the source can err.
    """

    source: str = "world:renderer"
    budget: int = 20_000
    probe: int = 1_000
    most: int = 60_000
    fresh: int = 2_048
    seed: int = 1
    first: int = 1_500
    last: int = 48_000
    sentences: tuple[int, ...] = (3, 1)
    verifier: str = VERIFIER

    @property
    def helpers(self) -> dict[str, Any]:
        if self.source.startswith("world:renderer"):
            return {}
        return {"captioner": CAPTIONER, "verify": (self.verifier,)}

    def settings(self, pair: Pair) -> HuntSettings:
        return HuntSettings(
            target=TARGET, label=pair.label, target_label=pair.answer, source=self.source, **self.helpers
        )


def pairs(n: int) -> list[Pair]:
    """The strongest learned weak spots as (label, wrong answer): labels distinct, answers at most twice."""
    found: list[Pair] = []
    times: Counter[str] = Counter()
    for spot in weak_spots(n=100_000):
        new = spot.subject not in {pair.label for pair in found}
        if new and times[spot.mostly] < 2 and len(found) < n:
            found.append(Pair(spot.subject, spot.mostly))
            times[spot.mostly] += 1
    return found


# -- drawing ---------------------------------------------------------------------------------------


def _drawn(source: Any, seed: int, hypothesis: Hypothesis, indices: range) -> list[Case]:
    cases: list[Case] = source.draw(hypothesis, indices, seed=seed)
    return cases


def draw(
    parts: HuntParts, hypothesis: Hypothesis, *, failures: int, most: int, seed: int, start: int = 0
) -> tuple[int, list[Case]]:
    """Draw until so many failures, or so many images.

    Returns:
        The images drawn (the last of them fails, if the failures were reached), and the failing cases.
    """
    found: list[Case] = []
    batches = (range(i, min(i + BATCH, start + most)) for i in range(start, start + most, BATCH))

    def judged(cases: list[Case]) -> list[Case]:
        verdicts = parts.verdicts.judge(cases, parts.target.answer(cases))
        both = zip(cases, verdicts, strict=True)
        return [case for case, v in both if v.failed and v.status is not Status.INVALID]

    with local(parts.source) as executor:
        for some in executor.stream(batches, partial(_drawn, parts.source, seed, hypothesis), judged):
            found += some
            if len(found) >= failures:
                return found[failures - 1].index - start + 1, found[:failures]
    return most, found


def extended(base: Hypothesis, *words: str) -> Hypothesis:
    return Hypothesis(" ".join([base.text, *words]))


# -- the published protocol ------------------------------------------------------------------------


def published(parts: HuntParts, base: Hypothesis, plan: Plan) -> dict[str, Any]:
    """All of the protocol on one pair: what was drawn, what it costs under each limit, what it reports."""
    n, failing = draw(parts, base, failures=WANTED, most=plan.most, seed=plan.seed)
    usual = Sampled("", n, len(failing))
    texts = [case.caption for case in failing]
    if parts.captioner is not None and failing:
        texts = parts.captioner.captions([case.input for case in failing], prefix=base.text)
    known, fits = {*sentences(base.text)}, partial(understands, parts.source)
    times = Counter(s for text in texts for s in {*sentences(text)} - known)
    said_of = {s: k for s, k in sorted(times.items()) if fits(f"{base.text} {s}")}

    def sample(sentence: str) -> Sampled:
        most = min(plan.probe, usual.drawn)
        n, failing = draw(parts, extended(base, sentence), failures=WANTED, most=most, seed=plan.seed)
        return Sampled(sentence, n, len(failing))

    captions = [sample(sentence) for sentence in said_of]
    if captions:
        plain = without_adjectives(max(captions, key=lambda c: c.rate).sentence)
        if plain not in said_of:
            captions.append(sample(plain))
    limit = usual.drawn
    counts = usual.failures, usual.drawn
    worse = [
        c
        for c in captions
        if (c.drawn < limit if c.failures == WANTED else exceeds(c.failures, c.drawn, *counts))
    ]
    winner = max(worse, key=lambda c: c.rate, default=None)
    few = [s for s, _ in Counter(said_of).most_common(DESCRIBED)]
    likely = {c.sentence: c.needed(limit / max(usual.failures, 1)) for c in captions}
    return {
        "baseline": usual._asdict(),
        "captions": [c._asdict() | {"needed": likely[c.sentence]} for c in captions],
        "images": {
            name: limit + sum(min(needed, most or limit) for needed in likely.values())
            for name, most in LIMITS.items()
        },
        "generous": limit + sum(min(c.needed(1), limit) for c in captions),
        "described": limit + sum(min(likely[s], limit) for s in few),
        "winner": winner.sentence if winner else "",
        "winner_rate": winner.rate if winner else 0.0,
        "listed": [c.sentence for c in worse],
    }


# -- ours ------------------------------------------------------------------------------------------


class Phases(Watch):
    """Counts the images of each phase of a hunt."""

    def __init__(self) -> None:
        self.images: Counter[str] = Counter()

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        """See `Watch`."""
        self.images[phase] += int(spent.get("images", 0)) - self.images.total()


def ours(pair: Pair, plan: Plan, most_sentences: int, budget: int) -> dict[str, Any]:
    """Our hunt for one pair: its images by phase, and what it confirmed."""
    phases = Phases()
    with tempfile.TemporaryDirectory() as folder:
        run = hunt(
            TARGET,
            label=pair.label,
            target_label=pair.answer,
            source=plan.source,
            budget=f"images={budget}",
            seed=plan.seed,
            sentences=most_sentences,
            edits=0,
            out=Path(folder) / "run",
            watch=phases,
            **plan.helpers,
        )
        images, state = int(run.ledger.spend().get("images", 0)), run.state
        found = [finding for finding in run.findings if finding.confirmed]
        run.close()
    return {
        "images": images,
        "phases": dict(phases.images),
        "state": state,
        "findings": {f.phrase: f.rate.value for f in found},
    }


def the_same(
    pair: Pair, plan: Plan, theirs: Mapping[str, Any], true: Callable[[Sequence[str]], Mapping[str, Any]]
) -> dict[str, Any]:
    """Our hunts with growing budgets until they find what the protocol does; what all of them cost.

    Args:
        pair: The label and the wrong answer.
        plan: What is run.
        theirs: What the protocol reported.
        true: Measures phrases on fresh images.
    """
    known = true(theirs["listed"])
    wanted = sum(known[s]["true"] for s in theirs["listed"])
    images, budget = 0, plan.first
    while True:
        mine = ours(pair, plan, plan.sentences[0], budget)
        images += mine["images"]
        found = list(mine["findings"])
        right = sum(one["true"] for one in true(found).values())
        said_it = not theirs["winner"] or any(alike(theirs["winner"], s) for s in found)
        if (said_it and right >= min(wanted, MOST_FOUND)) or 2 * budget > plan.last:
            same = said_it and right >= min(wanted, MOST_FOUND)
            return {
                "images": images,
                "last_budget": budget,
                "same": same,
                "winner": said_it,
                "findings": mine["findings"],
                "true": right,
                "ratio": theirs["images"][HEADLINE] / images if same else 0.0,
                "generous": theirs["generous"] / images if same else 0.0,
            }
        budget *= 2


# -- truth -----------------------------------------------------------------------------------------


def true_rates(
    parts: HuntParts, base: Hypothesis, phrases: Sequence[str], usual: Mapping[str, Any], plan: Plan
) -> dict[str, dict[str, Any]]:
    """Each phrase on images that no method saw, until it is clear on which side of the baseline it is."""
    known = usual["failures"], usual["drawn"]
    found = {}
    for phrase in phrases:
        n = failures = 0
        while n < plan.fresh:
            more = min(max(n, plan.fresh // 8), plan.fresh - n)
            _, failing = draw(
                parts, extended(base, phrase), failures=more + 1, most=more, seed=plan.seed + 10**6, start=n
            )
            n, failures = n + more, failures + len(failing)
            if exceeds(failures, n, *known, alpha=0.001):
                break
            if log_evidence_below(failures, n, *known, factor=1.0) >= math.log(1000):
                break
        lift = failures / n / (known[0] / known[1]) if known[0] else math.inf
        found[phrase] = {"n": n, "failures": failures, "lift": lift, "true": lift > 1}
    return found


def alike(one: str, other: str) -> bool:
    """Whether two phrases say the same, or one says all that the other does and more."""
    a, b = frozenset(sentences(one)), frozenset(sentences(other))
    return a <= sentences_of(other) or b <= sentences_of(one)


def compare(pair: Pair, plan: Plan) -> dict[str, Any]:
    """Both methods on one pair, and the truth of what they report."""
    settings = plan.settings(pair)
    parts = load(settings)
    base = base_hypothesis(settings.task, parts.words, pair.label)
    theirs = published(parts, base, plan)
    truth: dict[str, dict[str, Any]] = {}

    def true(phrases: Sequence[str]) -> dict[str, dict[str, Any]]:
        new = [phrase for phrase in dict.fromkeys(phrases) if phrase not in truth]
        truth.update(true_rates(parts, base, new, theirs["baseline"], plan))
        return {phrase: truth[phrase] for phrase in phrases}

    same = the_same(pair, plan, theirs, true)
    mine = {str(n): ours(pair, plan, n, plan.budget) for n in plan.sentences}
    for one in mine.values():
        true(list(one["findings"]))
    strong = [s for s in theirs["listed"] if truth[s]["lift"] >= STRONG]
    for one in mine.values():
        own = one["findings"]
        one |= {
            "ratio": theirs["images"][HEADLINE] / one["images"],
            "true": sum(truth[s]["true"] for s in own),
            "false": sum(not truth[s]["true"] for s in own),
            "winner": any(alike(theirs["winner"], s) for s in own),
            "strong": sum(any(alike(s, phrase) for phrase in own) for s in strong),
            "alone": sum(truth[s]["true"] and not any(alike(s, p) for p in theirs["listed"]) for s in own),
        }
    theirs |= {
        "true": sum(truth[s]["true"] for s in theirs["listed"]),
        "false": sum(not truth[s]["true"] for s in theirs["listed"]),
        "strong": len(strong),
    }
    name = f"{pair.label} → {pair.answer}"
    return {"pair": name, "published": theirs, "same": same, "ours": mine, "truth": truth}


# -- the paper's own rates, and all together -------------------------------------------------------


def simulated(repeats: int) -> dict[str, Any]:
    """The sequential decision at the paper's rates (benchmarks/sequential.py), power and level measured."""
    rows = [sequential.measure(pair, repeats) for pair in sequential.PAPER]
    errors = [
        float(
            sequential.duels(
                p1,
                p0,
                exceeds_each_frugal,
                per_draw=baseline_per_draw(),
                lazy=8,
                most_failures=150,
                repeats=min(repeats, 2000),
            ).decided.mean()
        )
        for p1, p0 in sequential.NULLS
    ]
    return {"rows": rows, "false_decisions": max(errors), "level": sequential.ALPHA, "repeats": repeats}


def summary(rows: Sequence[Mapping[str, Any]], sentences: str) -> dict[str, Any]:
    """Over all pairs: median ratios under each limit, false-discovery rates, who found what."""
    theirs, mine = [row["published"] for row in rows], [row["ours"][sentences] for row in rows]

    def fewer(images: Sequence[float]) -> float:
        return median(float(n / own["images"]) for n, own in zip(images, mine, strict=True))

    def total(of: Sequence[Mapping[str, Any]], *keys: str) -> int:
        return sum(one[key] for one in of for key in keys)

    return {
        "median_ratio_same": median(row["same"]["ratio"] for row in rows),
        "median_ratio_same_generous": median(row["same"]["generous"] for row in rows),
        "same": sum(row["same"]["same"] for row in rows),
        "median_ratio": {name: fewer([one["images"][name] for one in theirs]) for name in LIMITS},
        "median_ratio_generous": fewer([one["generous"] for one in theirs]),
        "median_ratio_described": fewer([one["described"] for one in theirs]),
        "fdr_ours": total(mine, "false") / max(total(mine, "true", "false"), 1),
        "fdr_published": total(theirs, "false") / max(total(theirs, "true", "false"), 1),
        "findings_ours": total(mine, "true", "false"),
        "findings_published": total(theirs, "true", "false"),
        "winners_ours": total(mine, "winner"),
        "strong": total(theirs, "strong"),
        "strong_ours": total(mine, "strong"),
        "alone_ours": total(mine, "alone"),
    }


def absent(plan: Plan) -> str:
    """Why a plan cannot be run; "" if it can."""
    names = [(SOURCES, plan.source)]
    if plan.helpers:
        names += [(MODELS, name) for name in (CAPTIONER, plan.verifier)]
    try:
        for registry, name in names:
            registry.find(name)
    except WeakspotError as error:
        return error.what
    return ""


def run(
    plan: Plan, *, n: int, skip: int = 0, repeats: int, json_file: Path | None, picture: Path | None
) -> None:
    """Everything, printed as it comes."""
    results: dict[str, Any] = {"plan": asdict(plan), "limit": HEADLINE, "rows": []}
    if repeats:
        results["simulated"] = simulated(repeats)
        print(show.simulated(results["simulated"]), flush=True)
    if why := absent(plan):
        print(f"skipped: {plan.source} is not there ({why})")
    else:
        print(f"\n{show.heading()}", flush=True)
        for pair in pairs(n)[skip:]:
            began = time.monotonic()
            row = compare(pair, plan) | {"seconds": time.monotonic() - began}
            results["rows"].append(row)
            results["summary"] = {n: summary(results["rows"], n) for n in row["ours"]}
            print(show.lines(row), flush=True)
            if json_file:
                json_file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
        if results["rows"]:
            print(show.totals(results))
    if json_file:
        json_file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if picture and results["rows"]:
        picture.write_text(show.picture(results), "utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--source", default="world:renderer")
    parser.add_argument("--pairs", type=int, default=10, help="so many pairs")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first so many of them")
    parser.add_argument("--budget", type=int, default=20_000, help="images of one of our hunts at most")
    parser.add_argument("--probe", type=int, default=1_000, help="images of a published caption at most")
    parser.add_argument("--most", type=int, default=60_000, help="images drawn of a baseline at most")
    parser.add_argument("--sentences", default="3,1", help="of our captions at most, for each a hunt")
    parser.add_argument("--verifier", default=VERIFIER, help="the second opinion on a generator's pictures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=4_000, help="simulated tests of the paper's rates")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path, help="an SVG file")
    parser.add_argument("--show", type=Path, help="draw nothing: tables and picture from an earlier --json")
    parser.add_argument("--markdown", action="store_true", help="with --show: the pairs as Markdown")
    given = parser.parse_args(arguments)
    if given.show:
        earlier = json.loads(given.show.read_text("utf-8"))
        print(show.markdown(earlier) if given.markdown else show.everything(earlier))
        if given.picture:
            given.picture.write_text(show.picture(earlier), "utf-8")
        return
    plan = Plan(
        source=given.source,
        budget=given.budget,
        probe=given.probe,
        most=given.most,
        seed=given.seed,
        sentences=tuple(int(n) for n in given.sentences.split(",")),
        verifier=given.verifier,
    )
    run(
        plan,
        n=given.pairs,
        skip=given.skip,
        repeats=given.repeats,
        json_file=given.json,
        picture=given.picture,
    )


if __name__ == "__main__":
    main()
