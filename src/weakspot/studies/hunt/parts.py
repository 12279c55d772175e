"""What a hunt is made with: its settings, and the models, source and judge that they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from weakspot.core import (
    JUDGES,
    MODELS,
    SOURCES,
    Captioner,
    Classifier,
    Encoder,
    Generator,
    Hypothesis,
    Judge,
    Source,
    Target,
    WeakspotError,
)
from weakspot.engine import Budget
from weakspot.engine.identity import digest_in
from weakspot.judges import LabelJudge, Verified
from weakspot.judges.label import Relation
from weakspot.judges.verified import ClassifierOpinion, Opinion, opinion
from weakspot.models.chat.captioner import captioner_of
from weakspot.sources.folder import files_in
from weakspot.sources.generate import TextToImage
from weakspot.sources.label_file import read_label_file
from weakspot.sources.prompts import LabelWords, base_prompt, check_template
from weakspot.store import Run
from weakspot.study.executors import unnamed
from weakspot.study.label_meanings import Meanings, needs_kin, no_label
from weakspot.study.loading import name_of, part
from weakspot.text.llm_answers import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntSettings:
    """What to hunt and how; kept in run.yaml.

    Attributes:
        target: Name of the classifier.
        label: The label whose failures are hunted; "" where there are several.
        labels: The labels of an open-ended hunt.
        target_label: If given, only this wrong answer counts as a failure.
        source: Name of what draws images from words.
        judge: Name of the judge; by default the label is missed, or `target_label` is said.
        verify: Names of models that must see the label in a picture before it counts.
        captioner: Name of the model that says what is in pictures, where the source does not know.
        encoder: Name of the model that groups failures by what they look like.
        llm: Name of a language model that rewords captions which are ahead, and adds counterfactual edits.
        from_images: A folder of pictures to begin with: they are captioned, and the captions tested.
        labels_file: A file with names and parents of labels.
        sense: Which meaning of the label is meant, where WordNet knows several; of several labels
            "crane=5,cat=1".
        budget: Limits, e.g. "images=20000,seconds=600".
        seed: Everything random follows from it.
        fdr: Bound on the expected share of false findings.
        prompt: The baseline's words; {label} and {parent} are filled in.
        sentences: A hypothesis adds at most so many sentences to the baseline's words.
        edits: So many counterfactual edits of each finding are measured at the end.
    """

    target: str
    label: str = ""
    labels: Sequence[str] = ()
    target_label: str | None = None
    source: str = "world:renderer"
    judge: str | None = None
    verify: Sequence[str] = ()
    captioner: str | None = None
    encoder: str | None = None
    llm: str | None = None
    from_images: str | None = None
    labels_file: str | None = None
    sense: str | None = None
    budget: str = "images=20000"
    seed: int = 0
    fdr: float = 0.05
    prompt: str = "a realistic photograph of a {label} ({parent})."
    sentences: int = 3
    edits: int = 4

    def __post_init__(self) -> None:
        for name in ("labels", "verify"):  # run.yaml has lists
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def hunted(self) -> tuple[str, ...]:
        """All labels that are hunted."""
        return tuple(self.labels) or (self.label,)

    def to_yaml(self) -> dict[str, Any]:
        """Plain values for run.yaml; what is as by default is left out, but for the old ones."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


@dataclass(frozen=True, slots=True)
class Parts:
    """The loaded ports of a hunt.

    Attributes:
        words: By label, what is said for it in prompts.
        same: By hunted label that the head does not have, the labels of the head that it covers.
    """

    target: Target
    source: Source
    judge: Judge
    words: Mapping[str, LabelWords] = field(default_factory=dict)
    captioner: Captioner | None = None
    encoder: Encoder | None = None
    llm: Asked | None = None
    opinions: tuple[Opinion, ...] = ()
    same: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def digests(self) -> dict[str, str]:
        """Of the parts that have one, or are made of a model that has one."""
        named = {what: getattr(self, what) for what in ("target", "source", "judge", "captioner", "encoder")}
        for number, one in enumerate(self.opinions, 1):
            named["verify" if number == 1 else f"verify {number}"] = one
        found = {what: digest_in(part) for what, part in named.items()}
        return {what: digest for what, digest in found.items() if digest}

    @property
    def pools(self) -> dict[str, Any]:
        """What workers on other machines have too; see `weakspot.study.executors`."""
        return {"source": self.source, "target": self.target, "judge": self.verdicts}

    @property
    def verdicts(self) -> Judge:
        """The judge, together with the second opinions where there are any."""
        return Verified(self.judge, self.opinions) if self.opinions else self.judge


