"""Write docs/models.md from the registry.

python docs/make_models.py            writes the page
python docs/make_models.py --check    exits with 1 if it would change
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from weakspot.core import MODELS, SOURCES, Entry

PAGE: Final = Path(__file__).parent / "models.md"
#: By port: what it is called on the page, which studies use it, and what `weakspot doctor` checks.
PORTS: Final = {
    "classifier": (
        "Classifiers",
        "the target of `hunt`, `rare` and `map`, and as a second opinion (`--verify`)",
        "it gives one answer per picture, the same in any order; the answer is one of its labels; its "
        "scores are probabilities and agree with the answer; with `--images`, its labels are in the model's "
        "order",
    ),
    "captioner": (
        "Captioners",
        "the captioner of a hunt (`hunt --captioner`)",
        "captions begin as told and depend on their picture alone; log-probabilities are such and obey the "
        "chain rule (a chat model has none)",
    ),
    "encoder": (
        "Encoders",
        "the target of `mine`, for `hunt --encoder`, and in `retrieve:`",
        "it gives one vector of length 1 per text or picture, which depends on that alone; texts and "
        "pictures share one space",
    ),
    "generator": (
        "Image generators",
        "a source (`hunt --source`), the target of `map` over prompts, and `mine --downstream`",
        "pictures depend on prompt and seed, on both, and on nothing else, such as order or batch",
    ),
    "summariser": (
        "Summarisers",
        "the target of `map` over texts",
        "it gives one answer per text, the same in any order; an empty answer says that it is empty",
    ),
    "chat": (
        "Chat models",
        "the target of `ask`, as judges, and for `--llm`",
        "it gives one well-formed answer per question; errors, blocks and silence are told apart from "
        "answers",
    ),
}
#: Arguments that are for a study to give, not for a name.
_GIVEN: Final = ("scheme", "label", "on_progress")

HEAD: Final = """\
# Models

<!-- Made by docs/make_models.py from the registry: change it there. -->

One string names any model: `scheme:name?option=value&option=value`. Keep it in quotes in a shell.
`weakspot list models` lists the names, plugins included. `weakspot doctor MODEL` loads a model, checks
it, and says how fast and how large it is:

```sh
weakspot list models
weakspot doctor world:classifier
```

If a name has a typo, you get the nearest right one; if a library is missing, the extra to install; if a
key is missing, its variable. All of this before any work is done.
"""

TAIL: Final = """\
## Folders, the hub, and what is not run unasked

`hf:`, `timm:`, `st:`, `openclip:` and `diffusers:` take a local folder, or `owner/name` on the model
hub, which is downloaded once. `revision=` chooses a branch, tag or commit. run.yaml keeps the commit and
a digest of all files, so a resumed run uses the same. With `HF_HUB_OFFLINE=1` (or
`TRANSFORMERS_OFFLINE=1`) nothing is downloaded, not by `torchvision:` either.

Weights are read as safetensors or ONNX. A pickle, or code that comes with a model, could do anything to
your machine, so both are refused unless the name itself allows them, for that run. Pickles are then read
with torch's restricted reader, which makes tensors and nothing else.

| | `pickle=yes` | `code=yes` |
|---|---|---|
| `hf:`, `st:` | yes | yes |
| `timm:`, `torchvision:` | yes | not needed: the library has the networks |
| `torchscript:` | the whole file is a program | yes; without it nothing is loaded |
| `diffusers:` | no: convert it once, with `save_pretrained` | no: other code might ignore the seeds |
| `openclip:` | no: choose a tag with safetensors, or `hf:` | not needed |
| `torch:` | no: weights are safetensors | it is your own code |

A run says at its start which models it has, with device, number format and batch. So does `weakspot
doctor`, and in Python the log (`weakspot.models`, level INFO). `release()` gives the memory back.

## On a GPU

