"""Trains a tiny summariser and writes texts for it: something to map and to repair on a CPU.

    python docs/examples/tiny_summariser.py FOLDER [--texts 400] [--steps 700]

Writes FOLDER/texts.jsonl, descriptions of pictures of the drawn world with a summary of each, and
FOLDER/bart, a BART of 0.2 million weights with its tokenizer, trained for a minute on other descriptions. It
does well on plain texts, and is easily confused by edited ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random
from typing import Any

import tokenizers
import torch
import transformers

from weakspot.world.nature import sample
from weakspot.world.scene import Scene, SceneSet

SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
#: How backgrounds are said that have no "a".
PLACES = {"snow": "snow", "sea": "the sea", "underwater": "open water", "sky": "the sky"}
WORDS = 400
#: Texts it is trained on, and those of a step.
LEARNT, BATCH = 3_000, 32
RATE = 3e-3


def described(scene: Scene, rng: Random) -> tuple[str, str]:
    """A text about a scene, and its summary: what it is, where, and when."""
    kind, light = one(scene.subject), scene.light
    where = PLACES.get(scene.background) or one(scene.background)
    told = [f"Behind it one sees {where}.", f"It was taken by {light}."]
    more = {
        "size": {"small": "It looks rather small.", "large": "It fills most of the frame."},
        "facing": {"left": "It is turned to the left.", "right": "It is turned to the right."},
        "weather": {
            "rain": "It was raining at the time.",
            "fog": "There was some fog.",
            "clear": "The sky was clear.",
        },
        "count": {"2": "There are two of them.", "3": "There are three of them."},
        "on": {"nothing": ""},
    }
    for attribute, sentences in more.items():
        value = str(getattr(scene, attribute))
        said = sentences.get(value, f"It sits on {one(value)}." if attribute == "on" else "")
        told += [said] if said else []
    rng.shuffle(told)
    return " ".join([f"This picture shows {kind}.", *told]), f"{kind.capitalize()} before {where} by {light}."


def one(thing: str) -> str:
    """With its article."""
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


def descriptions(n: int, seed: int) -> list[tuple[str, str]]:
    """Different ones; other seeds give others."""
    rng = Random(seed)  # noqa: S311 (nothing secret)
    found: dict[str, str] = {}
    while len(found) < n:
        text, summary = described(sample(SceneSet(), rng), rng)
        found.setdefault(text, summary)
    return list(found.items())


def tokenizer(rows: list[tuple[str, str]]) -> Any:
    """Pieces of words, down to single letters, so that a misspelt word is still read."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=SPECIAL["unk_token"]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = tokenizers.decoders.ByteLevel()
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=WORDS, special_tokens=list(SPECIAL.values()), initial_alphabet=letters, show_progress=False
    )
    made.train_from_iterator([text for row in rows for text in row], trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=160, **SPECIAL)


def network(words: int) -> Any:
    """A BART with random weights."""
    config = transformers.BartConfig(
        vocab_size=words, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=164,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=3,
    )  # fmt: skip
    return transformers.BartForConditionalGeneration(config)


def train(model: Any, reader: Any, rows: list[tuple[str, str]], steps: int, rng: Random) -> float:
    """Train a model; the loss of the last steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    fit = {"return_tensors": "pt", "padding": True, "truncation": True}
    model.train()
    last = 0.0
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 50) * (1 - step / steps)
        some = rng.sample(rows, BATCH)
        given = reader([text for text, _ in some], **fit)
        labels = reader([summary for _, summary in some], **fit).input_ids
        labels[labels == 0] = -100
        optimizer.zero_grad()
        loss = model(input_ids=given.input_ids, attention_mask=given.attention_mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        last = 0.95 * last + 0.05 * float(loss.detach())
    return last


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--steps", type=int, default=700)
    given = parser.parse_args()
    torch.manual_seed(0)
    given.folder.mkdir(parents=True, exist_ok=True)
    own = descriptions(LEARNT, seed=1)
    known = {text for text, _ in own}
    others = [row for row in descriptions(2 * given.texts, seed=2) if row[0] not in known][: given.texts]
    lines = [json.dumps({"name": f"{i:04d}", "text": t, "summary": s}) for i, (t, s) in enumerate(others)]
    (given.folder / "texts.jsonl").write_text("\n".join(lines) + "\n")
    reader = tokenizer(own)
    model = network(len(reader))
    loss = train(model, reader, own, given.steps, Random(3))  # noqa: S311
    model.eval().save_pretrained(given.folder / "bart")
    reader.save_pretrained(given.folder / "bart")
    print(f"{given.folder / 'bart'}: {sum(p.numel() for p in model.parameters()):,} numbers, loss {loss:.3f}")


if __name__ == "__main__":
    main()
