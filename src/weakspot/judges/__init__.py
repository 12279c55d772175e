"""Decide whether the target failed."""

from weakspot.judges.label import LabelJudge

__all__ = ["LabelJudge"]
