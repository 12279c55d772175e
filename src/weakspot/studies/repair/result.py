"""What `repair` did and proved."""

from __future__ import annotations

from typing import Any

from weakspot.study.study import Result


class RepairResult(Result):
    """A repaired model and its proof, or the data set for a trainer of one's own.

    The model's name is "" if it is no target; `target` is the name of the model as it was.
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
