"""The texts that the world's networks are trained on and asked with: prompts, and the list of tokens."""

from __future__ import annotations

import re
from random import Random

from weakspot.world.grammar import base_sentence, deny, say
from weakspot.world.lexicon import KNOWN
from weakspot.world.nature import PARENT_OF
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, DEFAULTS, SUBJECTS
from weakspot.world.words import SPECIAL

_CHILDREN = {parent: child for child, parent in PARENT_OF.items()}


def prompt(rng: Random, sentences: int) -> str:
    """A text as a study gives it to a source: the base sentence and `sentences` others, each at random.

    Every attribute and every value is as likely as any other, so a prompt often asks for what nature hardly
    ever shows. Contradictions do not occur.
    """
    names = [n for n in DEFAULTS if n not in PARENT_OF]
    said = [base_sentence(rng.choice(SUBJECTS))]
    for name in rng.sample(names, sentences):
        value, detail = rng.choice(ATTRIBUTES[name]), None
        if name in _CHILDREN and rng.random() < 0.7:
            bears = value in COLORED_SUPPORTS if name == "on" else value != "nothing"
            detail = rng.choice(ATTRIBUTES[_CHILDREN[name]][1:]) if bears else None
        said.append(say(name, value, detail))
    return " ".join(said)


def vocabulary() -> list[str]:
    """Every word that the world's grammar can say, sorted."""
    texts = ["a realistic photograph.", "the light is not day or glare."]
    texts += [
        said(name, value) for name, values in ATTRIBUTES.items() for value in values for said in (say, deny)
    ]
    texts += [say("on", "flower", color) for color in ATTRIBUTES["on_color"][1:]]
    return sorted({word for text in texts for word in re.findall(r"[a-z]+(?:-[a-z]+)*", text)})


def default_tokens() -> list[str]:
    """The tokens a new model is trained with: every word the world knows, punctuation, digits and letters."""
    words = {w for w in KNOWN if w.isalpha()} | set(vocabulary())
    letters = (f"#{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    return [*SPECIAL, ".", ",", "(", ")", *"0123456789", *sorted(words), *letters]
