"""A design that says "no" and "yes", in the words or codes of a survey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pandas as pd

from ldpstats.programs.laws import law
from ldpstats.programs.steps import Cards, Cohorts, Question, Say, Spin, Step, Truth, When

__all__ = ["in_own_words", "own_outputs"]

_NO, _YES = "no", "yes"
# words that mean yes wherever they are listed: before their no, they are the yes all the same
_MEAN_YES = {"yes", "y", "true", "ja", "oui", "si", "sí", "sì", "sim", "tak", "ano", "да"}
_MEAN_YES |= {"jah", "igen", "kyllä", "1"}
_MEAN_NO = {"no", "n", "false", "nein", "non", "nee", "nej", "nei", "não", "nao", "nie", "ne"}
_MEAN_NO |= {"нет", "ei", "nem", "0"}


def in_own_words(step: Step, categories: pd.Index[Any]) -> Step:
    """The step with two categories in the place of "no" and "yes", in this order.

    A device that has branches for the categories, or says one of them, is in the survey's own words
    already, and so are those whose answers are neither "no" nor "yes". Where the first category
    means yes and the second no, as in ("ja", "nein"), the first is the yes.

    Parameters
    ----------
    step : Step
    categories : Index
        The true answers; another number than two leaves the step as it is.

    Examples
    --------
    >>> from ldpstats.programs.steps import Roll
    >>> die = When(Roll(6), (((1,), Say("yes")), ((6,), Say("no"))), Truth())
    >>> in_own_words(die, pd.Index([2, 1]))
    roll(6).when({1: 1, 6: 2}, otherwise=truth)
    >>> in_own_words(die, pd.Index(["ja", "nein"]))
    roll(6).when({1: 'ja', 6: 'nein'}, otherwise=truth)
    """
    labels = categories.tolist() if len(categories) == 2 else []
    asked, said = _answers(step)
    own = asked or said
    if not labels or not own & {_NO, _YES} or {*own, _NO, _YES} & set(labels):
        return step
    no, yes = labels
    if _folded(no) in _MEAN_YES and _folded(yes) in _MEAN_NO:
        no, yes = yes, no
    words = {_NO: no, _YES: yes, f"say {_NO}": f"say {no}", f"say {_YES}": f"say {yes}"}
    changed: Step = _renamed(step, words)
    return changed


def own_outputs(step: Step, renamed: Step, categories: pd.Index[Any]) -> list[Any] | None:
    """What the renamed step says, where numbers of cards may look like categories, and are none.

    None where the step says "no" or "yes" and other labels, which may be misspelt answers.
    """
    for one in step.steps if isinstance(step, Cohorts) else (step,):
        said = set(law(one, (_NO, _YES)).outputs)
        if said & {_NO, _YES} and not said <= {_NO, _YES}:
            return None
    return list(law(renamed, categories).outputs)


def _folded(label: Any) -> str:
    return str(label).strip().casefold()


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
        return replace(field, **{name: _renamed(getattr(field, name), words) for name in names})  # type: ignore[type-var]
    if isinstance(field, tuple):
        return tuple(_renamed(item, words) for item in field)
    if not isinstance(field, str):
        return field
    if field in words:
        return words[field]
    return ", ".join(str(words.get(part, part)) for part in _parts(field))
