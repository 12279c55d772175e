"""The toy study: draw the plain prompt and each sentence, and count."""

from toy_study.result import Counted, ToyResult
from toy_study.settings import ToySettings
from weakspot.core import Hypothesis
from weakspot.engine import stop
from weakspot.store import rate
from weakspot.study import Context
from weakspot.study.labels import LabelledParts, base_hypothesis


def count(context: Context[ToySettings, LabelledParts]) -> None:
    settings, parts = context.settings, context.parts
    base = base_hypothesis(settings.task, parts.words, settings.label)
    told = [Hypothesis(f"{base.text} {one}", origin="toy", parent=base.id) for one in settings.sentence]
    done: list[Counted] = []
    with context.engine(source=parts.source, target=parts.target, judge=parts.verdicts) as engine:
        for hypothesis in (base, *told):
            with context.within_budget():
                engine.test(hypothesis, until=stop.drawn(settings.draws), phase="counting")
            words = hypothesis.beyond(base) or hypothesis.text
            done.append(Counted(words=words, rate=rate(engine.tally(hypothesis))))
            context.publish(ToyResult(counted=tuple(done)))
