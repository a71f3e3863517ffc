"""k-ary randomised response, the designs of yes/no questions, and variables without protection.

A design of survey practice is a 2 x 2 channel. The second category is the "yes" of the question;
the categories are ("no", "yes") unless others are given.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldpstats.arguments import (
    EPSILON_RANGE,
    Array,
    named_only,
    positive_epsilon,
    probability,
    record,
)
from ldpstats.channels.structured import Dense, Uniformised
from ldpstats.errors import InvalidArgument
from ldpstats.hints import guided
from ldpstats.labels import Labels, as_labels, sensitive_labels
from ldpstats.mechanisms.base import check_labels, set_fields, threshold_of
from ldpstats.mechanisms.custom import CustomMechanism, Enumerated
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import Words


@guided
@record
class KRR(Enumerated):
    """k-ary randomised response (KBR16 eq. 4): the true category, or a uniform other one.

    ``P(y | x) = e^eps / (e^eps + k - 1)`` if y = x, else ``1 / (e^eps + k - 1)``.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    epsilon : float
        Privacy of one report, in nats.

    Examples
    --------
    >>> krr = KRR(("nurse", "teacher", "driver"), epsilon=np.log(2))
    >>> krr.channel().matrix()
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """

    categories: Any
    epsilon: float

    def __post_init__(self) -> None:
        check_labels(self)

    @cached_property
    def _channel(self) -> Uniformised:
        small = np.exp(-self.epsilon)  # in powers of e^-eps, which cannot overflow
        total = 1.0 + (self.k - 1) * small
        return Uniformised(self.k, float(-np.expm1(-self.epsilon) / total), float(small / total))

    def _keep(self) -> int:
        Q = self._channel
        return threshold_of(Q.a, self.k * float(Q.b))

    def sample(self, codes: Array, words: Words) -> Array:
        return samplers.sample_krr(codes, self.k, self._keep(), words)

    def _draw_document(self) -> dict[str, Any]:
        return {"kind": "keep", "k": self.k, "keep": str(self._keep())}


# -- Randomised response for a yes/no question: the designs of survey practice --------------------


_NO_YES = ("no", "yes")


class _Binary(Enumerated):
    """A yes/no design."""

    _unwritten: ClassVar[dict[str, Any]] = {"categories": list(_NO_YES)}

    def _label(self) -> None:
        """Check the two categories."""
        labels = as_labels("categories", self.categories)
        if len(labels) != 2:
            remedy = "must be two labels, that of a yes second, for example (0, 1)"
            raise InvalidArgument("categories", self.categories, remedy)
        set_fields(self, categories=labels)


class _Device(_Binary):
    """A design whose epsilon follows from its probabilities."""

    @cached_property
    def _channel(self) -> Dense:
        return Dense(np.array(self._law()))

    @abstractmethod
    def _law(self) -> list[list[float]]:
        """Probabilities of a report no and yes, of a no and of a yes."""

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self._channel.epsilon()


@guided
@named_only("Warner(epsilon=1.0)", "Warner(p=0.8)")
@dataclass(frozen=True, eq=False, kw_only=True)
class Warner(_Binary):
    """Warner's randomised response: the truth with a known probability, else the opposite.

    Give either `epsilon` or `p`, by name.

    Parameters
    ----------
    epsilon : float
        Privacy of one report, in nats: the truth has probability ``e^eps / (1 + e^eps)``.
    p : float
        Probability that a report is true, in (0, 1) but not 1/2, where reports would say nothing.
        Below 1/2 most reports are the opposite of the answer. Then `epsilon` is
        ``|ln(p / (1 - p))|``.
    categories : sequence of two labels, optional
        The answers, that of a "yes" second: (0, 1), (False, True), ("No", "Yes"), and so on.

    References
    ----------
    Warner (1965), JASA 60, 63-69; KBR16 section 3 (eq. 3, with eta = e^eps / (1 + e^eps)).

    Examples
    --------
    >>> Warner(epsilon=np.log(3)).channel().matrix().round(4)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    >>> Warner(p=0.8).channel().matrix().round(4)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    >>> round(Warner(p=0.8).epsilon, 4)   # ln 4
    1.3863
    """

    p: float | None = None
    epsilon: float = None  # type: ignore[assignment]  # never None once it is made
    categories: Any = _NO_YES
    _unwritten: ClassVar = {"epsilon": None, "p": None, **_Binary._unwritten}

    def __post_init__(self) -> None:
        self._label()
        if (self.epsilon is None) == (self.p is None):
            name, value = ("epsilon", None) if self.p is None else ("p", self.p)
            remedy = "give either epsilon or p: Warner(epsilon=1.0) or Warner(p=0.8)"
            raise InvalidArgument(name, value, remedy)
        if self.p is None:
            set_fields(self, epsilon=positive_epsilon("epsilon", self.epsilon))
            return
        p = probability("p", self.p, zero=False, one=False)
        epsilon = float(abs(np.log(p / (1.0 - p))))
        low, high = EPSILON_RANGE
        if not low <= epsilon <= high:
            remedy = f"has epsilon {epsilon:.3g}, which must be from {low:g} to {high:g}"
            raise InvalidArgument("p", p, remedy)
        set_fields(self, p=p, epsilon=epsilon)

    def _specification(self) -> dict[str, Any]:
        document = super()._specification()
        if self.p is not None:  # epsilon follows from it
            del document["epsilon"]
        return document

    @cached_property
    def _channel(self) -> Dense:
        lie = np.exp(-self.epsilon) / (1.0 + np.exp(-self.epsilon))
        truth = 1.0 / (1.0 + np.exp(-self.epsilon))
        if self.p is not None:
            truth, lie = self.p, 1.0 - self.p
        return Dense(np.array([[truth, lie], [lie, truth]]))

    def sample(self, codes: Array, words: Words) -> Array:
        return self._drawn.sample(codes, words)

    def _draw_document(self) -> dict[str, Any]:
        return self._drawn._draw_document()

    @cached_property
    def _drawn(self) -> Enumerated:
        """The mechanism of the same law that draws the reports."""
        if self.p is not None and self.p < 0.5:
            return CustomMechanism(self._channel.Q, self.categories)
        return KRR(self.categories, self.epsilon)


@guided
@named_only("ForcedResponse(p_truth=0.75, p_yes=0.125)")
@dataclass(frozen=True, eq=False, kw_only=True)
class ForcedResponse(_Device):
    """Forced response: a device tells the respondent to answer truthfully, "yes" or "no".

    Parameters
    ----------
    p_truth : float
        Probability of being told to answer truthfully, in (0, 1].
    p_yes : float
        Unconditional probability of being told to say "yes"; "no" has the rest,
        ``1 - p_truth - p_yes``. So P(yes | yes) = p_truth + p_yes and P(yes | no) = p_yes.
    categories : sequence of two labels, optional
        The answers, that of a "yes" second: (0, 1), (False, True), ("No", "Yes"), and so on.

    References
    ----------
    Boruch (1971), The American Sociologist 6, 308-311.

    Examples
    --------
    A die: truth on 1 to 4, "yes" on 5, "no" on 6.

    >>> design = ForcedResponse(p_truth=4/6, p_yes=1/6)
    >>> round(design.epsilon, 4)   # ln 5
    1.6094
    """

    p_truth: float
    p_yes: float
    categories: Any = _NO_YES

    def __post_init__(self) -> None:
        self._label()
        set_fields(self, p_truth=probability("p_truth", self.p_truth, zero=False))
        set_fields(self, p_yes=probability("p_yes", self.p_yes))
        if self.p_truth + self.p_yes > 1.0 + 1e-12:
            raise InvalidArgument(
                "p_truth + p_yes",
                self.p_truth + self.p_yes,
                "cannot exceed one: both are shares of all respondents; if c is the share of yes "
                "among the forced answers, pass p_yes=(1 - p_truth) * c",
            )

    def _law(self) -> list[list[float]]:
        return [[1.0 - yes, yes] for yes in (self.p_yes, min(self.p_truth + self.p_yes, 1.0))]


@guided
@named_only("UnrelatedQuestion(p=0.7, prevalence=0.25)")
@dataclass(frozen=True, eq=False, kw_only=True)
class UnrelatedQuestion(_Device):
    """Unrelated question: with probability p the sensitive question, else an innocuous one.

    Parameters
    ----------
    p : float
        Probability of being asked the sensitive question, in (0, 1].
    prevalence : float
        Known share of "yes" to the unrelated question.
    categories : sequence of two labels, optional
        The answers, that of a "yes" second: (0, 1), (False, True), ("No", "Yes"), and so on.

    References
    ----------
    Greenberg, Abul-Ela, Simmons, Horvitz (1969), JASA 64, 520-539.

    Examples
    --------
    >>> UnrelatedQuestion(p=0.7, prevalence=0.25).channel().matrix().round(3)
    array([[0.925, 0.075],
           [0.225, 0.775]])
    """

    p: float
    prevalence: float
    categories: Any = _NO_YES

    def __post_init__(self) -> None:
        self._label()
        set_fields(self, p=probability("p", self.p, zero=False))
        set_fields(self, prevalence=probability("prevalence", self.prevalence))

    def _law(self) -> list[list[float]]:
        other = (1.0 - self.p) * self.prevalence
        return [[1.0 - yes, yes] for yes in (other, min(self.p + other, 1.0))]


@guided
@named_only("Mangat(p=0.6)")
@dataclass(frozen=True, eq=False, kw_only=True)
class Mangat(_Device):
    """Mangat's design: a "yes" says yes; a "no" uses a device and says yes with chance 1 - p.

    P(yes | yes) = 1, so a report "no" is surely true and epsilon is infinite; a report "yes" can
    be denied, which protects the respondents whose true answer is "yes". What they are promised is
    utility-optimised LDP with ``epsilon = -ln(1 - p)`` (MK19 Definition 2): `privacy.uldp` takes
    the "yes" for sensitive. `URR` with the "yes" as its only sensitive category is the same
    channel, and declares that epsilon.

    Parameters
    ----------
    p : float
        Probability, in (0, 1), that the device lets a "no" say no.
    categories : sequence of two labels, optional
        The answers, that of a "yes" second: (0, 1), (False, True), ("No", "Yes"), and so on.

    References
    ----------
    Mangat (1994), Journal of the Royal Statistical Society B 56, 93-95.

    Examples
    --------
    >>> Mangat(p=0.6).channel().matrix()
    array([[0.6, 0.4],
           [0. , 1. ]])
    >>> from ldpstats import privacy
    >>> round(privacy.uldp(Mangat(p=0.6)).epsilon, 6)   # ln(1 / 0.4)
    0.916291
    """

    p: float
    categories: Any = _NO_YES

    def __post_init__(self) -> None:
        self._label()
        set_fields(self, p=probability("p", self.p, zero=False, one=False))

    @property
    def shielded(self) -> Labels:
        """The "yes": a report that a holder of the trait makes is one that others make too."""
        return sensitive_labels(np.array([1]), self.categories)

    def _law(self) -> list[list[float]]:
        # 1 - (1 - p) would lose a small p, and with it that epsilon is infinite
        return [[self.p, 1.0 - self.p], [0.0, 1.0]]


# -- A variable without protection, for questions that need none ----------------------------------


@guided
@record
class Observed(Enumerated):
    """An unprotected variable: the report is the answer. It gives no privacy.

    Epsilon is infinite, and using this class is the consent to that: clients, collectors and the
    command line run it without further permission. It joins a public variable, or the answers of a
    group that was asked directly, to privatised ones in every model.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.

    Raises
    ------
    InvalidArgument
        For categories that are fewer than two, repeat, or are no labels.

    Examples
    --------
    >>> region = Observed(("north", "south"))
    >>> region
    Observed(k=2, no privacy)
    >>> reports = region.privatize(["north", "south", "north"], np.random.default_rng(1))
    >>> reports.y.tolist()
    [0, 1, 0]
    """

    categories: Any

    def __post_init__(self) -> None:
        set_fields(self, categories=as_labels("categories", self.categories))

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return float("inf")

    @property
    def unprotected(self) -> bool:
        return True

    @cached_property
    def _channel(self) -> Uniformised:
        return Uniformised(self.k, 1.0, 0.0)

    def sample(self, codes: Array, words: Words) -> Array:
        return np.array(codes, dtype=np.int64)  # their range is checked with the reports

    def _draw_document(self) -> dict[str, Any]:
        return {"kind": "same"}

    def __str__(self) -> str:
        return f"Observed(k={self.k}, no privacy)"

    __repr__ = __str__
