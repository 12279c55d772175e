"""Decide whether the target failed."""

from weakspot.judges.chat_judge import ChatJudge
from weakspot.judges.label import LabelJudge
from weakspot.judges.panel import Panel
from weakspot.judges.refusal import Grade, RefusalJudge
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
