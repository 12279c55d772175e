"""From English to a set of scenes. `parse` is the whole of it; `grammar` re-exports it.

A text is read from left to right, one phrase at a time. Each phrase is matched by its longest entry in
the lexicon and makes a claim: an attribute and the values it may have. The claims are intersected.
Time is linear in the length of the text.

How ambiguous words are read:

- A colour belongs to the noun right after it: "a yellow flower", "a green background", "a blue cat".
  Alone, it is the subject's: "it is yellow".
- "there is a dog", "with a dog" and "and a dog" speak of a companion; "a dog" and "three dogs" of the
  subject. "there is a flower" puts the subject on it, "there is a net" puts it behind it.
- "left of a dog": the dog is to the right. "in front of a dog": the dog is behind. A place right after
  a companion is the companion's: "with a ball on the left".
- "on a rock" is a support, "on rocks" a background; "in the grass" is behind grass, "on the grass" in a
  meadow; "in the snow" is a background, "in falling snow" weather; "in the water" leaves open whether it
  is the sea, a riverbed or under water.
- A plural without a number is two or more; "a" says nothing of the number.
- "not on a red or yellow flower" and "not … and …" cannot be said as one set; they are refused.
- "in front of a fence" (or net, grass, bars) is refused: a screen is always in front of the subject. So
  is "behind a tree": a companion is never in front of it.
"""

from __future__ import annotations

from weakspot.world import lexicon
from weakspot.world.cursor import Claim, Cursor, Thing, UnknownWords, combine, words_of
from weakspot.world.lexicon import NOUNS, Phrase, Values
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, PLAIN, SUBJECTS, SUPPORT_COLORS, SceneSet


