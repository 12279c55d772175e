"""Decide whether the target failed."""

from weakspot.judges.label import LabelJudge
from weakspot.judges.verified import ClassifierOpinion, EncoderOpinion, Opinion, Verified

__all__ = ["ClassifierOpinion", "EncoderOpinion", "LabelJudge", "Opinion", "Verified"]
