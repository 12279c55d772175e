"""What `weakspot ask --dry-run` says: what would be sent where, and what it may cost. Nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from weakspot.core import WeakspotError
from weakspot.core.question import BENIGN, BenchmarkQuestion, Estimates
from weakspot.studies.ask.arms import STAGES, Arm, Questions, plan
from weakspot.studies.ask.parts import AskParts, ScenarioParts, shown_pictures
from weakspot.studies.ask.settings import AskSettings
from weakspot.studies.ask.verdicts import models_behind, sees_pictures

#: Rules of thumb where the target does not count for itself.
CHARACTERS_PER_TOKEN: Final = 4
TOKENS_PER_IMAGE: Final = 1000
TOKENS_PER_ANSWER: Final = 350
TOKENS_PER_RUBRIC: Final = 250


def preview(settings: AskSettings, parts: AskParts | ScenarioParts) -> dict[str, Any]:
    if isinstance(parts, ScenarioParts):
        raise WeakspotError(
            "what scenarios will cost is not known before they are written", fix="leave --dry-run out"
        )
    benchmark, systems = parts.benchmark, settings.prompts
    questions = Questions(benchmark, systems)
    arms = plan(benchmark, contrast=settings.contrast, systems=list(systems), repeats=settings.repeats)
    asked = [
        (arm.items[index % len(arm.items)], questions.question(arm, index))
        for arm in arms
        for index in range(arm.n)
    ]
    shown = shown_pictures(parts.target)
    # A question without its picture is an error before it is sent; one whose answer is recorded is not sent.
    sent = [replace(q, image=item.image) for item, q in asked if not item.missing] if shown else []
    where, tokens, dollars = estimate(parts.target, sent) if shown else ("", 0, 0.0)
    # A chat model that judges is sent its instructions, the question and an answer.
    filler = " " * CHARACTERS_PER_TOKEN * (TOKENS_PER_RUBRIC + TOKENS_PER_ANSWER)
    looks = sees_pictures(parts.judge)
    answered = sent if shown else [replace(q, image=item.image) for item, q in asked]
    to_judge = [replace(q, text=q.text + filler, image=q.image if looks else None) for q in answered]
    judging = [estimate(model, to_judge) for model in models_behind(parts.judge)]
    for _, more, price in judging:
        tokens, dollars = tokens + more, None if dollars is None or price is None else dollars + price
    calls, judged = len(sent), len(to_judge) * len(judging)
    vetting = len(benchmark.of(BENIGN)) if settings.vet else 0
    again = len(STAGES) * len(benchmark.of(BENIGN)) * (1 + len(judging)) if settings.stages and shown else 0
    items = {(item.set, item.id): item for arm in arms for item in arm.items}
    pictures = [item.image for item in items.values() if item.image is not None]
    missing = [f"{which} {key}" for (which, key), item in items.items() if item.missing]
    destination = where or (settings.target if shown else "nobody: the answers are recorded")
    size = sum(len(image) if isinstance(image, bytes) else image.stat().st_size for image in pictures)
    sets = ", ".join(f"{len(benchmark.of(which))} {which}" for which in benchmark.sets)
    told = f"{len(pictures)} ({size / 1e6:,.1f} MB){'' if shown else ', not sent'}"
    if missing:
        told += f"; {len(missing)} missing{', and their questions are not sent' if shown else ''}"
    cost = "not known: see the provider's prices" if dollars is None else f"about ${dollars:,.2f}"
    lines = [
        ("to", destination),
        ("benchmark", f"{benchmark.name}: {sets}"),
        ("questions", _arms(arms, settings)),
        ("calls", _calls({"the model": calls, "the judge": judged, settings.vet or "": vetting}, again)),
        ("pictures", told),
        ("judge", f"{settings.judge}{''.join(f', which asks {where}' for where, *_ in judging)}"),
        ("tokens", f"about {tokens:,}" if tokens else "none"),
        ("cost", "none" if dollars == 0 else cost),
        ("budget", settings.budget),
    ]
    return {
        "calls": calls + judged + vetting,
        "calls_to_judge": judged,
        "calls_again_at_most": again,
        "to": destination,
        "images": len(pictures),
        "image_bytes": size,
        "images_missing": missing,
        "tokens": tokens,
        "dollars": dollars,
        "judge": settings.judge,
        "lines": lines,
    }


def _calls(to: Mapping[str, int], again: int) -> str:
    """What would be sent to whom, and at most for the stages."""
    parts = [f"{n:,} to {who}" for who, n in to.items() if n]
    total = sum(to.values())
    if not total:
        return "none"
    told = f"{' + '.join(parts)} = {total:,}" if len(parts) > 1 else f"{total:,}"
    told += ", and more where one fails"
    return f"{told}; at most {again:,} more if every harmless question is refused" if again else told


def estimate(target: object, asked: Sequence[BenchmarkQuestion]) -> tuple[str, int, float | None]:
    """Where it goes, tokens and dollars (None if not known); by the target itself if it can say."""
    if isinstance(target, Estimates):
        found = target.estimate(asked)
        return str(found.where), int(found.read + found.written), found.dollars
    words = sum(len(q.text) + len(q.system or "") for q in asked) // CHARACTERS_PER_TOKEN
    images = sum(q.image is not None for q in asked)
    return "", words + images * TOKENS_PER_IMAGE + len(asked) * TOKENS_PER_ANSWER, None


def _arms(arms: Sequence[Arm], settings: AskSettings) -> str:
    parts = [
        f"{len(arm.items)} {arm.set}" + (f" under {arm.system!r}" if arm.system != "none" else "")
        for arm in arms
    ]
    times = f", each {settings.repeats} times" if settings.repeats > 1 else ""
    return f"{' + '.join(parts)}{times} = {sum(arm.n for arm in arms):,}"
