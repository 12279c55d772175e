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
        "the target of `hunt`, `rare`, `map`; a second opinion (`--verify`)",
        "one answer per picture, the same in any order; one of its labels; scores that are probabilities and "
        "agree with the answer; with `--images`, that the labels stand in the model's order",
    ),
    "captioner": (
        "Captioners",
        "`hunt --captioner`",
        "captions begin as told and follow from their picture alone; log-probabilities are such and add up "
        "by the chain rule (a chat model knows none)",
    ),
    "encoder": (
        "Encoders",
        "the target of `mine`; `hunt --encoder`; `retrieve:`",
        "rows of length 1, one per text or picture, that follow from it alone; both kinds in one space",
    ),
    "generator": (
        "Generators",
        "`hunt --source`, `map` over prompts, `mine --downstream`",
        "pictures of bytes that follow from prompt and seed, from both and no more, in any order and batch",
    ),
    "summariser": (
        "Summarisers",
        "the target of `map` over texts",
        "one answer per text, the same in any order; what is empty says so",
    ),
    "chat": (
        "Chat models",
        "the target of `ask`; judges, `--llm`",
        "one well-formed answer per question; errors, blocks and silence are told apart from answers",
    ),
}
#: Arguments that are for a study to give, not for a name.
_GIVEN: Final = ("scheme", "label", "on_progress")

HEAD: Final = """\
# Models

<!-- Made by docs/make_models.py from the registry: change it there. -->

One string names any model: `scheme:name?option=value&option=value`. Mind the quotes in a shell, where `?`
and `&` mean something. `weakspot list models` lists the names, plugins included; `weakspot doctor MODEL`
loads one, checks what its kind promises, and says how fast and how large it is:

```sh
weakspot list models
weakspot doctor world:classifier
```

A wrong name is answered with the nearest right one, a missing library with the extra to install, a missing
key with its variable, before any work is done.
"""

