"""Train `world:generator`: text to picture by flow matching, saved as a Stable Diffusion pipeline.

    python training/generator.py --out weights/generator

Three networks, all small and all from diffusers and transformers: an autoencoder (64 × 64 pictures to
32 × 32 latents), a text encoder, and a U-Net that learns the straight way from noise to the latents of a
picture given its text. The text encoder first learns to say what is in the picture from the text alone. Where
subjects stand, errors count more: they are small, and everything is about them.

The prompts are what a study writes (a subject and up to five sentences, every value as likely as any other);
the picture is a natural scene among those the prompt allows. Needs torch, diffusers, transformers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import (
    AutoencoderKL,
    DPMSolverMultistepScheduler,
    StableDiffusionPipeline,
    UNet2DConditionModel,
)
from export import write_results
from flags import settings, wait
from pictures import draw
from step import Masters, Muon, adamw, cosine, recorded
from texts import default_tokens
from torch import nn
from torch.nn import functional as F
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

from weakspot.world.scene import ATTRIBUTES
from weakspot.world.words import Words


@dataclass
class Settings:
    """All that a training run depends on."""

    #: Folder of the pipeline; the results lie beside it as <name>.json, samples as <name>.png.
    out: str = "generator"
    seed: int = 1
    #: Pictures of random prompts to train on: first seed and number of each set, with commas.
    sets: str = "500000000:1000000"
    #: Channels of the U-Net at 32 × 32, 16 × 16 and 8 × 8; it attends to the text at the last two.
    channels: str = "48,96,160"
    #: Width of the text encoder.
    text_width: int = 160
    #: Its layers.
    text_layers: int = 3
    #: A pipeline of the same shape to go on from ("" begins anew).
    start: str = ""
    #: An autoencoder trained before ("" trains one).
    vae: str = ""
    #: Of the autoencoder.
    vae_steps: int = 5_000
    #: Pictures a step of the autoencoder.
    vae_batch: int = 256
    #: Its learning rate at its highest.
    vae_rate: float = 1e-3
    #: Decay and stop early after this many seconds, whatever `vae_steps` says; 0 never.
    vae_seconds: float = 0.0
    #: Weight of the latents' distance from a normal distribution.
    kl: float = 1e-4
    #: Steps in which the text encoder alone learns to say the attributes.
    lesson: int = 1_500
    #: Weight of saying the attributes afterwards.
    says: float = 0.02
    #: Of the U-Net; 0 trains only the autoencoder.
    steps: int = 10_000
    batch: int = 512
    rate: float = 1e-3
    #: "adamw", or "muon" for the weights that are matrices.
    optimizer: str = "muon"
    #: How much more an error counts where a subject stands.
    subject: float = 3.0
    #: Noise levels are drawn around this (of the logistic scale).
    level: float = 0.4
    #: Share of prompts that are left empty, for guidance.
    unprompted: float = 0.1
    #: The shipped weights are a moving average.
    ema: float = 0.9995
    seconds: float = 0.0
    #: Compile the networks where that makes a step quicker (GPU).
    compiled: bool = False
    workers: int = 0
    cache: str = ""
    smoke: bool = False


# -- parts -----------------------------------------------------------------------------------------


#: Longest prompt in tokens.
LENGTH = 96


def tokenizer() -> CLIPTokenizer:
    """CLIP's kind of tokenizer, its pairs learned from the world's words until each word is one token."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    shape = CLIPTokenizer()._tokenizer
    learner = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    learner.normalizer = normalizers.Lowercase()
    learner.pre_tokenizer = shape.pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=5000, initial_alphabet=alphabet, end_of_word_suffix="</w>", show_progress=False,
        special_tokens=["<|startoftext|>", "<|endoftext|>"],
    )  # fmt: skip
    words = sorted(t for t in default_tokens()[4:] if not t.startswith("#"))
    learner.train_from_iterator([" ".join(words), ". , ( ) )."] * 3, trainer)
    import json

    model = json.loads(learner.to_str())["model"]
    vocab: dict[str, int] = {}
    whole = [f"{letter}</w>" for letter in alphabet]
    for token in [*sorted(model["vocab"], key=model["vocab"].get), *whole]:
        vocab.setdefault(token, len(vocab))
    merges = [tuple(pair) if isinstance(pair, list) else tuple(pair.split(" ")) for pair in model["merges"]]
    return CLIPTokenizer(vocab=vocab, merges=merges, model_max_length=LENGTH)