class _Reader(Cursor):
    """Reads phrase after phrase; `has_subject` is whether this sentence has named its subject yet."""

    has_subject = False

    # -- what is said of a thing --------------------------------------------------------------------

    def subject(self, things: list[Thing], *, denied: bool = False) -> None:
        if any("subject" not in t.noun.readings for t in things):
            self.fail(f"the subject cannot be {things[0].name!r}", f"choose from: {', '.join(SUBJECTS)}")
        if (denied or len(things) > 1) and any(t.states or t.colors or t.count for t in things):
            self.fail("more than one thing is denied or left open at once", "use one short sentence for each")
        self.claim("subject", {v for t in things for v in t.noun.readings["subject"]}, denied=denied)
        self.has_subject = True
        if denied:
            return
        for state in things[0].states:
            self.claim(state.attribute, state.values)
        if things[0].colors:
            self.claim("color", things[0].colors)
        if things[0].count or things[0].noun.plural:
            self.claim("count", things[0].count or ("2", "3", "4"))
        while self.peek() == "(":
            self.began = self.at
            self.at += 1
            inside = self.thing()
            if inside is None or "subject" not in inside.noun.readings or not self.take(")"):
                self.fail("only the kind of the subject can stand in brackets")
            self.claim("subject", inside.noun.readings["subject"])

    def relate(self, things: list[Thing], rule: str, *, denied: bool = False) -> None:
        """Claims what a relation to things says, by the first reading of the noun that the rule knows."""
        attribute, values = "", set[str]()
        for thing in things:
            reading = next((r for r in lexicon.READINGS_OF[rule] if thing.noun.readings.get(r)), None)
            if reading is None:
                self.fail(f"{thing.name!r} does not go there", lexicon.HINTS.get(rule, ""))
            named = lexicon.READINGS_OF[rule][reading]
            if attribute not in ("", named):
                self.fail("'or' joins things of different kinds", "write two texts, one for each")
            attribute = named
            values |= set(thing.noun.readings[reading])
            self.check_adjectives(thing, attribute)
        if len({t.colors for t in things}) > 1:
            self.fail("the things joined by 'or' must all have the same colour, or none")
        colors = things[0].colors
        at = self.match(lexicon.PLACEMENTS) if rule == "with" and attribute == "companion" else None
        if attribute == "companion" and rule in lexicon.PLACES_OF:
            at = lexicon.PLACES_OF[rule]
        if attribute == "background" and "background" in things[0].noun.readings:
            self.claim(attribute, colors, denied=denied)
        elif "any" in values or "companion" in values:
            self.something(attribute, things[0], denied=denied)
        elif denied and (colors or at):
            self.fail("it denies two things at once", "deny only the thing, or only its colour or place")
        else:
            self.claim(attribute, values, denied=denied)
            if colors:
                self.claim("on_color", colors)
            if at:
                self.claim("companion_at", at)

    def something(self, attribute: str, thing: Thing, *, denied: bool) -> None:
        """Claims "something", "nothing", "something yellow", "nothing coloured"."""
        denied ^= "nothing" in thing.noun.readings
        if thing.colors:
            self.claim("on_color", thing.colors, denied=denied)
        else:
            self.claim(attribute, ("nothing",), denied=not denied)

    def check_adjectives(self, thing: Thing, attribute: str) -> None:
        if "background" in thing.noun.readings:
            if thing.states or not thing.colors or not set(thing.colors) <= set(PLAIN):
                self.fail("a background cannot look like that", f"it can be {', '.join(PLAIN)} or a place")
            return
        if thing.states or (thing.count and thing.count != ("1",)):
            self.fail(f"nothing more can be said of {thing.name!r}", "leave out its adjectives and number")
        colored = {"any", *COLORED_SUPPORTS} & {v for r in thing.noun.readings.values() for v in r}
        if thing.colors and (attribute != "on" or not colored):
            hint = f"only a {' or a '.join(COLORED_SUPPORTS)} has"
            self.fail(f"a {thing.name} has no colour of its own", hint)
        strange = [c for c in thing.colors if c not in SUPPORT_COLORS]
        if strange:
            self.fail(f"a {thing.name} cannot be {strange[0]}", f"choose from: {', '.join(SUPPORT_COLORS)}")

    # -- sentences ----------------------------------------------------------------------------------

    def alternatives(self, *, denied: bool) -> bool:
        """Claims a state or several of one attribute: "small", "on the left or at the top"."""
        found = self.longest(lexicon.STATES)
        if found is None:
            return False
        key, states = found
        self.at += len(key)
        values = set(states[0].values)
        while self.take(", or", "or", "nor"):
            short = (*key[:-1], self.peek())
            other = self.longest(lexicon.STATES) or ((self.peek(),), lexicon.STATES.get(short, ()))
            if [s.attribute for s in other[1]] != [states[0].attribute]:
                self.fail("'or' joins things of different kinds", "write two texts, one for each")
            self.at += len(other[0])
            values |= set(other[1][0].values)
        if denied and len(states) > 1:
            self.fail("it denies two things at once", "deny one thing in a sentence")
        self.claim(states[0].attribute, values, denied=denied)
        for state in states[1:]:
            self.claim(state.attribute, state.values)
        return True

    def nouns(self) -> list[Thing]:
        """The nouns that come next, or [] if a state does ("under water", "blue" without a noun)."""
        state, noun = self.longest(lexicon.STATES), self.longest(NOUNS)
        if state and state[0] not in lexicon.ADJECTIVES and not (noun and len(noun[0]) > len(state[0])):
            return []
        thing = self.thing()
        if thing is None:
            return []
        return [thing, *(self.things() if self.take("or", "nor") else [])]

    def background(self) -> None:
        """What follows "the background is"."""
        denied = self.take("not")
        values: set[str] = set()
        while True:
            colors = self.colors()
            noun = None if colors else self.match(NOUNS)
            found = colors or (noun.readings.get("place", ()) if noun else ())
            if not found or not set(found) <= set(ATTRIBUTES["background"]):
                hint = f"choose from: {', '.join(ATTRIBUTES['background'])}"
                self.fail("the background cannot look like that", hint)
            values |= set(found)
            if not self.take(", or", "or", "nor"):
                break
        self.claim("background", values, denied=denied)

    def count(self, *, denied: bool) -> bool:
        """Claims "three of them", "two or three of them"."""
        start, found = self.at, self.match(lexicon.COUNTS)
        while found and self.take("or"):
            more = self.match(lexicon.COUNTS)
            found = (*found, *more) if more else None
        if found and self.take("of them", "of it"):
            self.claim("count", found, denied=denied)
            return True
        self.at = start
        return False

    def exists(self) -> None:
        """What follows "there is"."""
        denied = self.take("not any", "no", "not")
        if self.count(denied=denied):
            return
        things = self.nouns()
        if not things:
            if not self.alternatives(denied=denied):
                self.fail()
            return
        counted = any(t.count or t.noun.plural for t in things)
        if counted and not denied and "subject" in things[0].noun.readings:
            self.subject(things)
        else:
            self.relate(things, "with", denied=denied)
            state, relation = self.longest(lexicon.STATES), self.longest(lexicon.RELATIONS)
            if relation and (state is None or len(state[0]) < len(relation[0])):
                hint = "say where the subject is in a sentence of its own"
                self.fail(f"it speaks of {things[0].name!r}", hint)

    def placed(self, things: list[Thing]) -> bool:
        """Claims "… is to the left of it", "nothing is behind it", once the noun has been read."""
        start = self.at
        if not self.skip(lexicon.COPULAS):
            return False
        denied = self.take("not")
        at = self.placement(things[0])
        if not at:
            self.at = start
            return False
        while self.take("or"):
            more = self.placement(things[0])
            if not more:
                self.fail("where is it?")
            at = (*at, *more)
        vague = next((r for r in ("anything", "nothing") if r in things[0].noun.readings), None)
        if vague is None:
            if not all(t.noun.readings.get("companion") for t in things):
                hint = "only a prop or another subject stands beside it"
                self.fail(f"{things[0].name!r} cannot be there", hint)
            self.relate(things, "with")
            if denied:
                denied, at = False, tuple(v for v in ATTRIBUTES["companion_at"][1:] if v not in at)
        if not at:
            self.fail("then where is it?", f"say 'there is no {things[0].name}.'")
        self.claim("companion_at", at, denied=denied ^ (vague == "nothing"))
        return True

    def placement(self, thing: Thing) -> Values:
        """Steps over "to the left of it" or "to the left of the cat"; () if that does not come next.

        "a dog is behind a cat" has no clear subject, so there the cat must have been named before.
        """
        start, is_subject = self.at, "subject" in thing.noun.readings
        key, at = self.longest(lexicon.PLACEMENTS) or ((), ())
        relation = self.longest(lexicon.RELATIONS)
        if relation and len(relation[0]) > len(key) - 1 and (sides := lexicon.SIDES.get(relation[1])):
            self.at += len(relation[0])
            other = self.match(NOUNS)
            if other and list(other.readings) == ["subject", "companion"]:
                known = [c.values for c in self.claims if c.attribute == "subject"]
                if any(values <= set(other.readings["subject"]) for values in known) or not is_subject:
                    self.claim("subject", other.readings["subject"])
                    return sides
            self.at = start
        if is_subject and not {"it", "them", "its"} & set(key):
            return ()
        self.at += len(key)
        return at

    def colored(self, things: list[Thing]) -> bool:
        """Claims "the flower is (not) yellow", once the noun has been read."""
        start = self.at
        if "support" in things[0].noun.readings and self.skip(lexicon.COPULAS):
            denied, colors = self.take("not"), self.colors()
            if colors:
                self.relate(things, "with")
                self.check_adjectives(Thing(things[0].noun, things[0].name, colors=colors), "on")
                left = tuple(c for c in SUPPORT_COLORS if (c in colors) != denied)
                self.claim("on_color", left)
                return True
        self.at = start
        return False

    def picture(self) -> bool:
        """Steps over "a realistic photograph of"."""
        start = self.at
        self.skip(lexicon.PHOTO_ADJECTIVES)
        if self.skip(lexicon.PICTURES):
            self.take("of", "showing", "shows", "with")
            return True
        self.at = start
        return False

    def item(self, joint: str) -> None:
        """One phrase, after `joint`."""
        self.began = self.at
        if self.picture() and (self.done or self.peek() in lexicon.JOINTS):
            return None
        if self.take("background is", "background shows", "background are"):
            return self.background()
        if self.take("there is", "there are"):
            return self.exists()
        pronoun = bool(self.skip(lexicon.PRONOUNS) or self.take("weather", "light"))
        self.has_subject |= pronoun
        predicate = bool(self.skip(lexicon.COPULAS)) or pronoun
        denied = self.take("not")
        self.skip(lexicon.COPULAS | lexicon.FILLERS)
        if self.count(denied=denied):
            return None
        if things := self.nouns():
            return self.named(things, joint, predicate=predicate, denied=denied)
        state, relation = self.longest(lexicon.STATES), self.longest(lexicon.RELATIONS)
        if relation and (state is None or len(relation[0]) > len(state[0])):
            return self.related(*relation, denied=denied)
        if not self.alternatives(denied=denied):
            self.fail("" if self.at < len(self.words) else "it ends too early")
        return None

    def named(self, things: list[Thing], joint: str, *, predicate: bool, denied: bool) -> None:
        """A phrase that starts with a noun: the subject, a companion, or a thing at hand."""
        if not (predicate or denied) and (self.placed(things) or self.colored(things)):
            return
        is_subject = "subject" in things[0].noun.readings
        if predicate or denied or (is_subject and not (joint in ("and", ",") and self.has_subject)):
            self.subject(things, denied=denied)
        elif self.peek() in lexicon.COPULAS:
            self.fail(f"only the place of {things[0].name!r} can be said, as seen from the subject")
        else:
            self.relate(things, "with")

    def related(self, key: Phrase, rule: str, *, denied: bool) -> None:
        """A phrase that starts with a preposition."""
        self.at += len(key)
        if rule == "without":
            if denied:
                self.fail("it is denied twice")
            if things := self.nouns():
                self.relate(things, "with", denied=True)
            elif not self.alternatives(denied=True):
                self.fail()
        else:
            self.relate(self.things(again=key), rule, denied=denied)

    def read(self) -> list[Claim]:
        joint, denied = ".", False
        while True:
            while self.peek() in lexicon.JOINTS | lexicon.FILLERS and not self.done:
                joint = self.peek() if joint != "." or self.peek() == "." else joint
                self.has_subject &= self.peek() != "."
                self.at += 1
            if self.done:
                return self.claims
            if denied and joint == "and" and "not" not in self.words[self.at : self.at + 3]:
                self.fail("after 'not', 'and' can be read in two ways", "write two sentences")
            before = self.at
            self.item(joint)
            denied, joint = "not" in self.words[before : self.at], ""


def parse(text: str) -> SceneSet:
    """The scenes a text allows; what it does not mention stays open.

    An error is `UnknownWords` (without a meaning here, or in this place) or `Contradiction` (of two phrases).
    """
    words = words_of(text)
    if not any(w.isalnum() and w not in lexicon.ARTICLES for w in words):
        raise UnknownWords("there is no text to understand", fix="try 'a photo of a fly on a yellow flower'")
    return combine(_Reader(words).read())
