"""LoRA of a text-to-image pipeline on a few pictures with their prompts, as of a bias that is to be undone.

Adapters of low rank (peft) in the denoising network learn to predict the noise of the wanted pictures. Kept
are they alone, and the whole pipeline with them merged, both as safetensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.compute import choose_device
from weakspot.models.pictures import stack_images
from weakspot.store import write_whole
from weakspot.tuning.network import merged, need_peft
from weakspot.tuning.rounds import Progress, Row, rounds

#: Layers of attention that get an adapter.
LAYERS: Final = ("to_q", "to_k", "to_v", "to_out.0")
#: The rate of learning times the mean width of the network's blocks: wide layers add up more small steps.
#: 0.3 is 0.003 for `world:generator` (compared there with 0.001, which hardly moves it) and 0.0003 for Stable
#: Diffusion 1.5.
REACH: Final = 0.3
#: Steps of a round, about; and rounds without one that is kept or better than all before, then it ends.
ROUND, PATIENCE = 100, 4
#: Noisy pictures on which the loss is compared before and after.
EXAM: Final = 32
ADAPTER: Final = "adapter.safetensors"


class Fitted(NamedTuple):
    """How a generator was fine-tuned; the loss is under the same noise before and after.

    `curve` and `best` are as in `weakspot.tuning.rounds.RoundState`; `steps` are those of one round.
    """

    before: float
    after: float
    parameters: int
    curve: list[Row]
    best: int
    rounds: int
    steps: int


def fit_generator(
    folder: str | Path,
    examples: Sequence[tuple[str, NDArray[np.uint8]]],
    *,
    out: Path,
    rank: int = 8,
    steps: int = 600,
    learning_rate: float = 0.0,
    batch: int = 4,
    device: str = "auto",
    seed: int = 0,
    evaluate: Callable[[Any], Row] | None = None,
    watched: int = 0,
    checkpoints: Path | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fine-tune a pipeline of diffusers (with a `unet`) on pictures that show what its prompts should give.

    Some twenty examples are enough for a bias. After each round of about a hundred steps `evaluate` says how
    the pipeline does, on `watched` pictures, and the best round is kept. Without it, a fifth of the examples
    takes no part in training and the loss on them decides. A learning rate of 0 is the one that fits the
    width.
    """
    from weakspot.models.diffusers.loading import find, load_pipeline
    from weakspot.models.hf.loading import quiet

    peft = need_peft()
    if len(examples) < 2:
        raise WeakspotError(f"{len(examples)} pictures are too few to learn from", fix="give about twenty")
    with quiet():
        pipe, _ = load_pipeline(find(str(folder)), dtype="float32")
    unet = getattr(pipe, "unet", None)
    if unet is None:
        raise WeakspotError(
            f"{folder} has no unet", fix="LoRA is made for pipelines of Stable Diffusion's kind"
        )
    where = choose_device(device)
    pipe.to(where)
    pipe.set_progress_bar_config(disable=True)
    material = _Material(pipe, examples, where, seed)
    config = peft.LoraConfig(r=rank, lora_alpha=rank, target_modules=list(LAYERS), init_lora_weights=True)
    torch.manual_seed(seed)
    peft.inject_adapter_in_model(config, unet)
    trained = [p for name, p in unet.named_parameters() if "lora_" in name]
    for name, p in unet.named_parameters():
        p.requires_grad_("lora_" in name)
    order = np.random.default_rng([seed, 45]).permutation(len(examples))
    held = order[: 0 if evaluate else max(1, len(order) // 5)]
    own = order[len(held) :]

    def loss_at(epoch: int, step: int) -> torch.Tensor:
        rows = np.random.default_rng([seed, 42, epoch, step]).choice(own, batch)
        return material.loss(unet, rows, [seed, 43, epoch, step])

    def evaluated() -> Row:
        if evaluate is not None:
            return evaluate(pipe)
        return {"validation": material.evaluated(unet, held), "transformed": 0.0, "plain": 0.0}

    settings = {"steps": steps, "rank": rank, "rate": learning_rate, "seed": seed, "examples": len(examples)}
    before, many = material.evaluated(unet, own), max(1, round(steps / ROUND))
    each = math.ceil(steps / many)
    state = rounds(
        trained,
        loss_at=loss_at,
        evaluate=evaluated,
        held=watched or max(len(held), 1),
        steps=each,
        epochs=many,
        peak=learning_rate or REACH / float(np.mean(unet.config.block_out_channels)),
        patience=PATIENCE,
        settings=settings,
        folder=checkpoints,
        progress=progress,
    )
    after = material.evaluated(unet, own)
    out.mkdir(parents=True, exist_ok=True)
    _keep_adapter(peft, unet, out / ADAPTER)
    pipe.unet = merged(unet)
    with quiet():
        pipe.to("cpu").save_pretrained(out, safe_serialization=True)
    count = sum(p.numel() for p in trained)
    return Fitted(before, after, count, state.curve, state.best, state.epoch, each)


class _Material:
    """Pictures as latents, prompts as vectors, and the loss of a network that is to take noise away."""

    def __init__(
        self, pipe: Any, examples: Sequence[tuple[str, NDArray[np.uint8]]], device: str, seed: int
    ) -> None:
        side = int(pipe.unet.config.sample_size) * int(getattr(pipe, "vae_scale_factor", 1))
        pixels = stack_images([image for _, image in examples], (side, side))
        scaled = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))).float() / 127.5 - 1
        with torch.no_grad():
            found = pipe.vae.encode(scaled.to(device)).latent_dist.mean
            self._latents = found * pipe.vae.config.scaling_factor
            words = [prompt for prompt, _ in examples]
            self._words = pipe.encode_prompt(words, device, 1, False)[0]
        kind = str(pipe.scheduler.config.get("prediction_type", "epsilon"))
        self._flow = kind == "flow_prediction" or bool(pipe.scheduler.config.get("use_flow_sigmas"))
        noises = import_module("diffusers").DDPMScheduler
        self._noise = None if self._flow else noises.from_config(pipe.scheduler.config)
        self._velocity, self._device, self._seed = kind == "v_prediction", device, seed

    def loss(self, unet: Any, rows: NDArray[np.int64], seed: Sequence[int]) -> torch.Tensor:
        """Squared error of the predicted noise (or velocity) at random times.

        Much noise is commoner than little: what a picture shows, and so a bias, is decided there.
        """
        rng = np.random.default_rng(list(seed))
        clean, words = self._latents[rows], self._words[rows]
        noise = torch.from_numpy(rng.standard_normal(clean.shape, np.float32)).to(self._device)
        if self._noise is None:
            share = torch.from_numpy(1 - rng.random(len(rows), np.float32) ** 2).to(self._device)
            at = share.reshape(-1, 1, 1, 1)
            shown, wanted, times = (1 - at) * clean + at * noise, noise - clean, share * 1000
        else:
            steps = self._noise.config.num_train_timesteps
            share = np.minimum((1 - rng.random(len(rows)) ** 2) * steps, steps - 1)
            times = torch.from_numpy(share.astype(np.int64)).to(self._device)
            shown = self._noise.add_noise(clean, noise, times)
            wanted = self._noise.get_velocity(clean, noise, times) if self._velocity else noise
        said = unet(shown, times, encoder_hidden_states=words).sample
        return torch.nn.functional.mse_loss(said, wanted)

    def evaluated(self, unet: Any, some: NDArray[np.int64]) -> float:
        rows = some[np.arange(EXAM) % len(some)]
        with torch.no_grad():
            return float(self.loss(unet, rows, [self._seed, 44]))


def _keep_adapter(peft: Any, unet: Any, path: Path) -> None:
    from safetensors.torch import save

    tensors = peft.get_peft_model_state_dict(unet) if hasattr(unet, "peft_config") else {}
    tensors = tensors or {name: p for name, p in unet.named_parameters() if "lora_" in name}
    write_whole(path, save({name: p.detach().cpu().contiguous() for name, p in tensors.items()}))
