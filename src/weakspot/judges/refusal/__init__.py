"""Judges of refusals: the embedded one, a chat model, a panel of several, and several in turn."""

from weakspot.judges.refusal.chat import ChatJudge
from weakspot.judges.refusal.grades import Grade
from weakspot.judges.refusal.judge import RefusalJudge
from weakspot.judges.refusal.panel import Panel
from weakspot.judges.refusal.routed import Routed

__all__ = ["ChatJudge", "Grade", "Panel", "RefusalJudge", "Routed"]
