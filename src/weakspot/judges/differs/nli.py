"""A model of natural-language inference as the judge of differences: `hf:FOLDER` or `hf:owner/name`.

Two texts that follow from each other are the same; two of which neither follows, or one excludes the other,
or one says more, differ. Weights are read as safetensors only, and code that comes with a model is never run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.core.registry import read_number, read_whole
from weakspot.models.hf.loading import find_folder, quiet, read_config, refuse_pickles, unloadable
from weakspot.models.vectors import in_batches

BATCH: Final = 32
#: Tokens of a pair; more are cut off the longer text.
LONGEST: Final = 256
#: Below this probability of its answer the model does not know.
SURE: Final = 0.6


class NliJudge:
    """Below the probability `sure`, of following or of not following, it cannot tell.

    `labels` say what the model's outputs mean, in order; by default its configuration does.
    """

    def __init__(
        self,
        folder: Path,
        *,
        labels: Sequence[str] = (),
        device: str = "cpu",
        batch: int | None = None,
        sure: float = SURE,
    ) -> None:
        self._torch: Any = import_module("torch")
        transformers: Any = import_module("transformers")
        self.name, self.device, self.batch, self.sure = str(folder), device, batch or BATCH, sure
        if not 0.5 <= sure < 1:
            raise WeakspotError(f"sure cannot be {sure:g}", fix="choose a probability from 0.5 to 1")
        self._follows = follows_at(read_config(folder), labels=labels, name=self.name)
        refuse_pickles(folder)
        with quiet():
            try:
                model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
                    folder,
                    use_safetensors=True,
                    local_files_only=True,
                    trust_remote_code=False,
                    output_loading_info=True,
                )
                self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                    folder, local_files_only=True, trust_remote_code=False
                )
            except ImportError:
                raise
            except Exception as error:  # of the files
                raise unloadable(folder, error) from error
        if missing := sorted(info.get("missing_keys", ())):
            raise WeakspotError(
                f"the weights in {folder} are not a classifier's: {missing[0]} is missing",
                fix="name a model that was trained for natural-language inference",
            )
        self._model: Any = model.to(device).eval()
        most = int(getattr(model.config, "max_position_embeddings", LONGEST) or LONGEST)
        self._longest = min(LONGEST, most - 2 if most > 8 else most)  # some count from their padding on

    def differ(self, pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        if not pairs:
            return []
        both = [*pairs, *((b, a) for a, b in pairs)]
        texts = [f"{a}\0{b}" for a, b in (map(_plain, pair) for pair in both)]
        follows = in_batches(texts, self._follow, batch=self.batch)
        return [self._verdict(*row) for row in follows.reshape(2, -1).T.tolist()]

    def _verdict(self, there: float, back: float) -> bool | None:
        """From the probabilities that each text follows from the other."""
        if not (np.isfinite(there) and np.isfinite(back)):
            raise WeakspotError(f"{self.name} gave numbers that are not finite", fix="check the model")
        if min(there, back) >= self.sure:
            return False
        return True if min(there, back) <= 1 - self.sure else None

    def _follow(self, texts: list[str]) -> NDArray[np.float64]:
        """The probability that the second text of each follows from the first."""
        first, second = (list(side) for side in zip(*(text.split("\0", 1) for text in texts), strict=True))
        tokens = self._tokenizer(
            first, second, padding=True, truncation="longest_first", max_length=self._longest,
            return_tensors="pt",
        )  # fmt: skip
        with self._torch.inference_mode():
            logits = self._model(**{k: v.to(self.device) for k, v in tokens.items()}).logits
        return np.asarray(logits.float().softmax(-1)[:, self._follows].double().cpu().numpy(), np.float64)


def follows_at(config: Mapping[str, Any], *, labels: Sequence[str], name: str) -> int:
    """Which output says that the second text follows from the first."""
    table = config.get("id2label")
    known = [str(v) for _, v in sorted(table.items(), key=_place)] if isinstance(table, Mapping) else []
    if labels and known and len(labels) != len(known):
        raise WeakspotError(
            f"{name[:200]} has {len(known)} outputs, and {len(labels)} labels are given",
            fix="name each output: ?labels=contradiction,entailment,neutral",
        )
    names = [label.strip().casefold() for label in (labels or known)]
    at = [i for i, label in enumerate(names) if label.startswith("entail")]
    if len(at) != 1 or len(names) not in (2, 3):
        raise WeakspotError(
            f"{name[:200]} does not say which output is entailment: {', '.join(names)[:120] or 'no labels'}",
            fix="use a model of natural-language inference, or name the labels: "
            "?labels=contradiction,entailment,neutral",
        )
    return at[0]


def _place(item: tuple[Any, Any]) -> int:
    return int(item[0]) if str(item[0]).isdecimal() else 0


def _plain(text: str) -> str:
    return " ".join(text.replace("\0", " ").encode("utf-8", "replace").decode().split())


def load(
    path: str, *, labels: str = "", device: str = "auto", batch: str = "", sure: str = "", revision: str = ""
) -> NliJudge:
    """`hf:cross-encoder/nli-deberta-v3-small?device=cuda`."""
    try:
        import_module("transformers")  # a missing library is told before anything is fetched
    except ImportError as error:
        raise WeakspotError(
            f"hf:{path[:200]} needs a library that is missing: {error}", fix="pip install 'weakspot[hf]'"
        ) from error
    from weakspot.models.compute import choose_device

    folder = find_folder(path, revision=revision or None)
    return NliJudge(
        folder,
        labels=[label for label in labels.split(",") if label.strip()],
        device=choose_device(device),
        batch=read_whole("batch", batch, most=1 << 16),
        sure=read_number("sure", sure, most=1) or SURE,
    )
