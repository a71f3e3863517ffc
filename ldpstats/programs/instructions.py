"""A device as numbered sentences for the respondent who uses it.

How the sentences are written; what of a device its respondents are told, and the objects that they
hold; a design that says "no" and "yes" in the words or codes of a survey; and the words themselves,
which a caller may replace or translate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from fractions import Fraction
from itertools import pairwise
from math import lcm
from string import Formatter
from typing import Any

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import Labels, as_labels
from ldpstats.programs.laws import law
from ldpstats.programs.polynomials import Polynomial
from ldpstats.programs.steps import (
    Another,
    Cards,
    Cohorts,
    Draw,
    Flip,
    Hashed,
    Opposite,
    Parts,
    Question,
    Roll,
    Say,
    Spin,
    Step,
    Then,
    Truth,
    When,
    typed,
)

_ANSWERS: dict[type[Step], tuple[str, str]] = {  # true ones, and those that are remembered
    Truth: ("truth", "remembered"),
    Opposite: ("opposite", "opposite of remembered"),
    Another: ("another", "another than remembered"),
}
_CONDITIONS = {Flip: "shows", Roll: "shows", Spin: "stops", Cards: "drew"}
_MOST_CATEGORIES = 10_000  # beyond which answers without a branch are "anything else"
_ITS_KIND = {Flip: " result", Roll: " result", Spin: " result", Cards: " card"}
_FEWEST_SAME = 3  # outcomes that are said as they are, from which one sentence does for all
_MOST_LISTED = 6  # outcomes, beyond which the rest is "anything else"


def instructions(step: Step, categories: object = None, words: object = None) -> list[str]:
    """Sentences with their numbers: "1.", "2.", and "2.1." for what is done within 2."""
    labels = named_labels(categories)
    told = told_step(step)
    writer = _Writer(Words.of(words), labels, objects_of(told))
    return _numbered(writer, writer.sequence(told, first=True))


def named_labels(categories: object) -> tuple[Any, ...] | None:
    """The labels of categories, where there are few enough to name those without a branch."""
    if categories is None:
        return None
    labels = as_labels("categories", categories)
    return tuple(labels.tolist()) if len(labels) <= _MOST_CATEGORIES else None


@dataclass(frozen=True)
class _Block:
    """What to do, what to know about it, and what is done within it."""

    head: str = ""
    notes: tuple[str, ...] = ()
    inner: tuple[_Block, ...] = ()


@dataclass(frozen=True)
class _Writer:
    """Writes the sentences of steps."""

    words: Words
    categories: tuple[Any, ...] | None
    objects: dict[type[Step], dict[Step, int]]
    saying: bool = True  # False for a step whose result is remembered for the next
    remembered: bool = False  # whether an earlier result stands for the true answer
    used: tuple[Step, ...] = ()  # objects that were used on the way
    known: set[Step] = field(default_factory=set)  # and those that were described

    def sequence(self, step: Step, first: bool = False) -> tuple[_Block, ...]:
        """The sentences of a step, one after the other."""
        block = self.block(step)
        begins, asked = step, False  # whether it begins with branches for the true answer
        while isinstance(begins, When | Then):
            if isinstance(begins, When):
                begins, asked = begins.source, True
            else:
                begins = begins.second if isinstance(begins.first, Truth) else begins.first
        head = (replace(block, inner=()),) if block.head else ()
        if first and asked and isinstance(begins, Truth):
            hidden = any(self.objects.values())
            head = (_Block(self.words.say("think"), (self.words.say("unseen"),) * hidden),)
        return (*head, *block.inner)

    def block(self, step: Step) -> _Block:
        """The sentences of a step, as one with others within it."""
        mode = "say" if self.saying else "keep"
        match step:
            case When():
                return self._when(step)
            case Then():
                return self._then(step)
            case Parts():
                return self._parts(step)
            case Cohorts():
                return self._cohorts(step)
            case Flip() | Roll() | Spin() | Cards():
                return self._act(step, "tell" if self.saying else "keep")
            case Truth() | Opposite() | Another():
                text = self.words.say(f"{mode} {_ANSWERS[type(step)][self.remembered]}")
            case Say():
                key = "say" if self.saying else "keep label"
                text = self.words.say(key, label=self.words.label(step.label))
            case Question():
                text = self.words.say(f"{mode} other", name=self._name(step))
            case Hashed():
                key = "code" if self.saying else "keep code"
                key += " of remembered" if self.remembered else ""
                text = self.words.say(key, count=step.n_outputs)
            case _:
                raise NotAvailable(f"there are no instructions for {type(step).__name__}")
        return _Block(text)

    def _name(self, step: Question) -> str:
        text = " ".join((step.text or "").split())
        return self.words.say("text", text=text) if text else self.words.say("other")

    # -- objects -----------------------------------------------------------------------------

    def _act(self, step: Step, key: str) -> _Block:
        """Flip, roll, spin or draw; and how likely the results are, the first time."""
        act = self._verb(step)
        key += " card" if isinstance(step, Cards) else ""
        if step in self.used:
            again = "put back" if isinstance(step, Cards) else "again"
            return _Block(self.words.say(key, act=self.words.say(again, act=act)))
        return _Block(self.words.say(key, act=act), self._introduced(step))

    def _verb(self, step: Step) -> str:
        verb, same_kind = OBJECTS[type(step)], self.objects[type(step)]
        if len(same_kind) < 2:
            return self.words.say(verb)
        return self.words.say(f"{verb} one", which=same_kind[step])

    def _introduced(self, step: Step) -> tuple[str, ...]:
        """How likely the results of an object are, where it is named first."""
        if step in self.known:
            return ()
        self.known.add(step)
        match step:
            case Flip() if step.p != Fraction(1, 2):
                return (self.words.shares("flips", step.law),)
            case Roll() if step.sides != 6:
                return (self.words.say("sides", count=step.sides),)
            case Spin():
                return (self.words.shares("spins", step.law),)
            case Cards():
                return (self.words.shares("cards", step.law, step.numbers),)
        return ()

    # -- branches ----------------------------------------------------------------------------

    def _when(self, step: When) -> _Block:
        if isinstance(step.source, Truth | Question):
            heads, cells = self._silent(step, ())
            cells = self._one_of(cells) if self.remembered else cells
            return _Block("", (), (*(_Block(head) for head in heads), *cells))
        inside = self._after(step.source)
        if type(step.source) in OBJECTS:
            block = self._act(step.source, "hide")
            return replace(block, inner=tuple(inside._branches(step)))
        first = replace(self, saying=False).sequence(told_step(step.source))
        return _Block("", (), (*first, *inside._one_of(inside._branches(step))))

    def _one_of(self, branches: list[_Block]) -> list[_Block]:
        """Branches on what is remembered, where another may fit what the first remembers."""
        if self.saying or len(branches) < 2:
            return branches
        return [_Block(self.words.say("one of"), (), tuple(branches))]

    def _after(self, step: Step) -> _Writer:
        """A writer who knows that the objects of a step may have been used."""
        held = (one for same_kind in objects_of(step).values() for one in same_kind)
        return replace(self, used=(*self.used, *held))

    def _silent(self, step: When, so_far: tuple[str, ...]) -> tuple[list[str], list[_Block]]:
        """Conditions on answers that nobody hears, of several questions together."""
        heads: list[str] = []
        cells: list[_Block] = []
        if isinstance(step.source, Question):
            heads.append(self.words.say("think of", name=self._name(step.source)))
        for clause, told in self._conditions(step):
            clauses = (*so_far, clause)
            if isinstance(told, When) and isinstance(told.source, Truth | Question):
                more, below = self._silent(told, clauses)
                heads += [head for head in more if head not in heads]
                cells += below
            else:
                cells.append(self._conditional(clauses, step.source, told))
        return heads, cells

    def _branches(self, step: When) -> list[_Block]:
        return [
            self._conditional((clause,), step.source, told)
            for clause, told in self._conditions(step)
        ]

    def _conditional(self, clauses: tuple[str, ...], source: Step, step: Step | None) -> _Block:
        condition = self.words.joined(list(clauses), "and")
        if step is None or (isinstance(source, Truth) and isinstance(step, Truth)):
            key = "say it" if self.saying else "keep it"
            block = _Block(self.words.say(f"{key}{_ITS_KIND.get(type(source), '')}"))
        else:
            block = self.block(step)
        return self._under("if", block, condition=condition)

    def _under(self, key: str, block: _Block, **filled: object) -> _Block:
        """A block after a condition."""
        action = block.head or self.words.say("follow")
        return replace(block, head=self.words.say(key, action=action, **filled))

    def _conditions(self, step: When) -> list[tuple[str, Step | None]]:
        """Each condition in words, and the step it leads to; None if outcomes are said as such."""
        grouped: dict[Step, list[Any]] = {}
        for outcomes, branch in step.branches:
            grouped.setdefault(branch, []).extend(outcomes)
        if step.otherwise is not None:  # comes last
            grouped[step.otherwise] = grouped.pop(step.otherwise, [])
        same = [  # branches that say the outcome that leads to them
            branch
            for branch, named in grouped.items()
            if isinstance(branch, Say) and list(map(typed, named)) == [typed(branch.label)]
        ]
        same = [] if step.otherwise in same or len(same) < _FEWEST_SAME else same
        itself = [outcome for branch in same for outcome in grouped.pop(branch)]
        known = step.source.said(self.categories)
        left = None  # outcomes that have no branch, where they are known
        if known is not None:
            taken = {typed(v) for labels, _ in step.branches for v in labels}
            left = [label for label in known if typed(label) not in taken]
        found: list[tuple[str, Step | None]] = []
        for branch, named in grouped.items():
            rest = left if branch == step.otherwise else []
            if named or rest is None or rest:
                found.append((self._clause(step, named, rest), told_step(branch)))
        if itself:
            named, rest = (itself, []) if step.otherwise else ([], itself)
            found.append((self._clause(step, named, rest), None))
        return found

    def _clause(self, step: When, outcomes: list[Any], rest: list[Any] | None) -> str:
        if isinstance(step.source, Truth):
            key = "remembered" if self.remembered else "true"
        elif isinstance(step.source, Question):
            key = "answered"
        else:
            key = _CONDITIONS.get(type(step.source), "remembered")
        own = step.source.said(self.categories) or ()
        places = {typed(v): i for i, v in enumerate(own)}  # outcomes are listed in this order
        named = sorted(outcomes + (rest or []), key=lambda v: places.get(typed(v), len(places)))
        is_run = all(type(v) is int for v in named) and all(b == a + 1 for a, b in pairwise(named))
        if rest is None or (len(rest) > _MOST_LISTED and not is_run):
            return self.words.say(key, outcome=self.words.say("else"))
        kind = OBJECTS.get(type(step.source), "")
        return self.words.say(key, outcome=self.words.any_of(named, kind))

    # -- several steps -----------------------------------------------------------------------

    def _then(self, step: Then) -> _Block:
        if (counted := counted_outcome(step)) is not None:  # several draws from one object
            drawn, times, outcome = counted
            key = "count" if self.saying else "keep count"
            act = self.words.say("times", count=times, act=self._verb(drawn))
            label = self.words.label(outcome, OBJECTS[type(drawn)])
            back = [self.words.say("put each back")] if isinstance(drawn, Cards) else []
            said = self.words.say(key, count=times, outcome=label)
            return _Block(act, (*self._introduced(drawn), *back, said))
        first = told_step(step.first)
        if isinstance(first, Truth):
            return self.block(told_step(step.second))
        before = replace(self, saying=False).sequence(first)
        results = first.said(self.categories)
        later = replace(self._after(first), remembered=True, categories=results)
        return _Block("", (), (*before, *later.sequence(told_step(step.second))))

    def _parts(self, step: Parts) -> _Block:
        key = "part" if self.saying else "keep part"
        inner: list[_Block] = []
        writer = self
        for which, part in enumerate(map(told_step, step.steps), 1):
            inner.append(self._under(key, writer.block(part), which=which))
            writer = writer._after(part)
        return _Block(self.words.say(f"{key}s", count=len(inner)), (), tuple(inner))

    def _cohorts(self, step: Cohorts) -> _Block:
        inner = [
            self._under("set", self.block(told_step(one)), which=name)
            for name, one in zip(step.named, step.steps, strict=True)
        ]
        named = "say the set" if step.names is not None else "name the set"
        last = _Block(self.words.say(named if self.saying else "keep the set"))
        key, notes = "sets", tuple[str, ...]()
        if step.shares is not None:
            key = "uneven sets"
            notes = (self.words.percent(zip(step.named, step.shares, strict=True)),)
        return _Block(self.words.say(key, count=len(inner)), notes, (*inner, last))


def _numbered(writer: _Writer, blocks: Sequence[_Block], before: str = "") -> list[str]:
    """Sentences with their numbers: 1., 2., 2.1."""
    found = []
    for i, block in enumerate(blocks, 1):
        number = writer.words.say("number", number=f"{before}{i}")
        sentences = (part for part in (block.head, *block.notes) if part)
        text = " ".join(  # with a capital and a full stop each
            f"{part[:1].upper()}{part[1:]}{'' if part[-1:] in '.!?' else '.'}" for part in sentences
        )
        if block.inner:
            text = f"{text[:-1]}:" if not block.notes else text
        found.append(f"{number} {text}")
        found += _numbered(writer, block.inner, f"{before}{i}.")
    return found


# -- What of a device its respondents are told, and the objects that they hold --------------------


OBJECTS: dict[type[Step], str] = {Flip: "flip", Roll: "roll", Spin: "spin", Cards: "draw"}
"""What respondents hold, and what they do with it."""


def counted_outcome(step: Then) -> tuple[Draw, int, Any] | None:
    """The object, the number of draws and the outcome that is counted; None if none is."""
    if not isinstance(step.first, Parts) or not isinstance(step.second, When):
        return None
    drawn, times = step.first.steps[0], len(step.first.steps)
    own = drawn.outcomes
    if type(drawn) not in OBJECTS or own is None or any(s != drawn for s in step.first.steps):
        return None
    assert isinstance(drawn, Draw)
    said = {
        label: branch.label
        for labels, branch in step.second.branches
        for label in labels
        if isinstance(branch, Say)
    }
    if not isinstance(step.second.source, Truth) or len(said) != len(own) ** times:
        return None
    for outcome in own:
        if all(label.split(", ").count(str(outcome)) == n for label, n in said.items()):
            return drawn, times, outcome
    return None


def told_step(step: Step) -> Step:
    """The step that respondents are told: not what some do with an unknown probability."""
    while isinstance(step, When) and _open(step.source):
        if step.otherwise is None:
            raise NotAvailable(
                f"instructions are not known where the probability is {_open(step.source)[0]}: "
                "pass the step that respondents are told as otherwise="
            )
        step = step.otherwise
    if _open(step):
        raise NotAvailable(
            f"there are no instructions for an object whose probability is {_open(step)[0]}: "
            "give its value, as device.mechanism(categories).at(...) does, or use it in "
            "when(..., otherwise=)"
        )
    return step


def _open(step: Step) -> list[Polynomial]:
    """The probabilities of an object that depend on unknown parameters: what some people do."""
    law = step.law if isinstance(step, Draw) and type(step) in OBJECTS and step.unknown else ()
    return [p for _, p in law if isinstance(p, Polynomial)]


def objects_of(step: Step) -> dict[type[Step], dict[Step, int]]:
    """The different coins, dice, spinners and decks, numbered in the order of their use."""
    kinds: tuple[type[Step], ...] = tuple(OBJECTS)
    found: dict[type[Step], dict[Step, int]] = {kind: {} for kind in kinds}
    waiting = [step]
    while waiting:
        first = told_step(waiting.pop())
        if type(first) in OBJECTS:
            numbers = found[type(first)]
            numbers.setdefault(first, len(numbers) + 1)
        waiting += reversed(first.children)
    return found


# -- A design that says "no" and "yes", in the words or codes of a survey -------------------------


_NO, _YES = "no", "yes"
# words that mean yes wherever they are listed: before their no, they are the yes all the same
_MEAN_YES = {"yes", "y", "true", "ja", "oui", "si", "sí", "sì", "sim", "tak", "ano", "да"}
_MEAN_YES |= {"jah", "igen", "kyllä", "1"}
_MEAN_NO = {"no", "n", "false", "nein", "non", "nee", "nej", "nei", "não", "nao", "nie", "ne"}
_MEAN_NO |= {"нет", "ei", "nem", "0"}


def in_own_words(step: Step, categories: Labels) -> Step:
    """The step with two categories in the place of "no" and "yes", in this order.

    A device that has branches for the categories, or says one of them, is in the survey's own words
    already, and so are those whose answers are neither "no" nor "yes".
    """
    labels = categories.tolist() if len(categories) == 2 else []
    asked, said = _answers(step)
    own = asked or said
    if not labels or not own & {_NO, _YES} or {*own, _NO, _YES} & set(labels):
        return step
    no, yes = labels
    first, second = (str(label).strip().casefold() for label in labels)
    if first in _MEAN_YES and second in _MEAN_NO:  # as in ("ja", "nein")
        no, yes = yes, no
    words = {_NO: no, _YES: yes, f"say {_NO}": f"say {no}", f"say {_YES}": f"say {yes}"}
    return _renamed(step, words)  # type: ignore[no-any-return]


def own_outputs(step: Step, renamed: Step, categories: Labels) -> list[Any] | None:
    """What the renamed step says, where numbers of cards may look like categories, and are none.

    None where the step says "no" or "yes" and other labels, which may be misspelt answers.
    """
    for one in step.steps if isinstance(step, Cohorts) else (step,):
        said = set(law(one, (_NO, _YES)).outputs)
        if said & {_NO, _YES} and not said <= {_NO, _YES}:
            return None
    return list(law(renamed, categories).outputs)


def _answers(step: Step) -> tuple[set[Any], set[Any]]:
    """The true answers for which a step has branches, and what it says itself."""
    asked: set[Any] = set()
    said: set[Any] = set()
    waiting = [step]
    while waiting:
        one = waiting.pop()
        waiting += one.children
        match one:
            case When(source=Truth()):
                asked |= {part for keys, _ in one.branches for key in keys for part in _parts(key)}
            case When(source=Spin() | Cards()):
                waiting.pop(-len(one.children))  # its outcomes lead on, and are not said
            case Say():
                said.add(one.label)
            case Question():
                said |= set(one.answers)
            case Spin() | Cards():
                said |= {label for label, _ in one.law}
    return asked, said


def _parts(label: Any) -> list[Any]:
    """The labels that the text of several parts is made of; of another label itself."""
    return label.split(", ") if isinstance(label, str) else [label]


def _renamed(field: Any, words: Mapping[str, Any]) -> Any:
    """A step, or a field of one, with other words for labels; texts of questions stay."""
    if isinstance(field, Step):
        names = [f.name for f in fields(field) if f.name not in ("text", "names")]  # type: ignore[arg-type]
        changed = {name: _renamed(getattr(field, name), words) for name in names}
        return replace(field, **changed).called(field.spelling)  # type: ignore[type-var]
    if isinstance(field, tuple):
        return tuple(_renamed(item, words) for item in field)
    if not isinstance(field, str):
        return field
    if field in words:
        return words[field]
    return ", ".join(str(words.get(part, part)) for part in _parts(field))


# -- The words of instructions to respondents, which a caller may replace or translate ------------


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
        """The default words, with those of a caller in their place."""
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
            shown = [self.label(label, kind) for label in run]
            whole = len(run) < _FEWEST_IN_RANGE
            found += shown if whole else [self.say("range", first=shown[0], last=shown[-1])]
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
        head, total = kind, lcm(*(p.denominator for _, p in pairs))
        if numbers is not None:
            head, total = "deck of", sum(numbers)
        elif len(pairs) > 2 and len({p for _, p in pairs}) == 1:
            return self.say("alike")
        elif total > _MOST_COUNTED:
            return self.percent(pairs, outcome)
        parts = []
        for label, p in pairs:
            count, shown = int(p * total), self.label(label, outcome)
            parts.append(
                self.say(f"{kind} {'1' if count == 1 else 'n'}", count=count, outcome=shown)
            )
        return self.say(head, total=total, counts=self.joined(parts, "and"))

    def percent(self, law: Iterable[tuple[Any, Any]], kind: str = "") -> str:
        """How likely outcomes are, in percent."""
        parts = [
            self.say("share", outcome=self.label(v, kind), percent=f"{100 * float(p):.3g}")
            for v, p in law
        ]
        return self.say("shares", counts=self.joined(parts, "and"))


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
    for thing in given:
        if thing not in allowed:
            known = ", ".join(f"{{{v}}}" for v in sorted(allowed)) or "none"
            remedy = f"has {{{thing}}} in braces, which is not filled in here: {known} can be"
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