TAIL: Final = """\
## Folders, the hub, and what is not run unasked

`hf:`, `timm:`, `st:`, `openclip:` and `diffusers:` take a local folder or `owner/name` on the model hub,
which is fetched once. With `HF_HUB_OFFLINE=1` (or `TRANSFORMERS_OFFLINE=1`) nothing is fetched, nor by
`torchvision:`. `revision=` asks for a branch, tag or
commit; run.yaml keeps the commit that was used and a digest of all files, so that a run that is resumed
uses the same.

Weights are read as safetensors or ONNX. A pickle, and code that comes with a model, can do anything to your
machine, so both are refused unless the name itself says otherwise, for that run. Pickles are then read with
torch's restricted reader, which makes tensors and nothing else.

| | `pickle=yes` | `code=yes` |
|---|---|---|
| `hf:`, `st:` | yes | yes |
| `timm:`, `torchvision:` | yes | there is none: the library has the networks |
| `torchscript:` | a file is a program as a whole | yes, without it nothing is loaded |
| `diffusers:` | no: convert it once, with `save_pretrained` | no: other code may not keep to the seeds |
| `openclip:` | no: choose a tag with safetensors, or `hf:` | there is none |
| `torch:` | no: weights are safetensors | it is your own code |

A run says at its start which models it has, with device, number format and batch; so does `weakspot doctor`,
and in Python the log (`weakspot.models`, level INFO). `release()` gives the memory back.

## On a GPU

| option | | unsaid |
|---|---|---|
| `device=` | `auto`, `cpu`, `cuda`, `cuda:1`, `mps` | `auto`: a GPU where there is one |
| `dtype=` | `auto`, `float32`, `bfloat16`, `float16` | `auto`; see below |
| `batch=` | a number | classifiers and generators on CUDA: what free memory will do for |
| `compile=` | `yes`, `no` | `no` |

- **Half precision.** `auto` is half precision on CUDA (bfloat16 where the GPU has it) and float32 elsewhere;
  `torch:`, `torchscript:`, `openclip:` and `st:` are float32 unless told otherwise.
  Classifiers, `openclip:` and `st:` keep their weights in float32 and multiply in half precision (autocast),
  while norms and softmax stay in float32; encoders, captioners and summarisers of `hf:` and the networks of
  `diffusers:` have their weights in half precision too. Outputs then differ a little, so the format is part
  of a classifier's or an encoder's digest: a run is resumed with the format it began with.
- **torch.compile** is for classifiers of `hf:`, `timm:`, `torchvision:` and `torch:`, and for `diffusers:`.
  It is slow to begin, and again with another size of batch, then faster. Where a classifier cannot be
  compiled (no compiler, an unusual network) a warning says so, and it is run as it is.
- **Where memory runs out** the batch is halved, remembered, and the work goes on; the log says so. As another
  batch can change the last bits of a picture, write `batch=8` for a generator where a run must be repeated
  on another GPU.
- **Several models on one GPU**, such as the generator, the classifier and the verifier of a hunt, compute one
  at a time, so that memory must do for the work of one. Pictures are prepared, batches copied and trials
  recorded meanwhile. Models on different GPUs, and on CPUs, do not wait for each other.

## On a CPU

Threads of torch that wait for each other sleep and do not spin: on a busy machine that is several times
faster. `OMP_WAIT_POLICY` is `PASSIVE` for that, unless you set it. It is read when torch is loaded, so in a
program of your own import weakspot's models, or set it, before `import torch`. `OMP_NUM_THREADS=1` leaves the
other cores alone.

## Encoders of sentences

`hf:` reads MiniLM, MPNet and their kin without sentence-transformers: it averages the tokens, or takes the
first, as the folder's `modules.json` says (without that file it averages). Where a folder asks for more
(another layer, words before every text), write `st:`.

## Labels, logits, probabilities

A function or a graph may give logits or probabilities; `outputs=logits` or `outputs=probabilities` says
which. Unsaid, rows that are not negative and sum to 1 are probabilities and all else is read as logits.
Numbers between 0 and 1 that do not sum to 1 are neither for certain, and rows that all sum to 100 may be
percentages: the log warns once, and `weakspot doctor` calls it wrong.

Labels are as the head has them, in its order; a name that is there twice gets a number ("crane #2"). Labels
of ImageNet's kind are joined to [WordNet](concepts.md), so that `--label dog` covers all breeds: they are
recognised by their ids ("n02085620 Chihuahua", as `timm:` has them) and by their words ("tabby, tabby cat",
as `hf:` has them).

Labels in a wrong order make every answer wrong. `weakspot doctor MODEL --images FOLDER`, with one folder of
pictures per label, finds it and says how they are mixed up; for the world's labels it draws the pictures
itself. That all labels are shifted, sorted or reversed is seen with a dozen pictures; two labels that changed
places with twenty of each label.

An ONNX file can say for itself what it needs, in its metadata: `labels` (a JSON list), `mean`, `std`,
`outputs`. Beside `config.json` and `preprocessor_config.json`, as exporters of transformers write them,
these are read. A graph that takes any height and width needs `size=` where pictures differ in size.

A function (`python:`) is given one batch of uint8 pictures and may answer with probabilities, logits, labels
or their numbers, as arrays, lists or tensors. `batch=` bounds how many it sees at once.

## How pictures are prepared

Every model sees pictures as it was trained on them. For `hf:` the library's own image processor does it, in
its variant for Pillow, so that torchvision is not needed. Processors that only resize, cut, scale and
normalise (ViT, CLIP, SigLIP, BEiT, BiT, ConvNeXt, MobileNet, BLIP) are done by weakspot itself with the same
result, faster. Beside an ONNX file only these are read; another one is refused by name.

## A model behind an address

The address is the name: `http://HOST:8000/predict?labels=labels.txt&answer=predictions.0`. A picture is
sent as PNG in base64 in the field `image` of a JSON object; `send=multipart` sends a form instead,
`encoding=pixels` rows of numbers, `batch=8` a list. What lies where `answer` says (dots go deeper, numbers
count from 0) is read by its form:

| the answer is | e.g. |
|---|---|
| numbers in the order of the labels | `[0.1, 0.7, 0.2]` |
| labels with numbers | `{"cat": 0.7, "dog": 0.3}` |
| rows with a label and a score (`name=`, `score=`: their fields) | `[{"label": "cat", "score": 0.7}]` |
| a label, or the number of one | `"cat"`, `3` |

Where only the best few are told there is an answer but no scores. A file says the same, and can have
headers and further fields; keys are read from the environment, and struck out of whatever comes back.
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

Connections that break, timeouts, and the statuses 408, 425, 429, 500, 502, 503, 504 are tried again after a
pause that doubles, or as long as the server asks. Redirections are not followed. A picture without an
answer is an error, outside every rate; a page of HTML is called one.

An address that ends in `/images/generations` makes pictures, in the style of OpenAI's. `seed=seed` says
under which name the seed is sent, where the server knows one; others draw anew each time, and
`cache=FOLDER` keeps what was made, so that a picture is paid once and a case stays the same.
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
        parts.append("\n".join([f"## {title}", "", f"Used as {used}. Checked: {checked}.", "", *table, ""]))
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
