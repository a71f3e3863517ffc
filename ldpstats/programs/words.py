"""The words of instructions to respondents, which a caller may replace or translate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from string import Formatter
from typing import Any

from ldpstats.errors import InvalidArgument

__all__ = ["THINGS", "WORDS", "Words"]

THINGS: dict[str, str] = {
    "question": "the question",
    "other": "the other question",
    "coin": "coin",
    "die": "die",
    "spinner": "spinner",
    "deck": "deck",
    "card": "card",
    "heads": "heads",
    "tails": "tails",
}
"""What respondents hold or are asked. All other words may name these as {coin}, {die} and so on."""

WORDS: dict[str, str] = THINGS | {
    # what to do with an object
    "flip": "flip the {coin}",
    "flip one": "flip {coin} {which}",
    "roll": "roll the {die}",
    "roll one": "roll {die} {which}",
    "spin": "spin the {spinner}",
    "spin one": "spin {spinner} {which}",
    "draw": "draw a {card} from the {deck}",
    "draw one": "draw a {card} from {deck} {which}",
    "again": "{act} again",
    "put back": "put the {card} back, shuffle, and {act}",
    "hide": "{act}, and show the result to nobody",
    "hide card": "{act}, and show it to nobody",
    "tell": "{act}, and say only the result",
    "tell card": "{act}, and say only what is on it",
    "keep": "{act}, and remember the result",
    "keep card": "{act}, and remember what is on it",
    # what to think of
    "think": "think of your true answer to {question}, but keep it to yourself",
    "think of": "think of your answer to {name}, but keep it to yourself",
    "unseen": "do what follows where nobody can see you",
    "text": "{other} (“{text}”)",
    # how likely the outcomes are
    "flips": "out of {total} flips, {counts}, on average",
    "flips 1": "1 shows {outcome}",
    "flips n": "{count} show {outcome}",
    "spins": "out of {total} spins, {counts}, on average",
    "spins 1": "1 stops at {outcome}",
    "spins n": "{count} stop at {outcome}",
    "cards": "of every {total} {card}s in it, {counts}",
    "deck of": "of its {total} {card}s, {counts}",
    "cards 1": "1 is marked {outcome}",
    "cards n": "{count} are marked {outcome}",
    "alike": "every result is equally likely",
    "sides": "the {die} has {count} sides",
    "shares": "the results come up with these shares: {counts}",
    "share": "{outcome} {percent}%",
    # conditions
    "if": "if {condition}, {action}",
    "shows": "it shows {outcome}",
    "stops": "it stops at {outcome}",
    "drew": "your {card} is marked {outcome}",
    "true": "your true answer is {outcome}",
    "answered": "your answer to {other} is {outcome}",
    "remembered": "the result that you remember is {outcome}",
    "else": "anything else",
    # what to say
    "say truth": "answer {question} truthfully",
    "say opposite": "say the opposite of your true answer",
    "say another": "say one of the other answers, picked so that each is equally likely",
    "say": "say {label}",
    "say it": "say it",
    "say it result": "say the result",
    "say it card": "say what is on it",
    "say other": "answer {name} truthfully",
    "say remembered": "say the result that you remember",
    "say opposite of remembered": "say the opposite of the result that you remember",
    "say another than remembered": (
        "say one of the answers other than the result that you remember, picked so that each is "
        "equally likely"
    ),
    # what to remember, for a later step
    "keep truth": "remember your true answer",
    "keep opposite": "remember the opposite of your true answer",
    "keep another": "remember one of the other answers, picked so that each is equally likely",
    "keep it": "remember it",
    "keep it result": "remember the result",
    "keep it card": "remember what is on it",
    "keep label": "remember {label}",
    "keep other": "remember your true answer to {name}",
    "keep remembered": "remember the same result as before",
    "keep opposite of remembered": "remember the opposite of that result",
    "keep another than remembered": (
        "remember one of the answers other than that result, picked so that each is equally likely"
    ),
    # several things to do
    "follow": "do the following",
    "one of": "do only the first of these that fits",
    "times": "do this {count} times: {act}",
    "put each back": "put each {card} back and shuffle before you draw the next",
    "count": "say only how many of the {count} results are {outcome}",
    "keep count": "remember only how many of the {count} results are {outcome}",
    "parts": "give {count} answers, one after the other",
    "part": "for answer {which}, {action}",
    "sets": "let the program pick one of {count} sets of instructions, each equally likely",
    "uneven sets": "let the program pick one of {count} sets of instructions",
    "set": "if it picks set {which}, {action}",
    "keep parts": "find {count} results, one after the other, and keep them to yourself",
    "keep part": "for result {which}, {action}",
    "keep the set": "remember which set it was, together with the result",
    "name the set": "say the number of your set before your answer",
    "say the set": "say the name of your set before your answer",
    "code": "let the program turn your true answer into one of {count} codes, and say the code",
    "keep code": (
        "let the program turn your true answer into one of {count} codes, and remember the code"
    ),
    "code of remembered": (
        "let the program turn the result that you remember into one of {count} codes, and say it"
    ),
    "keep code of remembered": (
        "let the program turn the result that you remember into one of {count} codes, and "
        "remember it"
    ),
    # lists and numbers
    "label": "“{label}”",
    "range": "{first} to {last}",
    "comma": ", ",
    "or": " or ",
    "and": " and ",
    "number": "{number}.",
}
"""The words of `instructions`: replace some by passing a dict with the same keys.

What stands in braces is filled in. A sentence begins with a capital, which need not be written.

