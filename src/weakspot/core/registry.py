"""One string names any model, source or judge: `scheme:name?option=value&option=value`.

The registry maps such names to lazy "module:attr" targets, so that naming a thing imports only that
thing. Built-in parts are entered here as any plugin is; third parties use entry points in the groups
`weakspot.models`, `weakspot.sources`, `weakspot.judges`. An entry is either a full name
("world:classifier") or a scheme ("onnx"), whose factory is handed the rest of the name.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import entry_points
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from weakspot.core.errors import WeakspotError, nearest


class Kind(StrEnum):
    """What a name can name."""

    MODEL = "model"
    SOURCE = "source"
    JUDGE = "judge"

    @property
    def group(self) -> str:
        """The entry-point group of this kind."""
        return f"weakspot.{self}s"


class Name(NamedTuple):
    """A parsed name. `rest` is "" where the name is a scheme alone."""

    scheme: str
    rest: str
    options: dict[str, str]

    @property
    def full(self) -> str:
        """Scheme and rest, without the options."""
        return f"{self.scheme}:{self.rest}" if self.rest else self.scheme


def parse_name(text: str) -> Name:
    """Split `scheme:name?option=value`; the options are read as in a URL."""
    head, _, query = text.strip().partition("?")
    scheme, _, rest = head.partition(":")
    if not scheme or not all(c.isprintable() for c in text):
        raise WeakspotError(f"{text[:80]!r} is not a name", fix="write it as scheme:name?option=value")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise WeakspotError(
            f"the options in {text[:80]!r} cannot be read", fix="write them as ?option=value&option=value"
        ) from None
    if len(dict(pairs)) != len(pairs):
        raise WeakspotError(f"an option is given twice in {text[:80]!r}", fix="give each option once")
    return Name(scheme, rest, dict(pairs))


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name.

    Attributes:
        name: A full name ("world:classifier") or a scheme ("onnx").
        target: "module:attr" of the factory.
        about: One line for `weakspot list`.
        example: How it is written; the name itself by default.
        extra: The optional dependency group it needs, or "".
        origin: The distribution that brings it.
        ports: What a model can be: "classifier", "captioner", "encoder", "generator", "summariser", "chat".
        examples: By port, how it is written where `example` is of another.
    """

    name: str
    target: str
    about: str = ""
    example: str = ""
    extra: str = ""
    origin: str = "weakspot"
    ports: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()