| option | values | default |
|---|---|---|
| `device=` | `auto`, `cpu`, `cuda`, `cuda:1`, `mps` | `auto`: a GPU if there is one |
| `dtype=` | `auto`, `float32`, `bfloat16`, `float16` | `auto`: see below |
| `batch=` | a number | for classifiers and generators on CUDA, as much as free memory allows |
| `compile=` | `yes`, `no` | `no` |

- **Half precision.** `auto` means half precision on CUDA (bfloat16 if the GPU has it) and float32
  elsewhere; `torch:`, `torchscript:`, `openclip:` and `st:` use float32 unless told otherwise.
  Classifiers, `openclip:` and `st:` keep float32 weights and multiply in half precision (autocast);
  encoders, captioners and summarisers of `hf:`, and `diffusers:`, have half-precision weights. Answers
  differ a little, so the format is part of a classifier's or encoder's digest: a run is resumed in the
  format it began with.
- **torch.compile** works for classifiers of `hf:`, `timm:`, `torchvision:` and `torch:`, and for
  `diffusers:`. It is slow to start, and again when the batch size changes, then faster. A classifier
  that cannot be compiled is run as it is, with a warning.
- **If memory runs out**, the batch is halved and the work goes on; the log says so. Another batch size
  can change the last bits of a picture. If a run must be repeated on another GPU, write `batch=8` for
  its generator.
- **Several models on one GPU**, such as generator, classifier and verifier, compute one at a time, so
  there must be memory for the work of one. Preparing, copying and recording go on meanwhile. Models on
  different GPUs, and on CPUs, do not wait for each other.

## On a CPU

Threads of torch that wait for each other sleep instead of spinning, which is several times faster on a
busy machine. `OMP_WAIT_POLICY` is set to `PASSIVE` for that, unless you set it. It is read when torch is
loaded, so in a program of your own import weakspot's models, or set it, before `import torch`.
`OMP_NUM_THREADS=1` leaves the other cores alone.

## Encoders of sentences

`hf:` reads MiniLM, MPNet and similar models without sentence-transformers. It averages the tokens or
takes the first, as the folder's `modules.json` says; without that file it averages. If a folder asks for
more (another layer, words before every text), use `st:`.

## Labels, logits, probabilities

A function or a graph may return logits or probabilities; `outputs=logits` or `outputs=probabilities`
says which. If you do not say, rows that are not negative and sum to 1 are probabilities, and everything
else is logits. Rows between 0 and 1 that do not sum to 1, or that sum to 100, are ambiguous: the log
warns once, and `weakspot doctor` calls it wrong.

