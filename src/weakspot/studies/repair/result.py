"""What `repair` did and proved."""

from __future__ import annotations

from typing import Any

from weakspot.study.result import Result


class RepairResult(Result):
    """A repaired model and its proof, or the data set for a trainer of one's own.

    Attributes:
        method: How the model was changed.
        parts: Inputs per part, for people.
        training: How the training went: curve, best, epochs, parameters, layer, pictures, seconds; None where
            nothing was trained.
        proof: Verdict, changes of each weak spot and of what was to stay, landscape; None before it is made.
        data: The data set that was written instead: its folder, how many pictures (or of what kind).
        chosen: What was to be repaired, in words.
        model: The name under which the model is a target now; "" if it has none.
        target: The name of the model as it was.
    """

    method: str
    parts: dict[str, int]
    chosen: tuple[str, ...] = ()
    training: dict[str, Any] | None = None
    proof: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    model: str = ""
    target: str = ""

    @property
    def known(self) -> dict[str, Any] | None:
        """The result as `--json` has it; None while there is none."""
        if self.data is not None:
            return {"method": self.method, "data": self.data, "verdict": "", "chosen": list(self.chosen)}
        if self.proof is None:
            return None
        about = {"method": self.method, "training": self.training, "model": self.model, "target": self.target}
        return self.proof | about