class Registry:
    """The names of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._entries: dict[str, Entry] = {}
        self._plugins_read = False

    def add(self, entry: Entry) -> None:
        """Enter a name; a second owner of the same name is an error, not a silent replacement."""
        present = self._entries.get(entry.name)
        if present is not None and present.target != entry.target:
            raise WeakspotError(
                f"{self.kind} {entry.name!r} is registered twice: by {present.origin} ({present.target}) "
                f"and by {entry.origin} ({entry.target})",
                fix="uninstall one of the two, or rename its entry point",
            )
        self._entries[entry.name] = entry

    def __iter__(self) -> Iterator[Entry]:
        self._read_plugins()
        return iter(sorted(self._entries.values(), key=lambda e: e.name))

    def find(self, text: str) -> tuple[Entry, Name]:
        """The entry behind a name; a wrong name is an error that says the nearest right one."""
        self._read_plugins()
        name = parse_name(text)
        entry = self._entries.get(name.full) or self._entries.get(name.scheme)
        if entry is None:
            hint = nearest(name.full, self._entries) or nearest(name.scheme, self._entries)
            raise WeakspotError(
                f"no {self.kind} is called {name.full[:80]!r}",
                fix=f"{hint + ' ' if hint else ''}see: weakspot list {self.kind}s",
            )
        return entry, name

    def load(self, text: str, **context: Any) -> Any:
        """Build what a name names.

        Args:
            text: The name. Its options become keyword arguments of the factory (as text).
            context: Further keyword arguments, given only to factories that take them.
        """
        entry, name = self.find(text)
        factory = _attribute(entry)
        known = _keywords(factory)
        if known is not None:
            unknown = [o for o in name.options if o not in known]
            if unknown:
                hint = nearest(unknown[0], known)
                raise WeakspotError(
                    f"{entry.name!r} has no option {unknown[0]!r}",
                    fix=hint or f"its options are: {', '.join(sorted(known)) or 'none'}",
                )
            context = {k: v for k, v in context.items() if k in known}
        takes_rest = entry.name == name.scheme and name.full != entry.name
        args = (name.rest,) if takes_rest else ()
        try:
            inspect.signature(factory).bind(*args, **context, **name.options)
        except TypeError as error:
            raise WeakspotError(
                f"{text[:80]!r} cannot be built: {error}", fix=f"write it as {entry.example or entry.name}"
            ) from None
        try:
            return factory(*args, **context, **name.options)
        except ImportError as error:  # heavy libraries are imported by the factory, not by its module
            raise _missing(entry, error) from error

    def _read_plugins(self) -> None:
        if self._plugins_read:
            return
        for point in entry_points(group=self.kind.group):
            origin = point.dist.name if point.dist else "an unknown package"
            self.add(Entry(point.name, point.value, about="from a plugin", origin=origin))
        self._plugins_read = True  # only now: a collision is an error every time, not the first time only


def _attribute(entry: Entry) -> Callable[..., Any]:
    try:
        factory: Callable[..., Any] = _resolve(entry.target)
    except ImportError as error:
        raise _missing(entry, error) from error
    except AttributeError as error:
        raise WeakspotError(
            f"{entry.name!r} points at nothing: {error}", fix=f"reinstall {entry.origin}"
        ) from error
    return factory


def _missing(entry: Entry, error: ImportError) -> WeakspotError:
    fix = f"pip install 'weakspot[{entry.extra}]'" if entry.extra else f"reinstall {entry.origin}"
    return WeakspotError(f"{entry.name!r} needs a library that is missing: {error}", fix=fix)


def _resolve(path: str) -> Any:
    module, _, attribute = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split(".") if attribute else []:
        found = getattr(found, part)
    return found


def import_part(path: str) -> Any:
    """What `python:package.module:attr` names; a class is called without arguments."""
    if ":" not in path:
        raise WeakspotError(f"{path!r} names no attribute", fix="write it as python:package.module:attr")
    try:
        found = _resolve(path)
    except (ImportError, AttributeError) as error:
        raise WeakspotError(
            f"python:{path} cannot be imported: {error}",
            fix="check the spelling, and that the module is on PYTHONPATH or in the current folder",
        ) from error
    return found() if inspect.isclass(found) else found


def _keywords(factory: Callable[..., Any]) -> set[str] | None:
    """The names a factory takes as keyword-only arguments; None when it takes any."""
    parameters = inspect.signature(factory).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


MODELS = Registry(Kind.MODEL)
SOURCES = Registry(Kind.SOURCE)
JUDGES = Registry(Kind.JUDGE)

for _registry, _entry in (
    (
        MODELS,
        Entry(
            "world:classifier",
            "weakspot.world.classifier:load",
            "the drawn world's own classifier",
            ports=("classifier",),
        ),
    ),
    (
        MODELS,
        Entry(
            "world:classifier-resnet-2",
            "weakspot.world.classifier:classifier_resnet_2",
            "the same network from another start",
            ports=("classifier",),
        ),
    ),
    (
        MODELS,
        Entry(
            "world:classifier-vit-1",
            "weakspot.world.classifier:classifier_vit_1",
            "a vision transformer trained on the same pictures",
            ports=("classifier",),
        ),
    ),
    (
        MODELS,
        Entry(
            "world:classifier-vit-2",
            "weakspot.world.classifier:classifier_vit_2",
            "the same transformer from another start",
            ports=("classifier",),
        ),
    ),
    (
        MODELS,
        Entry(
            "world:encoder",
            "weakspot.world.encoder:load",
            "the world's texts and pictures in one space",
            ports=("encoder",),
        ),
    ),
    (
        MODELS,
        Entry(
            "world:captioner",
            "weakspot.world.captioner:load",
            "says what is in pictures of the world, and how likely a sentence is",
            ports=("captioner",),
        ),
    ),
    (
        MODELS,
        Entry(
            "world:guide",
            "weakspot.world.guide:load",
            "a chat model that is afraid of words",
            ports=("chat",),
        ),
    ),
    (
        MODELS,
        Entry(
            "world:scenes",
            "weakspot.world.scenes:load",
            "what a text of the world means, exactly: a reference for mine",
            ports=("encoder",),
        ),
    ),
    (
        MODELS,
        Entry(
            "onnx",
            "weakspot.models.onnx_encoder:load",
            "an image classifier in an ONNX file; a folder of towers and a tokenizer is an encoder",
            "onnx:model.onnx?labels=labels.txt",
            ports=("classifier", "encoder"),
            examples=(("encoder", "onnx:folder"),),
        ),
    ),
    (
        MODELS,
        Entry(
            "npz",
            "weakspot.models.npz:load",
            "vectors that are already computed, with their texts",
            "npz:clip.npz?vectors=embeddings&texts=captions",
            ports=("encoder",),
        ),
    ),
    (
        MODELS,
        Entry(
            "st",
            "weakspot.models.sentence_transformers:load",
            "a text encoder of sentence-transformers",
            "st:all-mpnet-base-v2",
            extra="hf",
            ports=("encoder",),
        ),
    ),
    (
        MODELS,
        Entry(
            "openclip",
            "weakspot.models.openclip:load",
            "an encoder of open_clip",
            "openclip:ViT-L-14/openai",
            extra="vision",
            ports=("encoder",),
        ),
    ),
    (
        MODELS,
        Entry(
            "hf",
            "weakspot.models.hf:load",
            "a classifier, captioner, encoder (CLIP, SigLIP) or summariser of transformers",
            "hf:microsoft/resnet-50",
            extra="hf",
            ports=("classifier", "captioner", "encoder", "summariser"),
            examples=(
                ("captioner", "hf:Salesforce/blip-image-captioning-large?tokens=40"),
                ("encoder", "hf:openai/clip-vit-large-patch14?batch=256"),
                ("summariser", "hf:facebook/bart-large-cnn?tokens=60"),
            ),
        ),
    ),
    (
        MODELS,
        Entry(
            "extract",
            "weakspot.models.summarise:load",
            "a summariser that chooses sentences; needs no weights",
            "extract:3?by=lead",
            ports=("summariser",),
        ),
    ),
    (
        MODELS,
        Entry(
            "ngrams",
            "weakspot.models.ngrams:load",
            "a text encoder by words and letters; needs no weights",
            "ngrams?size=512",
            ports=("encoder",),
        ),
    ),
    (
        MODELS,
        Entry(
            "python",
            "weakspot.models.python:load",
            "a Target, or a function from uint8 images to probabilities, logits or labels",
            "python:package.module:attr?labels=labels.txt",
            ports=("classifier", "encoder"),
            examples=(("encoder", "python:package.module:encoder"),),
        ),
    ),
    (
        MODELS,
        Entry(
            "torch",
            "weakspot.repair.torch_model:load",
            "an image classifier that is a torch module, with weights in a safetensors file",
            "torch:package.module:attr?weights=FILE.safetensors&labels=labels.txt",
            extra="torch",
            ports=("classifier",),
        ),
    ),
    (
        MODELS,
        Entry(
            "timm",
            "weakspot.models.timm:load",
            "an image classifier of timm",
            "timm:resnet50.a1_in1k",
            extra="vision",
            ports=("classifier",),
        ),
    ),
    (
        MODELS,
        Entry(
            "torchvision",
            "weakspot.models.torchvision:load",
            "an image classifier of torchvision; its own weights are pickles, read on your word alone",
            "torchvision:alexnet?pickle=yes",
            extra="vision",
            ports=("classifier",),
        ),
    ),
    (
        MODELS,
        Entry(
            "torchscript",
            "weakspot.models.torchscript:load",
            "an image classifier in a TorchScript file, which is a program: run on your word alone",
            "torchscript:model.pt?labels=labels.txt&code=yes",
            extra="torch",
            ports=("classifier",),
        ),
    ),
    (
        MODELS,
        Entry(
            "diffusers",
            "weakspot.models.diffusers:load",
            "a text-to-image pipeline",
            "diffusers:stabilityai/sd-turbo?steps=4&guidance=0",
            extra="hf",
            ports=("generator",),
        ),
    ),
    (
        MODELS,
        Entry(
            "http",
            "weakspot.models.http:load",
            "a classifier behind an address; one that ends in /images/generations makes pictures",
            "http://127.0.0.1:8000/predict?labels=labels.txt&answer=predictions.0",
            ports=("classifier", "generator"),
        ),
    ),
    (
        MODELS,
        Entry(
            "https",
            "weakspot.models.http:load_secure",
            "the same, over TLS",
            "https://api.openai.com/v1/images/generations?model=gpt-image-1",
            ports=("classifier", "generator"),
            examples=(("classifier", "https://models.example/predict?labels=labels.txt&send=multipart"),),
        ),
    ),
    (
        SOURCES,
        Entry(
            "http",
            "weakspot.sources.generate_http:load",
            "pictures of an images endpoint",
            "http://127.0.0.1:7860/v1/images/generations?seed=seed",
        ),
    ),
    (
        SOURCES,
        Entry(
            "https",
            "weakspot.sources.generate_http:load_secure",
            "pictures of an images endpoint, over TLS",
            "https://api.openai.com/v1/images/generations?model=gpt-image-1&cache=pictures",
        ),
    ),
    (
        MODELS,
        Entry(
            "replay",
            "weakspot.models.replay:load",
            "recorded answers of a chat model",
            "replay:responses.jsonl",
            ports=("chat",),
        ),
    ),
    (
        SOURCES,
        Entry(
            "mossbench",
            "weakspot.sources.mossbench:load",
            "MOSSBench: benign questions with pictures, and harmful counterparts",
            "mossbench:DIR",
        ),
    ),
    (
        SOURCES,
        Entry(
            "questions",
            "weakspot.sources.question_files:load",
            "your own questions, with or without pictures, from a table",
            "questions:questions.jsonl?slices=topic,style",
        ),
    ),
    (
        SOURCES,
        Entry(
            "world:questions",
            "weakspot.world.guide:questions",
            "36 harmless questions of three kinds, each with a harmful counterpart",
        ),
    ),
    (
        SOURCES,
        Entry("xstest", "weakspot.sources.xstest:load", "XSTest: safe and unsafe prompts", "xstest:FILE"),
    ),
    (
        MODELS,
        Entry(
            "chat",
            "weakspot.models.chat:load",
            "a chat model of any provider, or of a server of your own",
            "chat:openai/gpt-4o?concurrency=10",
            extra="chat",
            ports=("chat", "captioner", "summariser"),
        ),
    ),
    (
        SOURCES,
        Entry("world:renderer", "weakspot.world.renderer:load", "draws the world exactly as the words say"),
    ),
    (
        SOURCES,
        Entry(
            "python", "weakspot.core.registry:import_part", "your own Source", "python:package.module:attr"
        ),
    ),
    (
        SOURCES,
        Entry(
            "diffusers",
            "weakspot.sources.generate:load",
            "pictures of a text-to-image pipeline",
            "diffusers:stabilityai/sd-turbo?steps=4&guidance=0",
            extra="hf",
        ),
    ),
    (
        SOURCES,
        Entry(
            "retrieve",
            "weakspot.sources.retrieve:load",
            "pictures of a folder, found by text",
            "retrieve:photos?encoder=world:encoder&labels=folder",
        ),
    ),
    (
        JUDGES,
        Entry(
            "label",
            "weakspot.judges.label:load",
            "the label is missed, by five rules that can be combined",
            "label?top=3&parent=all",
        ),
    ),
    (
        JUDGES,
        Entry(
            "discrepancy",
            "weakspot.judges.discrepancy:load",
            "the answer is farther from the right one than it may be: Δ > ε",
            "discrepancy?measure=doubt&epsilon=0.9",
        ),
    ),
    (
        JUDGES,
        Entry(
            "summary",
            "weakspot.judges.summary:load",
            "a summary is far from the reference: ROUGE, BLEU, embedding",
            "summary?measure=rougeL&epsilon=0.8",
        ),
    ),
    (
        JUDGES,
        Entry(
            "picture",
            "weakspot.judges.picture:load",
            "a generated picture does not match its prompt, is of bad quality, or shows an attribute",
            "picture?encoder=world:encoder&measure=match&epsilon=0.75",
        ),
    ),
    (
        JUDGES,
        Entry(
            "people",
            "weakspot.judges.people:load",
            "people rate each output from 1 to 10; the run stops for their ratings and goes on with them",
            "people?folder=ratings&epsilon=0.5",
        ),
    ),
    (
        JUDGES,
        Entry(
            "embedded",
            "weakspot.judges.refusal:load",
            "an answer of a chat model refuses; needs no key and no network",
            "embedded?threshold=0.5",
        ),
    ),
    (
        JUDGES,
        Entry(
            "chat",
            "weakspot.judges.chat_judge:load",
            "a chat model says whether an answer refuses",
            "chat:openai/gpt-4o?judge_image=yes",
            extra="chat",
        ),
    ),
    (
        JUDGES,
        Entry(
            "panel",
            "weakspot.judges.panel:load",
            "several judges of refusals; the majority counts",
            "panel:embedded,chat:openai/gpt-4o,chat:google/gemini-2.0-flash",
        ),
    ),
    (
        JUDGES,
        Entry(
            "similarity",
            "weakspot.judges.similarity:load",
            "two texts are embedded alike although they differ",
            "similarity?threshold=0.88&differs=rules",
        ),
    ),
    (
        JUDGES,
        Entry("python", "weakspot.core.registry:import_part", "your own Judge", "python:package.module:attr"),
    ),
):
    _registry.add(_entry)