Examples
--------
>>> from ldpstats.devices import WORDS, roll, truth
>>> WORDS["roll"]
'roll the {die}'
>>> card = roll(6).when({1: "yes"}, otherwise=truth)
>>> print(card.instructions(words={"roll": "throw the {die}"})[0])
Throw the die.
"""

_MOST_COUNTED = 1000  # of a common denominator, beyond which chances are said in percent
_FEWEST_IN_RANGE = 3


@dataclass(frozen=True)
class Words:
    """Templates with all their words filled in."""

    templates: Mapping[str, str]

    @classmethod
    def of(cls, words: object) -> Words:
        """The default words, with those of a caller in their place.

        Raises
        ------
        InvalidArgument
            If `words` is not a dict, a key is unknown, or a text lacks these braces.
        """
        if words is None:
            return cls(WORDS)
        if not isinstance(words, Mapping):
            remedy = "must be a dict, for example {'die': 'ten-sided die'}, or None"
            raise InvalidArgument("words", words, remedy)
        return cls(WORDS | {key: _checked(key, text) for key, text in words.items()})

    def say(self, key: str, **filled: object) -> str:
        """The words of a template."""
        things = {name: self.templates[name] for name in THINGS}
        return self.templates[key].format(**(things | filled))

    # -- outcomes ----------------------------------------------------------------------------

    def label(self, label: Any, kind: str = "") -> str:
        """An outcome as it is read: in quotation marks, but for sides of a coin or die."""
        if kind == "flip":
            return self.templates[str(label)]
        return str(label) if kind == "roll" else self.say("label", label=label)

    def any_of(self, labels: Iterable[Any], kind: str = "") -> str:
        """Several outcomes, in their order: 1, 3 or 4; 2 to 5."""
        runs: list[list[Any]] = []
        for label in labels:
            if runs and type(label) is int and runs[-1][-1] == label - 1:
                runs[-1].append(label)
            else:
                runs.append([label])
        found: list[str] = []
        for run in runs:
            if len(run) < _FEWEST_IN_RANGE:
                found += [self.label(label, kind) for label in run]
            else:
                first, last = (self.label(label, kind) for label in (run[0], run[-1]))
                found.append(self.say("range", first=first, last=last))
        return self.joined(found, "or")

    def joined(self, texts: list[str], last: str) -> str:
        """A list with commas, and a word before the last of it."""
        if len(texts) < 2:
            return "".join(texts)
        return self.say("comma").join(texts[:-1]) + self.say(last) + texts[-1]

    def shares(
        self, kind: str, law: Iterable[tuple[Any, Any]], numbers: Iterable[int] | None = None
    ) -> str:
        """How likely the outcomes of flips, spins or cards are."""
        outcome, pairs = "flip" if kind == "flips" else "", [(v, p) for v, p in law if p]
        if len(pairs) < 2:
            return ""
        total = _denominator(p for _, p in pairs)
        if numbers is not None:
            total = sum(numbers)
        if len(pairs) > 2 and len({p for _, p in pairs}) == 1 and numbers is None:
            return self.say("alike")
        if total > _MOST_COUNTED and numbers is None:
            return self.percent(pairs, outcome)
        parts = []
        for label, p in pairs:
            count = int(p * total)
            key = f"{kind} 1" if count == 1 else f"{kind} n"
            parts.append(self.say(key, count=count, outcome=self.label(label, outcome)))
        head = "deck of" if numbers is not None else kind
        return self.say(head, total=total, counts=self.joined(parts, "and"))

    def percent(self, law: Iterable[tuple[Any, Any]], kind: str = "") -> str:
        """How likely outcomes are, in percent."""
        parts = [
            self.say("share", outcome=self.label(v, kind), percent=f"{100 * float(p):.3g}")
            for v, p in law
        ]
        return self.say("shares", counts=self.joined(parts, "and"))


def _denominator(chances: Iterable[Fraction]) -> int:
    from math import lcm

    return lcm(*(p.denominator for p in chances))


def _checked(key: object, text: object) -> str:
    """The text of one key, whose braces hold what can be filled in."""
    name = f"words[{key!r}]"
    if not isinstance(key, str) or key not in WORDS:
        near = get_close_matches(str(key), WORDS, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        remedy = f"is no such word: {hint}devices.WORDS has them all"
        raise InvalidArgument("words", key, remedy)
    if not isinstance(text, str) or (not text.strip() and key not in ("comma", "or", "and")):
        raise InvalidArgument(name, text, f"must be text, such as {WORDS[key]!r}")
    own = {field for field in _fields(name, WORDS[key]) if field not in THINGS}
    given = _fields(name, text)
    allowed = own | (set() if key in THINGS else set(THINGS))
    for field in given:
        if field not in allowed:
            known = ", ".join(f"{{{v}}}" for v in sorted(allowed)) or "none"
            remedy = f"has {{{field}}} in braces, which is not filled in here: {known} can be"
            raise InvalidArgument(name, text, remedy)
    lacking = sorted(own - set(given))
    if lacking:
        remedy = f"must have {{{lacking[0]}}} in braces, as {WORDS[key]!r} has"
        raise InvalidArgument(name, text, remedy)
    return str.__str__(text)


def _fields(name: str, text: str) -> list[str]:
    """What stands in braces."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        remedy = f"has braces that do not match ({error}); write {{{{ and }}}} for braces"
        raise InvalidArgument(name, text, remedy) from None
    for _, _, how, conversion in parts:
        if how or conversion:
            raise InvalidArgument(name, text, "must have plain names in braces, such as {label}")
    return [field for _, field, _, _ in parts if field is not None]