Labels are as the model has them, in its order. If a name occurs twice, the second gets a number ("crane
#2"). ImageNet's labels are linked to [WordNet](hunt.md#labels), so that `--label dog` covers all breeds.
They are recognised by their ids ("n02085620 Chihuahua", as in `timm:`) and by their words ("tabby, tabby
cat", as in `hf:`).

**Labels in the wrong order make every answer wrong.** `weakspot doctor MODEL --images FOLDER`, with one
folder of pictures per label, notices and says how they are mixed up; for the world's labels it draws the
pictures itself. A dozen pictures are enough to see that all labels are shifted, sorted or reversed. To
see that two labels are swapped takes twenty of each.

An ONNX file can carry what it needs in its metadata: `labels` (a JSON list), `mean`, `std`, `outputs`.
Otherwise `config.json` and `preprocessor_config.json` beside it are read, as exporters of transformers
write them. A graph that takes any height and width needs `size=` if your pictures differ in size.

A function (`python:`) gets one batch of uint8 pictures and may return probabilities, logits, labels or
their numbers, as arrays, lists or tensors. `batch=` limits how many it gets at once.

## How pictures are prepared

Every model sees pictures the way it was trained to. For `hf:` the library's own image processor prepares
them, in its variant for Pillow, so torchvision is not needed. Processors that only resize, crop, scale
and normalise (ViT, CLIP, SigLIP, BEiT, BiT, ConvNeXt, MobileNet, BLIP) are done by weakspot, faster and
with the same result. Beside an ONNX file only these are read; any other is refused by name.

## A model behind an address

The address is the name: `http://HOST:8000/predict?labels=labels.txt&answer=predictions.0`. A picture is
sent as PNG in base64, in the field `image` of a JSON object. `send=multipart` sends a form instead,
`encoding=pixels` rows of numbers, `batch=8` a list. `answer` says where the answer is (dots go deeper,
numbers count from 0), and its form says what it is:

| the answer is | e.g. |
|---|---|
| numbers in the order of the labels | `[0.1, 0.7, 0.2]` |
| labels with numbers | `{"cat": 0.7, "dog": 0.3}` |
| rows with a label and a score (`name=`, `score=`: their fields) | `[{"label": "cat", "score": 0.7}]` |
| a label, or the number of one | `"cat"`, `3` |

If the server returns only the best few, there is an answer but no scores. A file can say the same, with
headers and further fields. Keys are read from the environment, and removed from whatever comes back.
`http:endpoint.yaml`:

```yaml
url: https://models.example/v1/birds:predict
send: json
image: instances.0.b64
fields: {signature: serving_default}
headers: {Authorization: "Bearer ${BIRDS_KEY}"}
answer: predictions.0
labels: [robin, wren, owl]
timeout: 30
attempts: 5
concurrency: 8
```

Broken connections, timeouts, and the statuses 408, 425, 429, 500, 502, 503 and 504 are tried again,
after a pause that doubles, or as long as the server asks. Redirects are not followed. A picture without
an answer is an error and counts in no rate; so is a page of HTML.

An address that ends in `/images/generations` makes pictures, in the style of OpenAI's. `seed=seed` names
the field for the seed, if the server has one. Others draw anew each time; then `cache=FOLDER` keeps what
was made, so that a picture is paid for once and a case stays the same.
"""


def own(entries: Iterable[Entry]) -> list[Entry]:
    """Without plugins."""
    return [entry for entry in entries if entry.origin == "weakspot"]


def factory(entry: Entry) -> Any:
    """What builds it."""
    module, _, attribute = entry.target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def options(entry: Entry) -> list[str]:
    """The options of a name, with what they are by default where that says something."""
    found = []
    for p in inspect.signature(factory(entry)).parameters.values():
        if p.kind is p.KEYWORD_ONLY and p.name not in _GIVEN:
            plain = isinstance(p.default, str) and p.default not in ("", "{text}")
            found.append(f"`{p.name}={p.default}`" if plain else f"`{p.name}`")
    return found


def row(entry: Entry, port: str = "") -> str:
    """A line of a table."""
    example = dict(entry.examples).get(port) or entry.example or entry.name
    extra = f"`{entry.extra}`" if entry.extra else ""
    return f"| `{example}` | {entry.about} | {extra} |"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for port, (title, used, checked) in PORTS.items():
        rows = [row(entry, port) for entry in own(MODELS) if port in entry.ports]
        if port == "generator":
            apart = [entry for entry in own(SOURCES) if entry.name in ("diffusers", "http", "https")]
            named = {entry.name for entry in apart}
            world = [e for e in own(MODELS) if port in e.ports and e.name not in named]
            rows = [row(entry) for entry in (*apart, *world)]
        table = ["| example | what it is | extra |", "|---|---|---|", *rows]
        parts.append(
            "\n".join(
                [
                    f"## {title}",
                    "",
                    f"Used as {used}. `weakspot doctor` checks that {checked}.",
                    "",
                    *table,
                    "",
                ]
            )
        )
    lines = ["## Options", "", "| name | options, with their defaults |", "|---|---|"]
    lines += [f"| `{e.name}` | {', '.join(options(e)) or 'none'} |" for e in own(MODELS)]
    parts.append("\n".join([*lines, ""]))
    return "\n".join([*parts, TAIL])


def main() -> int:
    """Write it, or compare."""
    made = page()
    if "--check" in sys.argv[1:]:
        same = PAGE.is_file() and PAGE.read_text("utf-8") == made
        print("docs/models.md is up to date" if same else "docs/models.md is old: python docs/make_models.py")
        return 0 if same else 1
    PAGE.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
