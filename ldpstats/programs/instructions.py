"""A device as numbered sentences for the respondent who uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ldpstats.arguments.labels import as_labels
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.programs.steps import (
    Another,
    Cards,
    Cohorts,
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
)
from ldpstats.programs.told import (
    OBJECTS,
    asks_the_truth,
    counted_outcome,
    objects_of,
    says_itself,
    told_step,
)
from ldpstats.programs.words import WORDS, Words

__all__ = ["WORDS", "instructions"]

_CONDITIONS = {Flip: "shows", Roll: "shows", Spin: "stops", Cards: "drew"}
_MOST_CATEGORIES = 10_000  # beyond which answers without a branch are "anything else"
_ITS_KIND = {Flip: " result", Roll: " result", Spin: " result", Cards: " card"}
_FEWEST_SAME = 3  # outcomes that are said as they are, from which one sentence does for all
_MOST_LISTED = 6  # outcomes, beyond which the rest is "anything else"


def instructions(step: Step, categories: object = None, words: object = None) -> list[str]:
    """Numbered sentences for the respondent, as an interviewer reads them.

    Where the probability of an outcome is an unknown parameter, it describes what some respondents
    do, and not what they are told: the instructions are those of `otherwise`.

    Parameters
    ----------
    step : Step
    categories : int or sequence of labels, optional
        The possible answers; with them the sentences name the answers that have no branch.
    words : dict of str to str, optional
        Words to replace, by their keys in `WORDS`: {"die": "ten-sided die"}, or a translation.

    Returns
    -------
    list of str
        Sentences with their numbers: "1.", "2.", and "2.1." for what is done within 2.

    Raises
    ------
    InvalidArgument
        If `words` has an unknown key, or a text that lacks what must be filled in.
    NotAvailable
        If all branches at an unknown probability lead on: nobody knows which of them is told.

    Examples
    --------
    >>> card = When(Roll(6), (((1,), Say("yes")), ((6,), Say("no"))), Truth())
    >>> print(*instructions(card), sep="\\n")
    1. Roll the die, and show the result to nobody.
    2. If it shows 1, say “yes”.
    3. If it shows 6, say “no”.
    4. If it shows 2 to 5, answer the question truthfully.
    >>> instructions(card, words={"die": "wooden cube"})[0]
    '1. Roll the wooden cube, and show the result to nobody.'
    """
    if not isinstance(step, Step):
        raise InvalidArgument("step", step, "must be a step, such as Roll(6)")
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
    """Writes the sentences of steps.

    `saying` is False for a step whose result is remembered for the next; `remembered` says that an
    earlier result stands for the true answer; `used` are objects that were used on the way, and
    `known` those that were described.
    """

    words: Words
    categories: tuple[Any, ...] | None
    objects: dict[type[Step], dict[Step, int]]
    saying: bool = True
    remembered: bool = False
    used: tuple[Step, ...] = ()
    known: set[Step] = field(default_factory=set)

    def sequence(self, step: Step, first: bool = False) -> tuple[_Block, ...]:
        """The sentences of a step, one after the other."""
        block = self.block(step)
        if first and asks_the_truth(step):
            hidden = any(self.objects.values())
            notes = (self.words.say("unseen"),) if hidden else ()
            return (_Block(self.words.say("think"), notes), *block.inner)
        if not block.head:
            return block.inner
        return (_Block(block.head, block.notes), *block.inner)

    def block(self, step: Step) -> _Block:
        """The sentences of a step, as one with others within it."""
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
            case _:
                return _Block(self._leaf(step))

    # -- leaves ------------------------------------------------------------------------------

    def _leaf(self, step: Step) -> str:
        mode = "say" if self.saying else "keep"
        match step:
            case Truth():
                return self.words.say(f"{mode} {'remembered' if self.remembered else 'truth'}")
            case Opposite():
                rest = "opposite of remembered" if self.remembered else "opposite"
                return self.words.say(f"{mode} {rest}")
            case Another():
                rest = "another than remembered" if self.remembered else "another"
                return self.words.say(f"{mode} {rest}")
            case Say():
                key = "say" if self.saying else "keep label"
                return self.words.say(key, label=self.words.label(step.label))
            case Question():
                return self.words.say(f"{mode} other", name=self._name(step))
            case Hashed():
                key = "code" if self.saying else "keep code"
                key += " of remembered" if self.remembered else ""
                return self.words.say(key, count=step.n_outputs)
        raise NotAvailable(f"there are no instructions for {type(step).__name__}")

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
        return self._law(step)

    def _law(self, step: Step) -> tuple[str, ...]:
        match step:
            case Flip() if step.p != Fraction(1, 2):
                law: Any = (("heads", step.p), ("tails", 1 - step.p))
                return (self.words.shares("flips", law),)
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
        """Each condition in words, and the step that it leads to; equal steps share one.

        The step is None where three outcomes or more are said as they are.
        """
        grouped: dict[Step, list[Any]] = {}
        for outcomes, branch in step.branches:
            grouped.setdefault(branch, []).extend(outcomes)
        if step.otherwise is not None and step.otherwise not in grouped:
            grouped[step.otherwise] = []
        elif step.otherwise is not None:
            grouped[step.otherwise] = grouped.pop(step.otherwise)
        same = [branch for branch, named in grouped.items() if says_itself(branch, named)]
        same = [] if step.otherwise in same or len(same) < _FEWEST_SAME else same
        itself = [outcome for branch in same for outcome in grouped.pop(branch)]
        found: list[tuple[str, Step | None]] = []
        for branch, named in grouped.items():
            rest = self._rest(step) if branch == step.otherwise else []
            if named or rest is None or rest:
                found.append((self._clause(step, named, rest), told_step(branch)))
        if itself:
            left = [itself, []] if step.otherwise else [[], itself]
            found.append((self._clause(step, *left), None))
        return found

    def _rest(self, step: When) -> list[Any] | None:
        """The outcomes that have no branch; None if they are not known."""
        own = step.source.said(self.categories)
        if own is None:
            return None
        taken = {(type(v), v) for outcomes, _ in step.branches for v in outcomes}
        return [label for label in own if (type(label), label) not in taken]

    def _clause(self, step: When, outcomes: list[Any], rest: list[Any] | None) -> str:
        if isinstance(step.source, Truth):
            key = "remembered" if self.remembered else "true"
        elif isinstance(step.source, Question):
            key = "answered"
        else:
            key = _CONDITIONS.get(type(step.source), "remembered")
        named = self._in_order(step, outcomes + (rest or []))
        if rest is None or (len(rest) > _MOST_LISTED and not _is_run(named)):
            return self.words.say(key, outcome=self.words.say("else"))
        kind = OBJECTS.get(type(step.source), "")
        return self.words.say(key, outcome=self.words.any_of(named, kind))

    def _in_order(self, step: When, outcomes: list[Any]) -> list[Any]:
        """Outcomes in the order in which the source lists them."""
        own = step.source.said(self.categories) or ()
        places = {(type(v), v): i for i, v in enumerate(own)}
        return sorted(outcomes, key=lambda v: places.get((type(v), v), len(places)))

    # -- several steps -----------------------------------------------------------------------

    def _then(self, step: Then) -> _Block:
        counted = self._counted(step)
        if counted is not None:
            return counted
        first = told_step(step.first)
        if isinstance(first, Truth):
            return self.block(told_step(step.second))
        before = replace(self, saying=False).sequence(first)
        results = first.said(self.categories)
        later = replace(self._after(first), remembered=True, categories=results)
        return _Block("", (), (*before, *later.sequence(told_step(step.second))))

    def _counted(self, step: Then) -> _Block | None:
        """Several draws from one object of which the number of some outcome is said."""
        found = counted_outcome(step)
        if found is None:
            return None
        drawn, times, outcome = found
        key = "count" if self.saying else "keep count"
        act = self.words.say("times", count=times, act=self._verb(drawn))
        label = self.words.label(outcome, OBJECTS[type(drawn)])
        back = [self.words.say("put each back")] if isinstance(drawn, Cards) else []
        said = self.words.say(key, count=times, outcome=label)
        return _Block(act, (*self._introduced(drawn), *back, said))

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
        key = "sets"
        notes: tuple[str, ...] = ()
        if step.shares is not None:
            key = "uneven sets"
            notes = (self.words.percent(zip(step.named, step.shares, strict=True)),)
        return _Block(self.words.say(key, count=len(inner)), notes, (*inner, last))


def _is_run(labels: Sequence[Any]) -> bool:
    """Whether labels are whole numbers without a gap."""
    return all(type(v) is int for v in labels) and all(b == a + 1 for a, b in pairwise(labels))


def _numbered(writer: _Writer, blocks: Sequence[_Block], before: str = "") -> list[str]:
    """Sentences with their numbers: 1., 2., 2.1."""
    found = []
    for i, block in enumerate(blocks, 1):
        number = writer.words.say("number", number=f"{before}{i}")
        text = " ".join(_sentence(part) for part in (block.head, *block.notes) if part)
        if block.inner:
            text = f"{text[:-1]}:" if not block.notes else text
        found.append(f"{number} {text}")
        found += _numbered(writer, block.inner, f"{before}{i}.")
    return found


def _sentence(text: str) -> str:
    """Text with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text[-1:] in '.!?' else '.'}"
