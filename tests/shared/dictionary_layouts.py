"""Small dictionary surveys, and their strings cut into grams without numpy."""

from itertools import product
from typing import Any

import numpy.typing as npt

import ldpstats as ldp
from ldpstats import KRAPPOR, KRR, ORAPPOR, ORR, RAPPOR
from ldpstats.models.dictionary.survey import GramLayout

Array = npt.NDArray[Any]


def every_string(length: int, alphabet: str, least: int = 1) -> list[str]:
    sizes = range(least, length + 1)
    return ["".join(letters) for n in sizes for letters in product(alphabet, repeat=n)]


def cut(text: str, layout: GramLayout) -> list[str]:
    """The grams of one string, without numpy."""
    padded = text[: layout.length] + layout.pad * (layout.length - len(text))
    last = layout.length - layout.gram
    return [padded[i : i + layout.gram] for i in range(0, last + 1, layout.step)]


def make(**changes: Any) -> ldp.DictionarySurvey:
    given = {"length": 4, "gram": 2, "alphabet": "ab", "epsilon": 3.0} | changes
    return ldp.DictionarySurvey(**given)


GRAMS = [*"ab", " "]


def single(gram: ldp.Mechanism, string: ldp.Mechanism) -> ldp.DictionarySurvey:
    """Three positions of one character each."""
    mechanisms = {"gram_mechanism": gram, "string_mechanism": string}
    return make(length=3, gram=1, epsilon=None, **mechanisms)


SMALL = {
    "krr": make(gram_mechanism="krr", string_mechanism=ORR(3, 2, epsilon=0.9)),
    "oue": single(KRAPPOR(GRAMS, 0.8, theta=0.5), ORR(2, 3, epsilon=0.5)),
    "orr": single(ORR(4, 2, epsilon=1.2), ORR(3, 4, epsilon=0.4)),
    "orr-closed": single(ORR(3, 2, epsilon=1.2, alphabet=GRAMS), ORR(3, 4, epsilon=0.4)),
    "rappor-grams": single(RAPPOR(3, 1, 2, f=0.0, p=0.25, q=0.75), ORR(3, 2, epsilon=0.4)),
    "rappor-strings": single(KRR(GRAMS, 1.0), RAPPOR(5, 2, 3, f=0.1, p=0.25, q=0.75)),
    "orappor": single(ORAPPOR(3, 1, 1, epsilon=1.0), ORAPPOR(3, 1, 2, epsilon=0.7)),
    "overlap": make(step=1, epsilon=6.0, string_mechanism=ORR(2, 2, epsilon=1.0)),
    "two-positions": make(length=2, gram=1, string_mechanism=ORR(2, 3, epsilon=1.0)),
    "out-of-reach": single(KRR(GRAMS, 1.0), RAPPOR(6, 3, 1, f=0.0, p=0.25, q=0.75)),
}
