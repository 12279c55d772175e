"""What people might write under a picture of the world: true, in many forms, rarely complete.

`grammar.describe` says everything in one fixed form; real captions do not. `caption` varies the form and
leaves things out. Whatever it says, `grammar.parse` understands, and the scene is among those it allows.
"""

from __future__ import annotations

from random import Random
from typing import Final

from weakspot.world.grammar import base_sentence, deny, describe, say
from weakspot.world.lexicon import NUMBERS, PLACE_NAMES, PLURALS
from weakspot.world.scene import ATTRIBUTES, DEFAULTS, PLAIN, Scene

#: Share of captions in each form: everything in order, single sentences, one long sentence.
_FORMS: Final = (("full", 0.3), ("sentences", 0.35), ("fluent", 0.35))
#: How often something is said that is not plain, and something that is.
_SAID, _SAID_PLAIN = 0.8, 0.08
#: How often a caption of single sentences says what is not there.
_DENIES: Final = 0.15
_MASS: Final = ("grass", "bars")
_CHILDREN: Final = {"on": "on_color", "companion": "companion_at"}


def caption(scene: Scene, rng: Random) -> str:
    """One text that is true of the scene; which one follows from `rng`."""
    form = rng.choices([f for f, _ in _FORMS], [share for _, share in _FORMS])[0]
    if form == "full":
        return describe(scene)
    return _sentences(scene, rng) if form == "sentences" else _fluent(scene, rng)


def _mentions(scene: Scene, attribute: str, rng: Random) -> bool:
    plain = getattr(scene, attribute) == DEFAULTS[attribute] and attribute != "background"
    return rng.random() < (_SAID_PLAIN if plain else _SAID)


def _sentences(scene: Scene, rng: Random) -> str:
    """A base sentence and some of the others, in any order, now and then with a denial."""
    names = [n for n in DEFAULTS if n not in _CHILDREN.values() and _mentions(scene, n, rng)]
    said = [
        say(n, getattr(scene, n), getattr(scene, _CHILDREN[n]) if n in _CHILDREN else None) for n in names
    ]
    if rng.random() < _DENIES:
        name = rng.choice(
            [n for n in DEFAULTS if n not in _CHILDREN.values() and n not in names] or ["light"]
        )
        absent = [v for v in ATTRIBUTES[name] if v not in (getattr(scene, name), "nothing")]
        said.append(deny(name, rng.choice(absent)))
    rng.shuffle(said)
    opening = rng.choice(("a photo of", "a picture of", "an image of", ""))
    base = f"{opening} {_a(scene.subject)}.".strip() if opening else base_sentence(scene.subject)
    return " ".join([base, *said])


def _fluent(scene: Scene, rng: Random) -> str:
    """One long sentence: number, adjectives, the subject, and phrases after it."""
    said = {n for n in DEFAULTS if n not in _CHILDREN.values() and _mentions(scene, n, rng)}
    before = []
    if "size" in said:
        before.append({"medium": "medium-sized"}.get(scene.size, scene.size))
    if "color" in said and scene.color != "natural":
        before.append(scene.color)
    many = "count" in said and scene.count != "1"
    plural = PLURALS.get(scene.subject, f"{scene.subject}s") or scene.subject
    noun = plural if many else scene.subject
    head = " ".join([*before, noun])
    head = f"{NUMBERS[scene.count]} {head}" if many else _a(head)
    after = []
    if "pose" in said:
        after.append(f"tilted to the {scene.pose[7:]}" if scene.pose.startswith("tilted") else scene.pose)
    if "facing" in said:
        after.append(f"facing {scene.facing}")
    if "hidden" in said:
        after.append({"no": "fully visible", "partly": "partly hidden", "half": "half hidden"}[scene.hidden])
    if "on" in said and scene.on != "nothing":
        after.append(f"on {_a(scene.on if scene.on_color == 'none' else f'{scene.on_color} {scene.on}')}")
    if "behind" in said and scene.behind != "nothing":
        after.append(f"behind {scene.behind if scene.behind in _MASS else _a(scene.behind)}")
    if "background" in said and scene.background != "underwater":
        after.append(_place(scene.background))
    if "light" in said:
        after.append(
            {"day": "by day", "dusk": "at dusk", "night": "at night", "glare": "with glare"}[scene.light]
        )
    if "weather" in said and scene.weather != "clear":
        after.append({"rain": "in the rain", "snowfall": "in falling snow", "fog": "in fog"}[scene.weather])
    if "position" in said:
        after.append(say("position", scene.position)[6:-1])
    rng.shuffle(after)
    if "background" in said and scene.background == "underwater":
        after.insert(0, "under water")  # after "hidden" it would be what hides the subject
    if "companion" in said and scene.companion != "nothing":
        where = {"left": "to the left of it", "right": "to the right of it", "behind": "behind it"}
        after.append(f"with {_a(scene.companion)} {where[scene.companion_at]}")
    opening = rng.choice(("a photo of ", "a picture of ", "an image of ", "", ""))
    return f"{opening}{head} {' '.join(after)}".strip() + rng.choice((".", ""))


def _place(background: str) -> str:
    if background in PLAIN:
        return f"against a {background} background"
    before = {"sea": "on", "beach": "on", "riverbed": "on", "rocks": "on", "street": "on"}.get(
        background, "in"
    )
    name = PLACE_NAMES[background]
    return f"{before} the {name}" if name in ("snow", "rocks") else f"{before} {name}"


def _a(words: str) -> str:
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"
