"""Language models in benchmarks: each question is put to them once, and a reference that is none.

Methods that ask the same are given the same answer, and a slow model is asked only once. It proposes only: to
be asked for other words of a caption is no part of the comparison.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, Final

from weakspot.core import MODELS, Output, WeakspotError, check_known
from weakspot.study.language_model import Detailed
from weakspot.study.loading import part
from weakspot.text.llm_answers import Asked, takes_schema
from weakspot.text.llm_proposals import MOST, WRONG

#: Methods in which a language model proposes, alone or beside the rules.
PROPOSING: Final[Mapping[str, str]] = {"llm": "llm", "both": "both"}
_LINE: Final = re.compile(r'^- ("(?:[^"\\]|\\.)*")', re.MULTILINE)
_PARTS: Final = re.compile(r"; |(?<=\.) ")


def check(methods: Sequence[str], others: Collection[str], llm: str | None) -> None:
    """Refuse methods that nobody knows, are given twice, or want a model where none is named."""
    every = (*others, *PROPOSING)
    for method in methods:
        check_known(method, every, f"no method is called {method[:80]!r}")
    if not methods or len(set(methods)) != len(methods):
        raise WeakspotError("a method is given twice, or none", fix=f"choose from: {', '.join(every)}")
    if llm is None and (asking := next((one for one in methods if one in PROPOSING), "")):
        raise WeakspotError(f"{asking} asks a language model, and none is named", fix="name it: --llm MODEL")


@cache
def model(name: str) -> AskedOnce:
    """The model of this name, the same for all methods of a process."""
    return AskedOnce(part(None, name, MODELS, Asked))


class AskedOnce:
    """A language model that is asked for proposals, each time once; other questions it leaves open."""

    def __init__(self, llm: Asked) -> None:
        self._llm, self._known = llm, dict[str, Output]()

    def ask(self, prompts: Sequence[str], *, schema: Mapping[str, Any] | None = None) -> list[Any]:
        return [output.answer for output in self.ask_detailed(prompts, schema=schema)]

    def ask_detailed(
        self, prompts: Sequence[str], *, schema: Mapping[str, Any] | None = None
    ) -> list[Output]:
        held = {"schema": schema} if schema is not None and takes_schema(self._llm) else {}
        model: object = self._llm
        for prompt in prompts:
            if prompt in self._known:
                continue
            if WRONG not in prompt:
                self._known[prompt] = Output("[]")
            elif isinstance(model, Detailed):
                self._known[prompt] = model.ask_detailed([prompt], **held)[0]
            else:
                self._known[prompt] = Output(self._llm.ask([prompt], **held)[0])
        return [self._known[prompt] for prompt in prompts]


class CountingReader:
    """No language model: it counts what the lines of the question say, without an error.

    So it is what a model could do at best that sees no more than these lines and knows nothing else. It shows
    that what is proposed arrives, and how much two dozen inputs can say.
    """

    def ask(self, prompts: Sequence[str]) -> list[str]:
        return [self._answer(prompt) for prompt in prompts]

    def _answer(self, prompt: str) -> str:
        head, _, rest = prompt.partition(WRONG)
        wrong, right = _said(rest.partition("\n\n")[0]), _said(head)
        singles = Counter(part for line in wrong for part in line)
        pairs = Counter(pair for line in wrong for pair in combinations(sorted(line), 2))
        found = {(one,): n for one, n in singles.items()} | dict(pairs)
        gaps = {
            some: n / len(wrong) - sum({*some} <= line for line in right) / max(len(right), 1)
            for some, n in found.items()
            if n >= 2
        }
        best = sorted(gaps, key=lambda some: (-gaps[some], len(some), some))[:MOST]
        joint = " " if all(part.endswith(".") for some in best for part in some) else " and "
        return json.dumps({"conditions": [{"when": joint.join(some)} for some in best]})


def _said(lines: str) -> list[set[str]]:
    """The sentences, values and words of each line."""
    found = []
    for quoted in _LINE.findall(lines):
        said = set[str]()
        for one in _PARTS.split(json.loads(quoted)):
            if one.startswith("text: "):
                said |= {f"says {word}" for word in re.findall(r"[a-z]{3,}", one[6:].lower())}
            else:
                said.add(one)
        found.append(said)
    return found
