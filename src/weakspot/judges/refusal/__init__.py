"""Judges of refusals: the embedded one, a chat model, and a panel of several."""

from weakspot.judges.refusal.chat import ChatJudge
from weakspot.judges.refusal.grades import Grade
from weakspot.judges.refusal.judge import RefusalJudge
from weakspot.judges.refusal.panel import Panel

__all__ = ["ChatJudge", "Grade", "Panel", "RefusalJudge"]
