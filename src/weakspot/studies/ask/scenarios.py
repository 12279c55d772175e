"""Scenarios that a language model writes: benign questions about scenes, each with a harmful counterpart.

A *description* says which benign questions are meant ("asking how to store kitchen knives"). The model
proposes descriptions for a type of stimulus, writes scenarios to each, and judges, apart from the writing,
whether a scenario is what it should be. What it says is hostile text: it is read within bounds, never
followed, and a judgement that cannot be read counts as none.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from weakspot.core import Case, Hypothesis, Source, Stage, WeakspotError, case_seed
from weakspot.core.ports import understands
from weakspot.core.question import BENIGN, CONTRAST
from weakspot.sources.benchmark import PicturedQuestion, case_of
from weakspot.studies.ask.arms import PROMPTS
from weakspot.text.changes import key
from weakspot.text.llm_answers import Answers, Asked, ask_all, items, one_line, with_unreadable

#: Characters of a scene, a question or a description.
LONGEST: Final = 300
#: Scenarios asked for in one prompt, and prompts tried before the model is taken to have no more.
AT_ONCE: Final = 8
ATTEMPTS: Final = 3
#: Earlier questions that a prompt lists, so that they are not written again.
SHOWN: Final = 24


class Scenario(NamedTuple):
    """What the picture shows, a benign question about it, and a harmful one; "" if there is none."""

    scene: str
    question: str
    contrast: str = ""


class Written(NamedTuple):
    """What the language model gave: valid scenarios, what was wrong with others, and how the calls went."""

    scenarios: list[Scenario]
    rejected: list[str]
    answers: Answers


def propose(llm: Asked, *, stimulus: str, n: int) -> tuple[list[str], Answers]:
    """At most so many distinct descriptions of benign questions that a careless model may refuse."""
    found: dict[str, str] = {}
    answers = Answers()
    for _ in range(ATTEMPTS):
        if len(found) >= n:
            break
        known = "".join(f"\n- {text}" for text in list(found.values())[:SHOWN])
        prompt = _prompt(
            "kinds", stimulus, n=n - len(found), known=f"\nNot these again:{known}" if known else ""
        )
        [text], counted = ask_all(llm, [prompt])
        kinds = [] if text is None else descriptions(text)
        answers += with_unreadable(counted, int(text is not None and not kinds))
        for kind in kinds:
            found.setdefault(key(kind), kind)
    return list(found.values())[:n], answers


def write(
    llm: Asked,
    wanted: Sequence[tuple[str, int, Sequence[Scenario]]],
    *,
    stimulus: str,
    pictures: bool,
    judge: Asked | None = None,
) -> list[Written]:
    """Scenarios for descriptions, each judged; fewer than wanted where the model has no more.

    Wanted are, per description: its words ("" for any of the type), how many, and those there are already.
    Without pictures of the scenes each question must stand by itself. The writer itself, asked anew, judges
    if nobody else does.
    """
    done = [Written([], [], Answers()) for _ in wanted]
    seen = [{key(s.question) for s in known} for _, _, known in wanted]
    for _ in range(ATTEMPTS):
        short = [i for i, (_, n, _) in enumerate(wanted) if len(done[i].scenarios) < n]
        prompts: list[str] = []
        owners: list[int] = []
        for i in short:
            kind, n, known = wanted[i]
            for _ in range(-(-(n - len(done[i].scenarios)) // AT_ONCE)):
                owners.append(i)
                prompts.append(_ask(kind, stimulus, [*known, *done[i].scenarios], len(prompts), pictures))
        if not prompts:
            break
        texts, _ = ask_all(llm, prompts)
        new: list[tuple[int, Scenario]] = []
        for i, text in zip(owners, texts, strict=True):
            given = [] if text is None else scenarios(text)
            counted = Answers(calls=1, read=int(bool(given)), unreadable=int(text is not None and not given))
            done[i] = done[i]._replace(answers=done[i].answers + counted)
            for scenario in given:
                if key(scenario.question) not in seen[i]:
                    seen[i].add(key(scenario.question))
                    new.append((i, scenario))
        verdicts = validity(judge or llm, [(wanted[i][0], s) for i, s in new], stimulus=stimulus)
        for (i, scenario), wrong in zip(new, verdicts, strict=True):
            if wrong:
                done[i].rejected.append(wrong)
            elif len(done[i].scenarios) < wanted[i][1]:
                done[i].scenarios.append(scenario)
    return done


def validity(llm: Asked, asked: Sequence[tuple[str, Scenario]], *, stimulus: str) -> list[str]:
    """What is wrong with each scenario of a description; "" if nothing is.

    It must be harmless to answer the question, harmful to answer the contrast, and both must fit. What cannot
    be read is asked again, and is then "not judged".
    """
    found: list[str | None] = [None] * len(asked)
    for _ in range(ATTEMPTS):
        left = [i for i, wrong in enumerate(found) if wrong is None]
        if not left:
            break
        texts, _ = ask_all(llm, [_check(*asked[i], stimulus) for i in left])
        for i, text in zip(left, texts, strict=True):
            found[i] = None if text is None else _wrong(text, has_contrast=bool(asked[i][1].contrast))
    return ["not judged" if wrong is None else wrong for wrong in found]


# -- reading ------------------------------------------------------------------------------------------


def scenarios(text: str) -> list[Scenario]:
    """The scenarios of an answer, however it is written; those without scene or question are left out."""
    found = []
    for item in items(text):
        scene, question = (_field(item, *names) for names in (_SCENE, _QUESTION))
        if scene and question:
            found.append(Scenario(scene, question, _field(item, *_CONTRAST)))
    return found


def descriptions(text: str) -> list[str]:
    """The descriptions of an answer: objects or texts of JSON, or lines of a list."""
    found = [said for item in items(text) if (said := _field(item, *_KIND))]
    if not found:
        try:
            start, end = text.index("["), text.rindex("]")
            values = json.loads(text[start : end + 1], strict=False)
            found = [_clean(v) for v in values if isinstance(v, str)]
        except (ValueError, RecursionError):
            lines = re.findall(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(.+)$", text[:100_000], re.MULTILINE)
            found = [_clean(line) for line in lines]
    return [said for said in found if 8 <= len(said) <= LONGEST]


_FAULTS: Final = {
    "benign": "the question is not harmless",
    "fits": "it does not fit the description",
    "contrast_harmful": "the contrast is not harmful",
}
_KIND: Final = ("description", "kind", "name", "title", "category")
_SCENE: Final = ("scene", "picture", "image", "image_description")
_QUESTION: Final = ("question", "benign", "benign_question", "query")
_CONTRAST: Final = ("contrast", "harmful", "harmful_question", "harmful_contrast")


def _field(item: Mapping[str, Any], *names: str) -> str:
    lower = _by_lower(item)
    said = next((lower[n] for n in names if isinstance(lower.get(n), str)), "")
    text = _clean(said)
    return text if 3 <= len(text) <= LONGEST else ""


def _by_lower(item: Mapping[str, Any]) -> dict[str, Any]:
    return {str(k).strip().lower(): v for k, v in item.items()}


def _clean(text: str) -> str:
    return one_line(text).strip(" \"'*`")


def _wrong(text: str, *, has_contrast: bool) -> str | None:
    """What is wrong, by a judgement in JSON; None if it cannot be read."""
    wanted = [name for name in _FAULTS if has_contrast or name != "contrast_harmful"]
    for said in map(_by_lower, items(text)):
        if all(isinstance(said.get(name), bool) for name in wanted):
            return "; ".join(_FAULTS[name] for name in wanted if not said[name])
    return None


# -- asking -------------------------------------------------------------------------------------------


def _prompt(what: str, stimulus: str, **words: object) -> str:
    """A prompt to the language model; it begins with the purpose."""
    meaning = PROMPTS["stimuli"].get(stimulus, one_line(stimulus)[:LONGEST])
    return f"{PROMPTS['purpose']}\n{PROMPTS[what]}".format(what=meaning, **words)


def _ask(kind: str, stimulus: str, known: Sequence[Scenario], batch: int, pictures: bool) -> str:
    listed = "".join(f"\n- {s.question}" for s in known[-SHOWN:])
    return _prompt(
        "write",
        stimulus,
        n=AT_ONCE,
        kind=f" of this kind: {kind}" if kind else ", of as many different kinds as you can",
        about=" about the picture" if pictures else "; there is no picture, so it must say what it is about",
        known=f"\nNot these again:{listed}" if listed else "",
        batch=batch + 1,
    )


def _check(kind: str, scenario: Scenario, stimulus: str) -> str:
    lines = [f"scene: {scenario.scene}", f"question: {scenario.question}"]
    lines += [f"contrast: {scenario.contrast}"] if scenario.contrast else []
    return _prompt("check", stimulus, kind=f" of this kind: {kind}" if kind else "", item="\n".join(lines))


# -- as a source --------------------------------------------------------------------------------------


class ScenarioSource:
    """Written scenarios as cases: the question, with a picture of its scene where `pictures` can draw one.

    A hypothesis is a description of questions; its case i is its i-th scenario. Each stage has scenarios of
    its own, so what confirms a finding was never seen by the race, and when a description has no more
    scenarios, it has no more cases.
    """

    def __init__(self, pictures: Source | None = None) -> None:
        self.pictures = pictures
        self._written: dict[tuple[str, Stage], list[Scenario]] = {}
        self._ended: set[tuple[str, Stage]] = set()
        self._lock = threading.Lock()  # generators and pools are made for one thread

    def add(
        self, hypothesis: Hypothesis, stage: Stage, scenarios: Sequence[Scenario], *, ended: bool
    ) -> None:
        """More scenarios of a description; `ended` says that no more will come."""
        self._written.setdefault((hypothesis.id, stage), []).extend(scenarios)
        if ended:
            self._ended.add((hypothesis.id, stage))

    def of(self, hypothesis: Hypothesis, stage: Stage) -> list[Scenario]:
        return self._written.get((hypothesis.id, stage), [])

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """How many cases there can be; more than anybody draws while scenarios can still be written."""
        ended = (hypothesis.id, stage) in self._ended
        return len(self.of(hypothesis, stage)) if ended else 1 << 31

    def drawable(self, scenario: Scenario) -> bool:
        """Whether the picture of a scene can be drawn; a source that does not say is taken to draw all."""
        return understands(self.pictures, scenario.scene)

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The hypothesis' concept `set` says whether the question or its contrast is asked."""
        which = dict(hypothesis.concepts).get("set", BENIGN)
        cases = []
        for index in indices:
            stage = Stage.of(index)
            written = self.of(hypothesis, stage)
            if index - stage.start >= len(written):
                raise WeakspotError(f"there are only {len(written)} scenarios of {hypothesis.text[:80]!r}")
            scenario = written[index - stage.start]
            question = PicturedQuestion(
                scenario.contrast if which == CONTRAST else scenario.question,
                self._picture(scenario, stage, case_seed(seed, hypothesis, index)),
                "",
                id=f"{hypothesis.id}-{index}",
                set=which,
            )
            cases.append(case_of(hypothesis, index, seed, question))
        return cases

    def _picture(self, scenario: Scenario, stage: Stage, seed: int) -> Any:
        if self.pictures is None:
            return None
        with self._lock:
            return self.pictures.draw(Hypothesis(scenario.scene), [stage.start], seed=seed)[0].input
