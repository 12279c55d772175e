"""Decide whether the target failed."""

from weakspot.judges.label import LabelJudge
from weakspot.judges.refusal.chat import ChatJudge
from weakspot.judges.refusal.judge import Grade, RefusalJudge
from weakspot.judges.refusal.panel import Panel
from weakspot.judges.verified import ClassifierOpinion, EncoderOpinion, Opinion, Verified

__all__ = [
    "ChatJudge",
    "ClassifierOpinion",
    "EncoderOpinion",
    "Grade",
    "LabelJudge",
    "Opinion",
    "Panel",
    "RefusalJudge",
    "Verified",
]