def check(settings: HuntSettings) -> None:
    """Refuse settings that cannot be meant, before anything is loaded or written."""
    Budget.parse(settings.budget)
    check_template(settings.prompt)
    if not 0 < settings.fdr < 1:
        raise WeakspotError(
            f"a false-discovery rate of {settings.fdr} makes no sense", fix="choose e.g. 0.05"
        )
    if settings.label and settings.labels:
        raise WeakspotError("a label and a list of labels are both given", fix="give one of the two")
    if not all(label.strip() for label in settings.hunted):
        raise WeakspotError("the label is empty", fix="name the label whose failures are hunted")
    if len({*settings.hunted}) < len(settings.hunted):
        raise WeakspotError("a label is given twice", fix="give each label once")
    if settings.target_label in settings.hunted:
        raise WeakspotError("the target label is the right label", fix="name a wrong answer, or leave it out")
    if settings.target_label is not None and settings.judge is not None:
        raise WeakspotError(
            "a target label and a judge both say what a failure is",
            fix="give one of the two; label?target=… is the judge for a target label",
        )
    if not 1 <= settings.sentences <= 8:
        raise WeakspotError(
            f"a caption of {settings.sentences} sentences makes no sense", fix="choose 1 to 8"
        )
    if settings.edits < 0:
        raise WeakspotError(f"{settings.edits} edits cannot be made", fix="choose 0 or more")
    if settings.from_images is not None and len(settings.hunted) > 1:
        raise WeakspotError("pictures to begin with are of one label", fix="hunt one label at a time")


def settings_of(run: Run, *, budget: str | None = None) -> HuntSettings:
    """The settings of a run as its run.yaml has them, with the budget it was last given."""
    known = {f.name for f in fields(HuntSettings)}
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in run.config.settings.items()}
    wrong = [*(set(given) - known), *({"target"} - set(given))]
    if wrong:
        raise WeakspotError(
            f"the settings in {run.folder / 'run.yaml'} do not fit a hunt: {wrong[0][:80]!r}",
            fix="restore the file from a copy",
        )
    latest = budget if budget is not None else run.ledger.fact("budget")
    settings = HuntSettings(**(given | ({} if latest is None else {"budget": latest})))
    check(settings)
    return settings


def load(settings: HuntSettings, **given: Any) -> Parts:
    """Load what the settings name, except for what is given as an object, and check that it fits."""
    target = _target(settings, given.get("target"))
    labels, parents = _head(target)
    meanings = Meanings(settings, labels, parents)
    same, words = meanings.same(), meanings.words()
    kin = meanings.kin() if needs_kin(settings.judge) else None
    judge = _judge(settings, given.get("judge"), labels, kin, same)
    opinions = _opinions(settings, given.get("verify"), labels, same, words)
    source = _source(settings, given.get("source"), words)
    captioner = captioner_of(_optional(given.get("captioner"), settings.captioner, object))
    if captioner is not None:
        part(captioner, name_of(settings.captioner), MODELS, Captioner)
    encoder = _optional(given.get("encoder"), settings.encoder, Encoder)
    llm = _optional(given.get("llm"), settings.llm, Asked)
    if settings.from_images is not None and captioner is None:
        raise WeakspotError("pictures to begin with must be put into words", fix="name a captioner")
    if settings.from_images is not None:
        files_in(settings.from_images)  # a wrong folder is said before there is a run
    return Parts(target, source, judge, words, captioner, encoder, llm, opinions, same)


def recipes_of(settings: HuntSettings, parts: Parts, **given: Any) -> dict[str, Callable[[], Any]]:
    """How a worker on another machine makes each part; see `weakspot.study.executors`.

    Args:
        settings: Of the hunt.
        parts: As loaded here.
        given: The objects among them, or their names.
    """
    labels, _ = _head(parts.target)
    kin = getattr(parts.judge, "kin", None)
    words, same, own = dict(parts.words), dict(parts.same), unnamed(given)
    verdicts = partial(_verdicts, settings, own.get("judge"), own.get("verify"))
    return {
        "source": partial(_source, settings, own.get("source"), words),
        "target": partial(_target, settings, own.get("target")),
        "judge": partial(verdicts, labels, kin, same, words),
    }


def which_labels(text: str, target: str) -> tuple[str, ...]:
    """The labels that a person means by "all", a list with commas, or the name of a file."""
    if text.strip() == "all":
        model: Target = part(None, target, MODELS, Target)
        labels = tuple(model.labels) if isinstance(model, Classifier) else ()
        if not labels:
            raise WeakspotError(f"{target} does not say what its labels are", fix="list them with commas")
        return labels
    if (file := Path(text)).is_file():
        return tuple(row.name for row in read_label_file(file))
    return tuple(label.strip() for label in text.split(",") if label.strip())


def base_hypothesis(settings: HuntSettings, words: Mapping[str, LabelWords], label: str) -> Hypothesis:
    """The plain prompt of a label."""
    said = words.get(label) or LabelWords(label)
    text = base_prompt(said.words, said.parent, template=settings.prompt).rstrip()
    ended = text.endswith((".", "!", "?", ";"))  # sentences follow it
    return Hypothesis(text if ended else f"{text}.", origin="baseline")


