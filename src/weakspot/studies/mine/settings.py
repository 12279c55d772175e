"""What `mine` is asked to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, model_validator

from weakspot.core import CORPORA, DIFFERS, SOURCES, WeakspotError
from weakspot.core.registry import name_of
from weakspot.study.options import FdrOption, Option, SeedOption, StudySettings

if TYPE_CHECKING:
    from weakspot.engine import Lane
    from weakspot.sources.corpus import Corpus


def _in_calls(budget: str) -> str:
    """A measured pair is a call to the engine."""
    from weakspot.engine.stop import Budget  # only now: the help of a command needs no engine

    text = ",".join(f"calls={kind[6:]}" if kind.startswith("pairs=") else kind for kind in budget.split(","))
    Budget.parse(text)
    return text


def _name_of_texts(corpus: str | Path | Sequence[str] | Corpus) -> str:
    if isinstance(corpus, str | Path):
        return str(corpus)
    from weakspot.sources.corpus import Corpus

    return f"object:{corpus.name}" if isinstance(corpus, Corpus) else f"object:{len(corpus)} texts"


def _judge_of_differences(name: str) -> None:
    if name != "none":
        DIFFERS.find(name)


_Encoder = partial(Option, shown="ENCODER", names="model", port="TextEncoder")
_Model = partial(Option, names="model", named=name_of)


class MineSettings(StudySettings):
    """Find what an encoder of texts does not tell apart.

    Pairs of captions that it confuses and the reference tells apart are mined from a corpus and put into
    categories. New pairs of every category are then measured against captions with any word replaced, and
    confirmed on fresh ones. No language model is needed.
    """

    model_config = ConfigDict(validate_default=True)

    encoder: Annotated[
        str,
        _Encoder("The encoder under test, e.g. world:encoder (see: weakspot list models).", argument=True),
    ]
    reference: Annotated[str, _Encoder("A second encoder, which tells apart what the first one should.")]
    corpus: Annotated[
        str,
        Option(
            "A file (one text a line), coco:FILE, snli:DIR, npz:FILE, world, datasets:NAME.",
            "TEXTS",
            names="inputs",
            named=_name_of_texts,
        ),
    ]
    pairs: Annotated[int, Option("How many pairs to mine from the corpus.")] = 150
    steer: Annotated[
        str,
        AfterValidator(str.strip),
        Option('The topic that failures should matter to, e.g. "self-driving cars".', "TOPIC"),
    ] = ""
    llm: Annotated[
        str | None,
        _Model("A language model that names failures and writes pairs: chat:…", "MODEL"),
    ] = None
    validity: Annotated[
        str | None,
        Option(
            "Decides whether two texts differ: rules, world, hf:NLI-MODEL, chat:MODEL, python:…, or none.",
            "JUDGE",
            checked=_judge_of_differences,
            named=name_of,
        ),
    ] = None
    threshold: Annotated[
        float | None, Option("Alike is above this (published: 0.9); calibrated by default.", "COSINE")
    ] = None
    gap: Annotated[
        float, Option("With --threshold: the reference must be lower by more than this.", "COSINE")
    ] = 0.2
    calibrate: Annotated[
        float | None,
        Option("Share of random pairs that are less alike than a mined one; 0.9999.", "SHARE"),
    ] = None
    texts: Annotated[int | None, Option("How many different texts to read from the corpus.")] = None
    noise: Annotated[
        str | None,
        Option("Phrases whose texts are left out, in place of the built-in list.", "FILE", names="file"),
    ] = None
    passes: Annotated[int, Option("How often the language model reads the pairs.")] = 3
    written: Annotated[int, Option("How many new pairs the language model writes per failure and stage.")] = (
        41
    )
    images: Annotated[
        str | None,
        Option("Captioned images: is each nearer its caption than an edited one?", "FOLDER", names="folder"),
    ] = None
    downstream: Annotated[
        str | None,
        Option(
            "A text-to-image source that draws both texts of failing pairs.",
            "SOURCE",
            names="source",
            port="Source | Generator",
        ),
    ] = None
    matcher: Annotated[
        str | None,
        _Model("Says which text a drawn picture shows (with --downstream).", "ENCODER"),
    ] = None
    budget: Annotated[
        str,
        AfterValidator(_in_calls),
        Option("Any of pairs, tokens, dollars, seconds; e.g. pairs=20k,seconds=600.", "LIMITS"),
    ] = "pairs=20000"
    seed: SeedOption = 0
    fdr: FdrOption = 0.05
    cache: Annotated[
        str | None, Option("Where embeddings are kept; by default in your cache folder.", "FOLDER|no")
    ] = None

    @property
    def judged_by(self) -> str:
        """The name of the judge of differences."""
        own = CORPORA.beside(self.corpus, "validity") or "rules"
        return own if self.validity is None else self.validity

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        for what, value, least, most in (
            ("pairs", self.pairs, 1, 100_000),
            ("passes", self.passes, 1, 100),
            ("written", self.written, 8, 1000),
            ("texts", self.texts or 2, 2, 10**9),
        ):
            if not least <= value <= most:
                raise WeakspotError(
                    f"{what} cannot be {value}", fix=f"choose a number from {least} to {most}"
                )
        for what, share, low in (("threshold", self.threshold, -1.0), ("calibrate", self.calibrate, 0.5)):
            if share is not None and not low < share < 1:
                raise WeakspotError(
                    f"{what} cannot be {share:g}", fix=f"choose a number between {low:g} and 1, e.g. 0.9"
                )
        if not 0 <= self.gap < 2:
            raise WeakspotError(
                f"the gap cannot be {self.gap:g}", fix="choose a number from 0 to 2, e.g. 0.2"
            )
        if self.threshold is not None and self.calibrate is not None:
            raise WeakspotError("a fixed threshold is not calibrated", fix="give --threshold or --calibrate")
        if self.matcher is not None and self.downstream is None:
            raise WeakspotError(
                "a matcher is of no use where nothing is drawn",
                fix="add --downstream, or leave out --matcher",
            )
        if self.matcher == self.encoder:
            raise WeakspotError(
                "the encoder under test cannot be the one to say what pictures show",
                fix="name another encoder with --matcher",
            )
        if self.downstream and self.matcher is None and not SOURCES.beside(self.downstream, "matcher"):
            raise WeakspotError(
                "no encoder is named to say which text a drawn picture shows",
                fix="name an encoder: --matcher openclip:NAME",
            )
        if self.encoder == self.reference and not self.encoder.startswith("object:"):
            raise same_encoders(self.encoder)
        return self


def same_encoders(name: str) -> WeakspotError:
    """What is said of an encoder and a reference that are one."""
    return WeakspotError(
        f"{name[:300]}: encoder and reference give the same embeddings, so they cannot disagree",
        fix="name another reference, such as a sentence encoder: --reference st:all-mpnet-base-v2",
    )


def title(settings: MineSettings) -> str:
    """The first line on the screen."""
    return f"mining {settings.encoder} against {settings.reference} in {settings.corpus}"


def subject(settings: MineSettings, _: Any) -> str:
    """A word for people: the encoder's name without its folder and options."""
    name = settings.encoder.removeprefix("object:").partition("?")[0]
    return name.rstrip("/").rpartition("/")[2] or name


def progress(phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    """How far a run is, in one line."""
    states = [lane.state.value for lane in lanes]
    if phase == "baseline":
        tally = lanes[0].tally
        about = f"{tally.failures:,} of {tally.n:,} pairs are confused"
    elif phase == "race":
        some = f"{len(lanes)} categories" if len(lanes) != 1 else "1 category"
        about = f"{some} · {states.count('open')} still open · {states.count('ahead')} ahead"
    else:
        some = f"{len(lanes)} candidates" if len(lanes) != 1 else "1 candidate"
        about = f"{some} on fresh pairs · {states.count('confirmed')} confirmed"
    return f"{phase:<8} {about} · {spent['calls']:,.0f} pairs so far"
