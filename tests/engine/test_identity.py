"""What tells one model from another, so that a worker cannot have a different one than its driver."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.engine.engine_parts import Clerk, Dice, Wrong

from weakspot.core import WeakspotError
from weakspot.engine.identity import digest_in, identify, models_in, must_agree
from weakspot.judges.verified import ClassifierOpinion, Verified
from weakspot.models.python import FunctionClassifier

LABELS = ("yes", "no")


class Model:
    def __init__(
        self, digest: str, dtype: str = "float32", device: str = "cpu", labels: tuple[str, ...] = LABELS
    ) -> None:
        self.digest, self.dtype, self.device = f"{digest}-{dtype}", dtype, device
        self.labels, self.parents = labels, dict[str, str]()

    def answer(self, cases: Any) -> Any:
        return Clerk().answer(cases)


def agree(there: Any, here: Any) -> None:
    must_agree("target", identify(there), identify(here))


def test_the_same_model_elsewhere_is_the_same() -> None:
    agree(Model("a"), Model("a"))
    agree(Model("a", device="cuda"), Model("a"))  # with the number format said in its name
    for part in (Dice, Clerk, Wrong):
        agree(part(), part())


@pytest.mark.parametrize(
    ("there", "what", "fix"),
    [
        (Model("b"), "has a different model", "same files"),
        (Model("a", labels=("no", "yes")), "has different labels", "same files"),
        (Model("a", "bfloat16", "cuda"), "bfloat16 on cuda, this machine's in float32 on cpu", "dtype=bf"),
        (Clerk(), "different parts", "same files"),
    ],
)  # fmt: skip
def test_another_one_is_refused(there: Any, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        agree(there, Model("a"))
    assert fix in (error.value.fix or "")


def test_workers_without_a_gpu_beside_a_driver_with_one() -> None:
    with pytest.raises(WeakspotError, match="in float32 on cpu") as error:
        agree(Model("a"), Model("a", "bfloat16", "cuda"))
    assert "target_gpus=1" in (error.value.fix or "")


def test_a_source_is_its_generator_and_a_judge_its_opinions() -> None:
    source = SimpleNamespace(models=(Model("a"),))
    assert models_in(source) == [source, *source.models]
    assert digest_in(source) == "a-float32"
    with pytest.raises(WeakspotError, match="a different model"):
        agree(source, SimpleNamespace(models=(Model("b"),)))
    one, other = (Verified(Wrong(), (ClassifierOpinion(Model(name)),)) for name in "ab")
    assert digest_in(one) == "a-float32"
    with pytest.raises(WeakspotError, match="a different model"):
        agree(one, other)
    assert digest_in(Wrong()) is None


def test_networks_are_found_in_what_a_user_wrote() -> None:
    torch = pytest.importorskip("torch")

    def made(seed: int) -> dict[str, Any]:
        torch.manual_seed(seed)
        net = torch.nn.Linear(3, 2)
        torch.manual_seed(seed)
        space: dict[str, Any] = {"net": torch.nn.Linear(3, 2)}
        exec("def classify(images):\n    return net(images)", space)  # a module of a user's
        return {
            "itself": net,
            "held": SimpleNamespace(net=net),
            "enclosed": FunctionClassifier(lambda images: net(images), labels=LABELS),
            "bound": FunctionClassifier(net.forward, labels=LABELS),
            "of its module": FunctionClassifier(space["classify"], labels=LABELS),
        }

    once, again, other = made(1), made(1), made(2)
    for how in once:
        agree(once[how], again[how])
        with pytest.raises(WeakspotError, match="a different model"):
            agree(once[how], other[how])
