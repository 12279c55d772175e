"""Text-to-image pipelines in the diffusers format: `diffusers:stabilityai/sd-turbo?steps=4&guidance=0`."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.core.errors import explained
from weakspot.core.registry import read_number, read_size, read_whole, read_yes
from weakspot.models.compute import (
    Batched,
    Batches,
    choose_device,
    choose_dtype,
    computing,
    free_memory,
    out_of_memory,
)
from weakspot.models.diffusers import loading
from weakspot.models.diffusers.folder import check_digests, folder_digest
from weakspot.models.hf.loading import quiet, revision_of


class DiffusersGenerator(Batched):
    """Pictures from texts by a pipeline such as Stable Diffusion; see `weakspot.core.Generator`.

    **Promise.** The noise of a seed is made on the CPU and is the same with every device. A picture follows
    from prompt, noise and settings. Every call of the network has the same shape, the last one of a request
    being filled up, so that it does not matter what else is asked for. On the CPU, where pictures are made
    one at a time, the bytes are the same in any request. With a larger `batch`, there or on a GPU, they are
    so as far as the library's kernels treat all places of a batch alike (with powers of two they mostly do,
    with other numbers often not; `weakspot.testing.check_generator` tells) and the pipeline pads all prompts
    to one length (those with CLIP or T5 do). Another `batch`, device, number format, number of threads, or
    version of a library can change the last bits; so can a batch halved because memory ran out.

    **Safety.** Only JSON and safetensors are read, never a pickle or code of the model's. The pipeline's
    safety checker is used if it has one, and none is added; a picture that it holds back is an error, not a
    black picture.

    Args:
        path: A folder, or `owner/name` on the model hub (fetched once; not with HF_HUB_OFFLINE=1).
        device: "auto" (cuda, else mps, else cpu), "cpu", "cuda", "cuda:1" or "mps".
        dtype: "auto" (half precision on CUDA, else float32), "float32", "float16" or "bfloat16".
        steps: Of the sampler. As all that is None or empty below: as the pipeline has it.
        guidance: How strongly the words are followed (classifier-free guidance); 1 is without.
        negative: Words for what is not wanted.
        size: Of the pictures in pixels: both sides, or (height, width).
        batch: Pictures made at once. By default one: a picture keeps all cores busy, and the promise is
            strict. On CUDA as many as its free memory will do for, up to 64 (see `fitting_batch`). Halved
            when memory runs out.
        scheduler: Another sampler: the name of a class of diffusers.
        revision: A branch, tag or commit on the hub.
        compile: Compile the denoising network: slow to begin, then faster.
        offload: Keep on the GPU only the network that works just now.
        digests: SHA-256 of every file of the folder by relative path, if they are to be checked.
        on_progress: Called with (pictures done, pictures asked for) after each batch of a request.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        steps: int | None = None,
        guidance: float | None = None,
        negative: str = "",
        size: int | tuple[int, int] | None = None,
        batch: int | None = None,
        scheduler: str = "",
        revision: str | None = None,
        compile: bool = False,
        offload: bool = False,
        digests: Mapping[str, str] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.name = str(path)
        told = {"steps": steps, "guidance": guidance, "dtype": None if dtype == "auto" else dtype}
        #: Options that its files do not say.
        self.options = {key: str(value) for key, value in told.items() if value is not None}
        for what, count in (("steps", steps), ("batch", batch)):
            if count is not None and count < 1:
                raise WeakspotError(f"{what} cannot be {count}", fix="choose 1 or more")
        self.on_progress = on_progress
        self._lock = threading.RLock()  # a pipeline's sampler counts its steps, so one request at a time
        self._negative = negative
        missing = "'diffusers' needs a library that is missing"
        with explained(missing, ImportError, fix="pip install 'weakspot[hf]'"):
            folder = loading.find(self.name, revision=revision)
            if digests is not None:
                check_digests(folder, digests)
            self.device = choose_device(device)
            self.dtype = choose_dtype(dtype, self.device)
            self._torch: Any = import_module("torch")
            self.network, index = loading.load_pipeline(folder, dtype=self.dtype)
            if scheduler:
                loading.use_scheduler(self.network, scheduler)
            self._settings = loading.settings_of(
                self.network, steps=steps, guidance=guidance, negative=negative, size=size
            )
            self._place(compile=compile, offload=offload)
            self.noise_shape, self.size = loading.noise_of(self.network, self._settings)
        self._folder, self._components = folder, tuple(index.parts)
        self.revision = revision_of(folder)
        many = batch or loading.fitting_batch(free_memory(self.device), size=self.size, dtype=self.dtype)
        self._batches = Batches(
            self.name,
            many,
            device=self.device,
            dtype=self.dtype,
            filled=True,
            note=f"{self.size[0]}×{self.size[1]} pixels",
            fix="choose a smaller size, half precision (dtype=bfloat16), or on a GPU offload=yes",
        )

    def _place(self, *, compile: bool, offload: bool) -> None:
        pipe = self.network
        pipe.set_progress_bar_config(disable=True)
        if offload and self.device == "cpu":
            raise WeakspotError("there is nothing to offload from a CPU", fix="leave offload out")
        try:
            pipe.enable_model_cpu_offload(device=self.device) if offload else pipe.to(self.device)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            raise WeakspotError(
                f"{self.name} is too large for the memory of {self.device}", fix="try offload=yes"
            ) from error
        if not offload:
            loading.lay_out(pipe, self.device)
        if compile:
            (getattr(pipe, "unet", None) or pipe.transformer).compile()

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        """See `Generator`: the same as `generate_from(prompts, noise(seeds))`."""
        _same_number(len(prompts), len(seeds), "seeds")
        return self.generate_from(prompts, self.noise(seeds))

    def noise(self, seeds: Sequence[int]) -> NDArray[np.float32]:
        """The noise a picture begins with, by seed: independent standard normal numbers, one row per seed."""
        rows = np.empty((len(seeds), *self.noise_shape), np.float32)
        how = {"dtype": self._torch.float32, "device": "cpu"}
        for row, seed in zip(rows, seeds, strict=True):
            row[...] = self._torch.randn(self.noise_shape, generator=self._randomness(seed), **how)
        return rows

    def generate_from(
        self, prompts: Sequence[str], latents: NDArray[np.float32], *, seeds: Sequence[int] | None = None
    ) -> list[NDArray[np.uint8]]:
        """Pictures from noise of one's own, of the shape (pictures, *noise_shape).

        What a tokenizer has no room for is cut off. `seeds` are for samplers that add noise on their way
        (ancestral ones). By default it follows from the latents, so that a small move of the latents is a
        new draw there; fix the seeds to keep it.
        """
        latents = np.ascontiguousarray(latents, np.float32)
        _same_number(len(prompts), len(latents), "rows of latents")
        if latents.shape[1:] != self.noise_shape or not np.isfinite(latents).all():
            raise WeakspotError(
                f"latents of shape {latents.shape} are not finite numbers of shape (n, *{self.noise_shape})",
                fix="begin with those that noise(seeds) returns",
            )
        own = [seed_of(row) for row in latents] if seeds is None else list(seeds)
        _same_number(len(prompts), len(own), "seeds")
        # A lone surrogate is not text, and no tokenizer takes it.
        words = [prompt.encode("utf-8", "backslashreplace").decode() for prompt in prompts]
        pictures: list[NDArray[np.uint8]] = []

        def some(places: Sequence[int]) -> None:
            pictures.extend(self._run([words[i] for i in places], latents[places], [own[i] for i in places]))
            if self.on_progress is not None:
                self.on_progress(len(pictures), len(words))

        with self._lock, quiet(drawing=True):
            self._batches.run(range(len(words)), some)
        return pictures

    def _run(
        self, prompts: Sequence[str], latents: NDArray[np.float32], seeds: Sequence[int]
    ) -> list[NDArray[np.uint8]]:
        rows = [min(i, len(prompts) - 1) for i in range(self.batch)]  # filled up with the last
        more = {"negative_prompt": [self._negative] * self.batch} if self._negative else {}
        start = self._torch.from_numpy(latents[rows]).to(getattr(self._torch, self.dtype))
        with computing(self.device):
            made = self.network(
                prompt=[prompts[i] for i in rows],
                latents=start,
                generator=[self._randomness(seeds[i]) for i in rows],
                output_type="np",
                **self._settings,
                **more,
            )
        flags = getattr(made, "nsfw_content_detected", None)
        pictures = []
        for i, (prompt, picture) in enumerate(zip(prompts, made.images, strict=False)):
            if flags is not None and flags[i]:
                raise WeakspotError(
                    f"the pipeline's safety checker held back the picture of {prompt[:200]!r}",
                    fix="use other words or another seed",
                )
            if not np.isfinite(picture).all():
                raise WeakspotError(
                    f"the picture of {prompt[:200]!r} has numbers that are not finite",
                    fix="try dtype=float32" if self.dtype != "float32" else "check the model",
                )
            pictures.append(np.rint(np.asarray(picture) * 255).astype(np.uint8))
        return pictures

    def _randomness(self, seed: int) -> Any:
        return self._torch.Generator("cpu").manual_seed(int(seed) % 2**64)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all its files, which takes seconds for gigabytes; and a format other than float32."""
        found = folder_digest(self._folder, self._components)
        return found if self.dtype == "float32" else f"{found}-{self.dtype}"

    def __repr__(self) -> str:
        return f"<DiffusersGenerator {self.about}>"


def seed_of(latents: NDArray[np.float32]) -> int:
    """The seed that noise stands for."""
    return int.from_bytes(hashlib.blake2b(latents.tobytes(), digest_size=8).digest(), "big") >> 1


def _same_number(prompts: int, others: int, what: str) -> None:
    if prompts != others:
        raise WeakspotError(f"there are {prompts} prompts and {others} {what}", fix="give one per prompt")


def load(
    path: str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    steps: str = "",
    guidance: str = "",
    negative: str = "",
    size: str = "",
    batch: str = "",
    scheduler: str = "",
    revision: str = "",
    compile: str = "no",
    offload: str = "no",
) -> DiffusersGenerator:
    """`diffusers:folder?steps=8&guidance=2&size=64x96&scheduler=EulerDiscreteScheduler`."""
    return DiffusersGenerator(
        path,
        device=device,
        dtype=dtype,
        steps=read_whole("steps", steps, most=1000),
        guidance=read_number("guidance", guidance, most=100),
        negative=negative,
        size=read_size(size),
        batch=read_whole("batch", batch, most=4096),
        scheduler=scheduler,
        revision=revision or None,
        compile=read_yes("compile", compile),
        offload=read_yes("offload", offload),
    )
