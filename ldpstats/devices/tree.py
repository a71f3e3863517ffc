"""A device as a tree: what is drawn at each branch, and what is said at the leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

from ldpstats.programs.polynomials import Chance
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
from ldpstats.programs.told import counted_outcome

__all__ = ["Branch", "Node", "tree_of"]

_MOST_NAMED = 4  # outcomes of one branch, beyond which they are shortened
_MOST_DRAWN = 12  # branches of a step, beyond which the others are one


@dataclass(frozen=True)
class Node:
    """A step: what it is called, whether it is a report, and where it leads."""

    text: str
    is_leaf: bool
    branches: tuple[Branch, ...] = ()

    @property
    def leaves(self) -> int:
        """How many rows of a drawing the node takes."""
        return sum(branch.node.leaves for branch in self.branches) or 1

    @property
    def depth(self) -> int:
        """How many steps follow one another."""
        return 1 + max((branch.node.depth for branch in self.branches), default=0)


@dataclass(frozen=True)
class Branch:
    """Outcomes of a step, their probability in words, and the step that follows."""

    outcomes: str
    chance: str
    node: Node


def tree_of(step: Step, categories: Sequence[Any] | None = None, later: bool = False) -> Node:
    """The tree of a step; with the categories, answers that have no branch are named.

    `later` says that the result of an earlier step stands for the truth.
    """
    match step:
        case When():
            return _when(step, categories, later)
        case Then() if (counted := counted_outcome(step)) is not None:
            return _counted(*counted)
        case Then():
            results = step.first.said(None if categories is None else tuple(categories))
            second = tree_of(step.second, results, True)
            return _joined(tree_of(step.first, categories, later), second)
        case Parts() | Cohorts():
            return _several(step, categories, later)
        case Flip() | Roll() | Spin() | Cards():
            return Node(_named(step), False, tuple(_results(_law(step) or [])))
        case _:
            return Node(_named(step, later), True)


def _named(step: Step, later: bool = False) -> str:
    """A step in a few words."""
    match step:
        case Truth():
            return "that result" if later else "truth"
        case Opposite():
            return "opposite of that" if later else "opposite"
        case Another():
            return "another than that" if later else "another answer"
        case Say():
            return f"say {step.label}"
        case Flip():
            return "flip a coin"
        case Roll():
            return "roll a die" if step.sides == 6 else f"roll a die of {step.sides}"
        case Spin():
            return "turn a spinner"
        case Cards():
            return "draw a card"
        case Question():
            return "other question" if step.text is None else step.text
        case Hashed():
            return f"hash to {step.n_outputs} cells"
    return "that result?"


def _law(step: Step) -> list[tuple[Any, Chance]] | None:
    """Outcomes with their probabilities; None if the truth decides."""
    match step:
        case Flip():
            return [("heads", step.p), ("tails", 1 - step.p)]
        case Roll():
            return [(side, Fraction(1, step.sides)) for side in range(1, step.sides + 1)]
        case Spin() | Cards():
            return list(step.law)
        case Question():
            return [(step.answers[0], 1 - step.prevalence), (step.answers[1], step.prevalence)]
    return None


def _when(step: When, categories: Sequence[Any] | None, later: bool) -> Node:
    """Branches by the outcome of the step before; equal steps share one."""
    source, law = step.source, _law(step.source)
    outcomes: Sequence[Any] | None = source.outcomes
    name = _named(source)
    if isinstance(source, Truth):
        outcomes, name = categories, "that result?" if later else "true answer?"
    elif law is None:
        name = "that result?"
    chances = {(type(v), v): p for v, p in law or ()}

    def branch(labels: Sequence[Any], then: Step) -> Branch:
        p = sum((chances[type(v), v] for v in labels), Fraction(0)) if law else None
        return Branch(_outcomes(labels), _chance(p), tree_of(then, categories, later))

    branches = [branch(labels, then) for then, labels in _grouped(step, outcomes).items()]
    if step.otherwise is not None and outcomes is None:
        then = tree_of(step.otherwise, categories, later)
        branches.append(Branch("otherwise", "", then))
    own = Node(name, False, tuple(branches))
    if law is None and not isinstance(source, Truth):
        return _joined(tree_of(source, categories, later), own)
    return own


def _grouped(step: When, outcomes: Sequence[Any] | None) -> dict[Step, list[Any]]:
    """The outcomes that lead to each step, those of `otherwise` too."""
    grouped: dict[Step, list[Any]] = {}
    for labels, branch in step.branches:
        grouped.setdefault(branch, []).extend(labels)
    taken = {(type(v), v) for labels, _ in step.branches for v in labels}
    rest = [v for v in outcomes or () if (type(v), v) not in taken]
    if step.otherwise is not None and rest:
        grouped.setdefault(step.otherwise, []).extend(rest)
    return grouped


def _joined(first: Node, second: Node) -> Node:
    """One tree after another, which goes on from the result of the first."""
    return Node("in turn", False, (Branch("first", "", first), Branch("then", "", second)))


def _counted(drawn: Step, times: int, outcome: Any) -> Node:
    """Several draws from one object of which the number of an outcome is said."""
    p = next(p for label, p in _law(drawn) or () if label == outcome)
    branches = tuple(
        Branch(f"{n} {outcome}", _chance(comb(times, n) * p**n * (1 - p) ** (times - n)), leaf)
        for n in range(times + 1)
        for leaf in [Node(f"say {n}", True)]
    )
    return Node(f"{_named(drawn)}, {times} times", False, branches)


def _several(step: Parts | Cohorts, categories: Sequence[Any] | None, later: bool) -> Node:
    """A branch for each part of a report, or for each cohort."""
    drawn = isinstance(step, Cohorts)
    n = len(step.steps)
    names = step.named if isinstance(step, Cohorts) else map(str, range(1, n + 1))
    chances = map(_chance, step.chances) if isinstance(step, Cohorts) else [""] * n
    name = "cohort" if drawn else "answer"
    branches = tuple(
        Branch(f"{name} {which}", p, tree_of(one, categories, later))
        for which, p, one in zip(names, chances, step.steps, strict=True)
    )
    return Node("draw a cohort" if drawn else f"{n} answers", False, branches)


def _results(law: list[tuple[Any, Chance]]) -> Iterator[Branch]:
    """Branches to the results that are said; the last of many are one."""
    many = len(law) > _MOST_DRAWN
    for outcome, p in law[: _MOST_DRAWN - 1] if many else law:
        yield Branch(str(outcome), _chance(p), Node(f"say {outcome}", True))
    if many:
        rest = law[_MOST_DRAWN - 1 :]
        p = sum((p for _, p in rest), Fraction(0))
        yield Branch(f"{len(rest)} others", _chance(p), Node("say which", True))


def _outcomes(labels: Sequence[Any]) -> str:
    """Outcomes of one branch: 2 to 5; red, blue."""
    whole = all(type(v) is int for v in labels)
    ordered = sorted(labels) if whole else list(labels)
    if whole and len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]} to {ordered[-1]}"
    comma = "; " if any("," in str(v) for v in labels) else ", "
    if len(ordered) > _MOST_NAMED:
        shown = comma.join(map(str, ordered[: _MOST_NAMED - 1]))
        return f"{shown} and {len(ordered) - _MOST_NAMED + 1} more"
    return comma.join(map(str, ordered))


def _chance(p: Chance | int | None) -> str:
    """A probability in a few characters: a short fraction, a decimal, or a polynomial."""
    if p is None:
        return ""
    if isinstance(p, Fraction) and p.denominator > 1000:
        return f"{float(p):.3g}"
    return str(p)
