"""Decide whether the target failed. The judges of refusals are in `weakspot.judges.refusal`."""

from weakspot.judges.label import LabelJudge
from weakspot.judges.verified import ClassifierOpinion, EncoderOpinion, Opinion, Verified

__all__ = ["ClassifierOpinion", "EncoderOpinion", "LabelJudge", "Opinion", "Verified"]