class ByLabel:
    """One source for several labels: what is expected follows from the baseline that a text begins with.

    Args:
        source: Says itself what is expected (such as `world:renderer`), or has `expecting`, which gives the
            same source for another label.
        bases: The baselines.
        labels: Their labels, in the same order.
    """

    def __init__(self, source: Source, bases: Sequence[Hypothesis], labels: Sequence[str]) -> None:
        other = getattr(source, "expecting", None)
        self._sources = [
            (base.text, source if other is None else other(label))
            for base, label in zip(bases, labels, strict=True)
        ]
        self.cpu_bound = getattr(source, "cpu_bound", False)
        self.digest = getattr(source, "digest", None)

    def _of(self, hypothesis: Hypothesis) -> Any:
        fitting = [
            (len(text), i) for i, (text, _) in enumerate(self._sources) if hypothesis.text.startswith(text)
        ]
        return self._sources[max(fitting)[1] if fitting else 0][1]

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> Any:
        """See `Source`."""
        return self._of(hypothesis).draw(hypothesis, indices, seed=seed)

    def _available(self, hypothesis: Hypothesis, **how: Any) -> int:
        return int(self._of(hypothesis).available(hypothesis, **how))

    def __getattr__(self, name: str) -> Any:
        """What else the source can do, such as saying which texts it understands."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._sources[0][1], name)
        return self._available if name == "available" else found


def _target(settings: HuntSettings, given: Any) -> Target:
    target: Target = part(given, settings.target, MODELS, Target)
    return target


def _head(target: Target) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The labels of a target and their parents, as far as it knows them."""
    return (target.labels, target.parents) if isinstance(target, Classifier) else ((), {})


def _source(settings: HuntSettings, given: Any, words: Mapping[str, LabelWords]) -> Source:
    source = _drawing(part(given, settings.source, SOURCES, object, label=settings.hunted[0]), settings)
    if len(settings.hunted) == 1:
        return source
    bases = [base_hypothesis(settings, words, label) for label in settings.hunted]
    return ByLabel(source, bases, settings.hunted)


def _drawing(found: Any, settings: HuntSettings) -> Source:
    """A source as it is, or the source of a generator."""
    if isinstance(found, Generator) and not isinstance(found, Source):
        return TextToImage(found, expected=settings.hunted[0])
    source: Source = part(found, settings.source, SOURCES, Source)
    expected = getattr(source, "expected", None)
    if isinstance(expected, str) and expected != settings.hunted[0]:
        raise WeakspotError(
            f"{settings.source[:200]} is said to draw {expected[:80]!r}, and {settings.hunted[0][:80]!r} is "
            "hunted",
            fix="leave out ?label=…",
        )
    return source


def _verdicts(
    settings: HuntSettings,
    judge: Any,
    verify: Any,
    labels: Sequence[str],
    kin: Relation | None,
    same: Mapping[str, frozenset[str]],
    words: Mapping[str, LabelWords],
) -> Judge:
    """The judge with its second opinions, in a process that has nothing loaded yet."""
    opinions = _opinions(settings, verify, labels, same, words)
    found = _judge(settings, judge, labels, kin, same)
    return Verified(found, opinions) if opinions else found


def _opinions(
    settings: HuntSettings,
    given: Any,
    labels: Sequence[str],
    same: Mapping[str, frozenset[str]],
    words: Mapping[str, LabelWords],
) -> tuple[Opinion, ...]:
    named = given or settings.verify
    return tuple(
        _opinion(one, settings, labels, same, words)
        for one in ((named,) if isinstance(named, str) else named)
    )


def _optional(given: Any, name: str | None, port: type) -> Any:
    return None if given is None and name is None else part(given, name or "", MODELS, port)


def _judge(
    settings: HuntSettings,
    given: Any,
    labels: Sequence[str],
    kin: Relation | None,
    same: Mapping[str, frozenset[str]],
) -> Judge:
    if settings.target_label is not None and labels and settings.target_label not in labels:
        raise no_label(settings.target, settings.target_label, labels)
    if settings.judge is None:
        judge: Judge = LabelJudge(target=settings.target_label, same=same or None)
    else:
        judge = part(given, settings.judge, JUDGES, Judge, kin=kin, same=same or None)
    if isinstance(judge, LabelJudge):
        if judge.target is not None and labels and judge.target not in labels:
            raise no_label(settings.target, judge.target, labels)
        if same and judge.same is None:
            judge = replace(judge, same=same)
        for label in settings.hunted:
            judge.check(label, labels)
    return judge


def _opinion(
    named: Any,
    settings: HuntSettings,
    labels: Sequence[str],
    same: Mapping[str, frozenset[str]],
    words: Mapping[str, LabelWords],
) -> Opinion:
    name = name_of(named)
    if name == settings.target:
        raise WeakspotError("the target cannot be its own verifier", fix="name another model")
    model = part(named, name, MODELS, object)
    told = {label: said.words for label, said in words.items()}
    covered = frozenset[str]().union(*same.values())
    head = [*(label for label in labels if label not in covered), *same]
    found = opinion(model, name=name, labels=head, words=told)
    if isinstance(found, ClassifierOpinion) and same:
        found = ClassifierOpinion(found.classifier, same=same)
    for label in settings.hunted:
        if (fits := getattr(found, "check", None)) is not None:
            fits(label)
    return found
