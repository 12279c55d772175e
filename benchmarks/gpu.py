"""What a hunt's loop costs a generator on a GPU: pictures a second by the engine and by the generator alone.

    python benchmarks/gpu.py [--pipeline FOLDER] [--size sd|small] [--images 512] [--batch 16]
                             [--classifiers cuda]

The generator alone, in a bare loop, and then drawn, classified, verified by a second classifier, judged and
written to the ledger by the engine, turn about in one run. Without a folder the pipeline is made on the spot
with random weights: `sd` has the shape of Stable Diffusion 1.5 (its pictures are noise, its speed is not),
`small` is for a CPU. With --classifiers DEVICE the classifier is a ViT-B/16 and the verifier a ResNet-50 on
that device, with random weights too; without it both are small and on the processor. Also printed: the
device's memory after the first and the last batch.

    python benchmarks/gpu.py --watch 3400 --batch 1 --steps 1

The loop alone, for as many batches of the generator as an hour has (3,400 of 16 pictures at 15 pictures a
second; small ones take minutes), and twenty times the memory: what tensors hold on the device, the most they
held since the reading before, and the whole process on the host. What is made once is made by the first
reading, so that from there on the device's memory should stay as it is.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from weakspot.core import Case, Hypothesis, Output
from weakspot.core.registry import MODELS
from weakspot.engine import Engine, LocalExecutor, Want
from weakspot.judges import LabelJudge
from weakspot.judges.verified import Verified, opinion
from weakspot.models.compute import choose_device, choose_dtype
from weakspot.models.diffusers.pipeline import DiffusersGenerator
from weakspot.models.preprocess import Preprocess
from weakspot.models.torch.classifier import ImageClassifier
from weakspot.sources.generate import TextToImage
from weakspot.store import Run, RunConfig

FLY = Hypothesis("a realistic photograph of a fly (insect).")


def made(folder: Path, size: str) -> Path:
    """A Stable Diffusion pipeline with random weights."""
    torch, diffusers, transformers = map(import_module, ("torch", "diffusers", "transformers"))
    torch.manual_seed(0)
    large = size == "sd"
    width = 768 if large else 32
    letters = [chr(c) for c in range(33, 127)]
    vocab = {w: i for i, w in enumerate([*letters, *(f"{w}</w>" for w in letters)])}
    vocab |= {"<|startoftext|>": len(vocab), "<|endoftext|>": len(vocab) + 1}
    text = transformers.CLIPTextConfig(
        vocab_size=len(vocab), hidden_size=width, intermediate_size=4 * width,
        num_hidden_layers=12 if large else 1, num_attention_heads=12 if large else 2,
        bos_token_id=len(vocab) - 2, eos_token_id=len(vocab) - 1,
    )  # fmt: skip
    blocks = 4 if large else 2
    channels = (320, 640, 1280, 1280) if large else (16, 32)
    unet = diffusers.UNet2DConditionModel(
        sample_size=64 if large else 16, block_out_channels=channels, cross_attention_dim=width,
        layers_per_block=2 if large else 1, norm_num_groups=32 if large else 8,
        down_block_types=("CrossAttnDownBlock2D",) * (blocks - 1) + ("DownBlock2D",),
        up_block_types=("UpBlock2D",) + ("CrossAttnUpBlock2D",) * (blocks - 1),
    )  # fmt: skip
    vae = diffusers.AutoencoderKL(
        block_out_channels=(128, 256, 512, 512) if large else (16, 32), norm_num_groups=32 if large else 8,
        layers_per_block=2 if large else 1, sample_size=512 if large else 32,
        down_block_types=("DownEncoderBlock2D",) * blocks, up_block_types=("UpDecoderBlock2D",) * blocks,
    )  # fmt: skip
    pipeline = diffusers.StableDiffusionPipeline(
        vae.half(), transformers.CLIPTextModel(text).half(),
        transformers.CLIPTokenizer(vocab=vocab, merges=[], model_max_length=77), unet.half(),
        diffusers.DPMSolverMultistepScheduler(), safety_checker=None, feature_extractor=None,
        requires_safety_checker=False,
    )  # fmt: skip
    pipeline.save_pretrained(folder)
    return folder


class Watched:
    """A generator that reads the memory twenty times on the way to so many pictures."""

    def __init__(self, generator: DiffusersGenerator, *, pictures: int) -> None:
        self.generator, self.every, self.made = generator, max(1, pictures // 20), 0
        self.readings: list[tuple[float, ...]] = []
        print(f"  {'pictures':>10} {'device':>12} {'its peak':>12} {'process':>12}")

    def generate(self, texts: Sequence[str], seeds: Sequence[int]) -> Any:
        """See `Generator`."""
        pictures = self.generator.generate(texts, seeds)
        before, self.made = self.made, self.made + len(texts)
        if before // self.every < self.made // self.every:
            self.readings.append((*on_device(self.generator.device), resident()))
            read = "".join(f"{value / 1e6:>10,.1f} MB" for value in self.readings[-1])
            print(f"  {self.made:>10,}{read}", flush=True)
        return pictures


def on_device(device: str) -> tuple[int, int]:
    """Bytes that tensors hold, and the most since this was last asked; 0 on a CPU."""
    if not device.startswith("cuda"):
        return 0, 0
    cuda = import_module("torch").cuda
    held = cuda.memory_allocated(device), cuda.max_memory_allocated(device)
    cuda.reset_peak_memory_stats(device)
    return held


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    told = Path("/proc/self/statm")
    return int(told.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if told.exists() else 0


class Sized:
    """A classifier of small pictures that is shown larger ones: every so many pixels is one."""

    def __init__(self, model: Any) -> None:
        self.model, self.labels, self.parents = model, model.labels, model.parents

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`."""
        answers: list[Output] = self.model.answer([replace(c, input=self._small(c.input)) for c in cases])
        return answers

    @staticmethod
    def _small(image: Any) -> Any:
        step = max(1, image.shape[0] // 64)
        return image[::step, ::step][:64, :64]


def classifiers(device: str, labels: Sequence[str], size: str) -> tuple[Any, Any]:
    """A vision transformer and a residual network with random weights, of the usual size or small ones."""
    torch, transformers = map(import_module, ("torch", "transformers"))
    torch.manual_seed(1)
    number = {"num_labels": len(labels)}
    if size == "sd":
        both = transformers.ViTConfig(**number), transformers.ResNetConfig(**number)
    else:
        tower = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
        both = (
            transformers.ViTConfig(**tower, **number),
            transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], **number),
        )
    kinds = transformers.ViTForImageClassification, transformers.ResNetForImageClassification
    place = choose_device(device)
    first, second = (
        ImageClassifier(
            kind(config).to(place),
            name=kind.__name__,
            labels=labels,
            prepare=Preprocess((224, 224)),
            device=place,
            dtype=choose_dtype("auto", place),
        )
        for kind, config in zip(kinds, both, strict=True)
    )
    print(f"{first.about}\n{second.about}")
    return first, second