def autoencoder() -> AutoencoderKL:
    """Half the edge, six channels: as many numbers as JPEG keeps at 4:2:0, so that small figures stay sharp.

    (With a quarter of the edge and eight channels `world:classifier` read every sixth picture otherwise.)
    """
    return AutoencoderKL(
        in_channels=3, out_channels=3, latent_channels=6, sample_size=64, layers_per_block=1,
        block_out_channels=(32, 64), norm_num_groups=8, mid_block_add_attention=False,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip


def unet(s: Settings) -> UNet2DConditionModel:
    channels = tuple(map(int, s.channels.split(",")))
    return UNet2DConditionModel(
        sample_size=32, in_channels=6, out_channels=6, layers_per_block=1, norm_num_groups=8,
        block_out_channels=channels, cross_attention_dim=s.text_width,
        attention_head_dim=[max(1, c // 32) for c in channels],
        addition_embed_type="text", addition_embed_type_num_heads=4, resnet_time_scale_shift="scale_shift",
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip


def text_encoder(s: Settings, words: CLIPTokenizer) -> CLIPTextModel:
    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(words), hidden_size=s.text_width, intermediate_size=4 * s.text_width,
            num_hidden_layers=s.text_layers, num_attention_heads=s.text_width // 32,
            max_position_embeddings=LENGTH, projection_dim=s.text_width, hidden_act="gelu",
            bos_token_id=words.bos_token_id, eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
        )
    )  # fmt: skip


def scheduler() -> DPMSolverMultistepScheduler:
    """A second-order solver of the flow's equation; eight steps are enough."""
    return DPMSolverMultistepScheduler(
        num_train_timesteps=1000, use_flow_sigmas=True, prediction_type="flow_prediction", flow_shift=1.0,
        solver_order=2, final_sigmas_type="zero", steps_offset=1,
    )  # fmt: skip


def translate(rows: np.ndarray, words: CLIPTokenizer, device: str) -> torch.Tensor:
    """Rows of `Words` tokens as the tokenizer gives them for the same texts: int16 (n, LENGTH).

    A word is one token of either, but for "medium-sized", which is three, and ")" before ".", which are one.
    """
    ours = Words(default_tokens())
    close, stop, closed = ours.encode(")")[0], ours.encode(".")[0], len(ours)
    table = torch.full((len(ours) + 1, 3), -1)
    for i, token in enumerate([*ours.tokens, ")."]):
        if token[0] not in "<#":
            pieces = words(token, add_special_tokens=False)["input_ids"]
            table[i, : len(pieces)] = torch.tensor(pieces)
    table[ours.bos, 0], table[ours.eos, 0] = words.bos_token_id, words.eos_token_id
    said = torch.from_numpy(rows.astype(np.int64)).to(device)
    both = (said[:, :-1] == close) & (said[:, 1:] == stop)
    said[:, :-1][both] = closed
    said[:, 1:][both] = ours.pad
    pieces = table.to(device)[said].flatten(1)
    pieces = pieces.gather(1, (pieces < 0).to(torch.int8).argsort(dim=1, stable=True))[:, :LENGTH]
    return torch.where(pieces < 0, words.pad_token_id, pieces).to(torch.int16)


# -- the autoencoder -------------------------------------------------------------------------------


def train_vae(vae: AutoencoderKL, x: torch.Tensor, s: Settings, device: str) -> list[dict[str, float]]:
    """Reconstruction of colours and edges, and a little pressure towards normal latents."""
    vae.train()
    masters = Masters([vae], device)
    optimizer, rate = adamw(masters.weights, device, weight_decay=1e-4, betas=(0.9, 0.99))
    total = torch.zeros(2, device=device)

    edge, channels = x.shape[-1] // 2, vae.config.latent_channels

    def there_and_back(images: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, ...]:
        posterior = vae.encode(images.to(vae.dtype)).latent_dist
        mean, logvar = posterior.mean.float(), posterior.logvar.float()
        drawn = mean + (0.5 * logvar).exp() * noise
        return vae.decode(drawn.to(vae.dtype)).sample.float(), mean, logvar

    def step(through: Callable[..., Any] = there_and_back) -> None:
        rows = torch.randint(len(x), (s.vae_batch,), device=device)
        images = x[rows].float() / 127.5 - 1
        noise = torch.randn(s.vae_batch, channels, edge, edge, device=device)
        back, mean, logvar = through(images, noise)
        off = (back - images).abs().mean()
        edges = (back.diff(dim=2) - images.diff(dim=2)).abs().mean()
        edges = edges + (back.diff(dim=3) - images.diff(dim=3)).abs().mean()
        kl = 0.5 * (mean.square() + logvar.exp() - 1 - logvar).mean()
        loss = off + 0.5 * edges + s.kl * kl
        loss.backward()
        masters.take()
        torch.nn.utils.clip_grad_norm_(masters.weights, 1.0)
        optimizer.step()
        masters.give()
        total.add_(torch.stack([loss.detach(), off.detach()]))

    also = partial(step, torch.compile(there_and_back)) if s.compiled else None
    again, curve, every = recorded(step, device, also=also), [], max(1, s.vae_steps // 20)
    total.zero_()  # of the steps that were tried while recording
    began, done, gone = time.time(), 0, 0.0
    while gone < 1:
        done += 1
        gone = max(done / s.vae_steps, (time.time() - began) / s.vae_seconds if s.vae_seconds else 0.0)
        rate.fill_(cosine(min(gone, 1.0), s.vae_rate, warm=0.05))
        again()
        if done % every == 0:
            loss_mean, off_mean = (total / every).tolist()
            total.zero_()
            curve.append({"step": done, "loss": loss_mean, "off": off_mean})
            took = time.time() - began
            print(f"vae {done} loss {loss_mean:.4f} off {off_mean:.4f} {took:.0f} s", flush=True)
    vae.float()
    masters.give()
    return curve


@torch.no_grad()
def latents_of(vae: AutoencoderKL, x: torch.Tensor, device: str) -> torch.Tensor:
    """The mean latents of all pictures, not yet scaled, in half precision."""
    vae.eval()
    parts = []
    for part in x.split(2048):
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            parts.append(vae.encode(part.float() / 127.5 - 1).latent_dist.mean.half())
    return torch.cat(parts)


# -- the text, and where subjects are --------------------------------------------------------------


def said(logits: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """Cross entropy of the attributes, given logits of all of them one after the other."""
    parts = logits.float().split([len(values) for values in ATTRIBUTES.values()], 1)
    return torch.stack([F.cross_entropy(part, codes[:, i]) for i, part in enumerate(parts)]).mean()


def learn_to_read(
    reader: CLIPTextModel, head: nn.Linear, ids: torch.Tensor, codes: torch.Tensor, s: Settings, device: str
) -> None:
    """Teach the text encoder to say what is in the picture, as far as the text tells."""
    weights = [*reader.parameters(), *head.parameters()]
    optimizer, rate = adamw(weights, device, weight_decay=0.01, betas=(0.9, 0.99))
    total = torch.zeros((), device=device)

    def step() -> None:
        pick = torch.randint(len(ids), (s.batch,), device=device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda", cache_enabled=False):
            loss = said(head(reader(ids[pick].long()).pooler_output), codes[pick].long())
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())

    again = recorded(step, device)
    total.zero_()  # of the steps that were tried while recording
    for done in range(s.lesson):
        rate.fill_(cosine(done / s.lesson, 1e-3, warm=0.1))
        again()
        if (done + 1) % max(1, s.lesson // 5) == 0:
            print(f"lesson {done + 1} loss {total.item() / max(1, s.lesson // 5):.4f}", flush=True)
            total.zero_()


def emphasis(spots: torch.Tensor, edge: int, more: float) -> torch.Tensor:
    """How much an error counts at each place: 1, and `more` added on subjects; (n, 1, edge, edge)."""
    x, y, half = (spots.float() / 255).unbind(2)
    axis = (torch.arange(edge, device=spots.device) + 0.5) / edge
    across = (axis - x[..., None]).abs() <= 1.05 * half[..., None]
    down = (axis - y[..., None]).abs() <= half[..., None]
    there = (down[:, :, :, None] & across[:, :, None, :] & (half > 0)[:, :, None, None]).any(1)
    return 1 + more * there[:, None].float()


# -- from top to bottom ----------------------------------------------------------------------------


def main(s: Settings) -> None:
    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if s.smoke:
        s.sets, s.vae_steps, s.vae_batch, s.steps, s.batch, s.workers, device = "7:96", 2, 8, 4, 8, 1, "cpu"
        s.channels, s.text_width, s.text_layers, s.ema, s.lesson = "16,16,32", 32, 1, 0.5, 5
    torch.manual_seed(s.seed)
    pairs = [tuple(map(int, name.split(":"))) for name in s.sets.split(",")]
    sets = [draw("prompts", first, n, workers=s.workers, cache=s.cache) for first, n in pairs]
    texts = np.concatenate([part.texts[:, 0] for part in sets])
    x = torch.cat([torch.from_numpy(np.array(part.images)).to(device) for part in sets])
    codes = torch.cat([torch.from_numpy(np.array(part.codes)).to(device) for part in sets])
    spots = torch.cat([torch.from_numpy(np.array(part.spots)).to(device) for part in sets])
    print(f"{len(x):,} pictures after {time.time() - began:.0f} s", flush=True)
    began_vae = time.time()
    vae_curve: list[dict[str, float]] = []
    if s.vae:
        # Another run may be about to write it: first its config.json, then its weights.
        config = Path(s.vae, "config.json")
        wait(config.exists, f"{config}, which generator.py --steps 0 --out {Path(s.vae).parent} writes")
        time.sleep(2)
        vae = AutoencoderKL.from_pretrained(s.vae, torch_dtype=torch.float32).to(device)
    else:
        vae = autoencoder().to(device)
        vae_curve = train_vae(vae, x, s, device)
    z = latents_of(vae, x, device)
    del x
    if not s.vae:
        vae.register_to_config(scaling_factor=1 / z[:100_000].float().std().item())
    z = z * vae.config.scaling_factor
    vae_seconds = time.time() - began_vae
    print(f"latents after {time.time() - began:.0f} s", flush=True)
    if not s.steps:
        vae.half().cpu().save_pretrained(Path(s.out) / "vae")
        results = {"vae_seconds": vae_seconds, "settings": vars(s), "vae_curve": vae_curve}
        write_results(Path(s.out).with_suffix(".json"), results)
        return
    kept = Path(s.start) / "tokenizer"  # a learner's ties fall otherwise each time
    words = CLIPTokenizer.from_pretrained(kept) if s.start else tokenizer()
    ids = torch.cat(
        [translate(part, words, device) for part in np.array_split(texts, 1 + len(texts) // 50_000)]
    )
    train = len(z) - min(4096, len(z) // 8)
    nothing = torch.tensor(words("", padding="max_length", max_length=LENGTH)["input_ids"], device=device)
    print(f"prompts read after {time.time() - began:.0f} s, {len(words)} tokens", flush=True)

    torch.manual_seed(s.seed)
    net, reader = unet(s), text_encoder(s, words)
    if s.start:
        net = UNet2DConditionModel.from_pretrained(Path(s.start) / "unet", torch_dtype=torch.float32)
        reader = CLIPTextModel.from_pretrained(Path(s.start) / "text_encoder", torch_dtype=torch.float32)
    head = nn.Linear(s.text_width, sum(map(len, ATTRIBUTES.values())))
    net, reader, head = net.to(device, memory_format=torch.channels_last), reader.to(device), head.to(device)
    if s.lesson:
        learn_to_read(reader, head, ids, codes, s, device)
        print(f"read after {time.time() - began:.0f} s", flush=True)
    masters = Masters([net, reader, head], device)
    average = [w.detach().clone() for w in masters.weights]
    print(f"{sum(p.numel() for part in (net, reader) for p in part.parameters()):,} parameters", flush=True)
    named = [name for part in (net, reader, head) for name, _ in part.named_parameters()]
    optimizer, rate = adamw(masters.weights, device, weight_decay=0.01, betas=(0.9, 0.99))
    if s.optimizer == "muon":
        optimizer = Muon(masters.weights, named, rate, device)
    total = torch.zeros((), device=device)

    def losses(
        pick: torch.Tensor, tokens: torch.Tensor, noise: torch.Tensor, level: torch.Tensor,
        move: Callable[..., Any],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
        """Error of the flow at each place, how much it counts, and what the text encoder says."""
        clean, sigma = z[pick].float(), torch.sigmoid(level)
        mixed = clean + sigma[:, None, None, None] * (noise - clean)
        read = reader(tokens)
        mixed = mixed.to(net.dtype).contiguous(memory_format=torch.channels_last)
        flow = move(mixed, sigma * 1000, read.last_hidden_state).sample
        off = (flow.float() - (noise - clean)).square().mean(1, keepdim=True)
        return off, emphasis(spots[pick], z.shape[-1], s.subject), head(read.pooler_output)

    def step(move: Callable[..., Any] = net) -> None:
        pick = torch.randint(train, (s.batch,), device=device)
        tokens = torch.where(torch.rand(s.batch, 1, device=device) < s.unprompted, nothing, ids[pick].long())
        noise = torch.randn((s.batch, *z.shape[1:]), device=device)
        off, counts, says = losses(pick, tokens, noise, torch.randn(s.batch, device=device) + s.level, move)
        loss = (off * counts).mean()
        (loss + s.says * said(says, codes[pick].long())).backward()
        masters.take()
        torch.nn.utils.clip_grad_norm_(masters.weights, 1.0)
        optimizer.step()
        masters.give()
        total.add_(loss.detach())

    @torch.no_grad()
    def check() -> dict[str, float]:
        """On pictures not trained on: the error, that on subjects, and how much of it the text saves."""
        fixed = torch.Generator(device).manual_seed(7)
        sums = torch.zeros(4, device=device)
        for pick in torch.arange(train, len(z), device=device).split(s.batch):
            noise = torch.randn((len(pick), *z.shape[1:]), device=device, generator=fixed)
            level = torch.randn(len(pick), device=device, generator=fixed)
            for k, tokens in enumerate((ids[pick].long(), nothing.expand(len(pick), -1))):
                off, counts, _ = losses(pick, tokens, noise, level, net)
                there = (counts > 1).float()
                sums[2 * k] += off.sum() / off.numel() * len(pick)
                sums[2 * k + 1] += (off * there).sum() / there.sum().clamp(min=1) * len(pick)
        error, subject, blind, subject_blind = (sums / (len(z) - train)).tolist()
        return {"error": error, "subject": subject, "saved": 1 - error / blind,
                "saved_subject": 1 - subject / subject_blind}  # fmt: skip

    also = partial(step, torch.compile(net)) if s.compiled else None
    again, curve, every = recorded(step, device, also=also), [], max(1, s.steps // 20)
    total.zero_()  # of the steps that were tried while recording
    began_net, done, gone = time.time(), 0, 0.0
    while gone < 1:
        done += 1
        gone = max(done / s.steps, (time.time() - began_net) / s.seconds if s.seconds else 0.0)
        rate.fill_(s.rate * min(1.0, done / min(500, s.steps), max(0.01, (1 - gone) / 0.35)))
        again()
        if done % 10 == 0:
            keep = min(s.ema, (1 + done) / (10 + done)) ** 10
            torch._foreach_lerp_(average, [w.detach() for w in masters.weights], 1 - keep)
        if gone >= 1 or (done % every == 0 and not s.smoke):
            since = curve[-1]["step"] if curve else 0
            curve.append({"step": done, "loss": total.item() / (done - since), **check()})
            total.zero_()
            shown = " ".join(f"{k} {v:.4f}" for k, v in curve[-1].items() if k != "step")
            print(f"{Path(s.out).name} {done} {shown} {time.time() - began_net:.0f} s", flush=True)
    net.float()
    reader.float()
    masters.give(average)
    seconds = time.time() - began_net

    pipeline = StableDiffusionPipeline(
        vae.half().cpu(),
        reader.half().cpu(),
        words,
        net.half().cpu(),
        scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.save_pretrained(s.out, max_shard_size="10MB")
    ours = Words(default_tokens())
    some = [ours.decode(row) for row in texts[:64].tolist()]
    sheet(Path(s.out), some, device)
    results: dict[str, object] = {
        "vae_seconds": vae_seconds, "training_seconds": seconds, "steps_done": done, "settings": vars(s),
        "vae_curve": vae_curve, "curve": curve,
        "bytes": sum(f.stat().st_size for f in Path(s.out).rglob("*") if f.is_file()),
    }  # fmt: skip
    write_results(Path(s.out).with_suffix(".json"), results)


def sheet(folder: Path, prompts: list[str], device: str) -> None:
    """A picture of pictures, made by the written files."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = StableDiffusionPipeline.from_pretrained(folder, torch_dtype=torch.float32).to(device)
    pipeline.set_progress_bar_config(disable=True)
    generator = torch.Generator("cpu").manual_seed(1)
    images = pipeline(
        prompts, num_inference_steps=8, guidance_scale=2.0, generator=generator, output_type="np"
    ).images
    side = max(1, int(len(images) ** 0.5))
    grid = (images[: side * side] * 255).round().astype(np.uint8).reshape(side, side, 64, 64, 3)
    Image.fromarray(grid.transpose(0, 2, 1, 3, 4).reshape(side * 64, side * 64, 3)).save(f"{folder}.png")


if __name__ == "__main__":
    main(settings(Settings, __doc__))