def main(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(args.pipeline) if args.pipeline else made(Path(place) / "pipeline", args.size)
        generator = DiffusersGenerator(folder, batch=args.batch, steps=args.steps, compile=args.compile)
        print(generator.about)
        torch = import_module("torch")
        memory = torch.cuda.memory_allocated if generator.device.startswith("cuda") else lambda: 0
        own = MODELS.load("world:classifier")
        if args.classifiers:
            target, second = classifiers(args.classifiers, own.labels, args.size)
        else:
            target, second = Sized(own), Sized(MODELS.load("world:classifier-vit-1"))
        judge = Verified(LabelJudge(), (opinion(second, name="vit", labels=(), words={}),))
        generator.generate([FLY.text] * args.batch, range(args.batch))
        held = [memory()]

        def engine(first: int, images: int, source: TextToImage) -> None:
            config = RunConfig(study="benchmark", subject="fly", settings={})
            with (
                Run.create(config, folder=Path(place) / f"run-{first}") as run,
                Engine(
                    run, source=source, target=target, judge=judge, seed=first, executor=LocalExecutor(),
                    batch=2 * args.batch,
                ) as drawing,
            ):  # fmt: skip
                drawing.draw([Want(FLY, images)])

        if args.watch:
            pictures = args.watch * args.batch
            watched = Watched(generator, pictures=pictures)
            engine(0, pictures, TextToImage(watched, expected="fly"))
            grown = (
                last - first for first, last in zip(watched.readings[0], watched.readings[-1], strict=True)
            )
            said = "".join(f"{more / 1e6:>+10,.1f} MB" for more in grown)
            print(f"  {'grown by':>10}{said}   from the first reading to the last")
            return

        def alone(first: int) -> None:
            for i in range(first, first + args.images, args.batch):
                generator.generate([FLY.text] * args.batch, range(i, i + args.batch))

        def loop(first: int) -> None:
            engine(first, args.images, TextToImage(generator, expected="fly"))

        best = {"the generator alone": 0.0, "hunt's loop": 0.0}
        for turn in range(args.turns):
            for name, way in zip(best, (alone, loop), strict=True):
                began = time.perf_counter()
                way(turn * args.images)
                best[name] = max(best[name], args.images / (time.perf_counter() - began))
                held.append(memory())
            print(f"  {2 * (turn + 1) * args.images:,} pictures: {held[-1] / 1e6:,.0f} MB", flush=True)
        for name, pace in best.items():
            print(f"  {name:<22} {pace:>8.1f} pictures/s   {pace / best['the generator alone']:.3f}×")
        print(
            f"  memory {held[0] / 1e6:,.0f} MB after the first batch, {held[-1] / 1e6:,.0f} MB after the last"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pipeline", default="")
    parser.add_argument("--size", choices=("sd", "small"), default="sd")
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--watch", type=int, default=0, metavar="BATCHES")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--classifiers", default="", metavar="DEVICE")
    main(parser.parse_args())
