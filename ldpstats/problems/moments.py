"""What every set of linear equations answers, whatever reports it is of.

A model asks its equations and never their class: what inference rests on, which laws are known, and
what can be tested of the reports whatever p is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain, Unexplained
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.reach import Pair
from ldpstats.problems.report_law import ReportLaw
from ldpstats.problems.simplex import project_simplex
from ldpstats.problems.tallies import Tallies

__all__ = ["LARGEST_LIST", "CellBounds", "Check", "Estimable", "Misfit", "Moments", "OwnCounts"]

Array = npt.NDArray[Any]

LARGEST_LIST = 1 << 20  # numbers that a list of all possible reports may take


class Check(Enum):
    """What can be tested of the reports, whatever p is."""

    LAWS = "the distance of labels from the laws that the channel can make"
    NEGATIVE = "the most negative estimate"
    ONES = "the number of ones in reports of bits"
    SUM = "the sum of the estimates"
    CELLS = "the residuals of hashed cells"


@dataclass(frozen=True, eq=False)
class OwnCounts:
    """A binomial count of each category: a share ``offset + slope p`` of `nobs` reports.

    `precision`, shape (k,), is that of the estimates at the uniform p.
    """

    nobs: int
    offset: Array
    slope: Array
    precision: Array


@dataclass(frozen=True, eq=False)
class Estimable:
    """What a source says of p: ``C p = G estimate`` on average; all of p unless `partial`."""

    C: Array
    G: Array
    estimate: Array
    covariance: Covariance
    partial: bool


@dataclass(frozen=True, eq=False)
class CellBounds:
    """Hashed cells, (C, m), of which any answers whatever set a share from `absent` to `present`.

    `most` cells are owned by an answer at most; None for labels, of which a report sets one.
    """

    ones: Array
    reports: Array
    absent: float
    present: float
    most: int | None


@dataclass(frozen=True, eq=False)
class Misfit:
    """How far the frequencies are from all laws that the candidates can make.

    `statistic` is the weighted residual sum of squares, with its `mean` and `variance` if the
    candidates (and, over an open alphabet, answers that hash evenly) explain the reports.
    """

    statistic: float
    mean: float
    variance: float
    per_answer: float = np.inf  # what an answer that all hold and nobody listed adds on average
    n_sources: int = 1  # mechanisms whose reports are tested at once

    @property
    def least_unlisted(self) -> float:
        """The smallest share of answers that are not listed that makes such a statistic.

        Shares q of several answers add in proportion to the sum of their squares, which is the
        largest where there is one answer only.
        """
        return float(np.sqrt(max(self.statistic - self.mean, 0.0) / self.per_answer))

    @property
    def df(self) -> float:
        """Degrees of freedom of the multiple of a chi-square that has this mean and variance."""
        return 2.0 * self.mean**2 / self.variance

    @property
    def chi_square(self) -> float:
        """The statistic, scaled to the mean of a chi-square with `df` degrees of freedom."""
        return self.statistic / (self.mean / self.df)

    @property
    def pvalue(self) -> float:
        """Upper tail of that chi-square."""
        from scipy.special import chdtrc

        return float(chdtrc(max(self.df, 1.0), self.chi_square))

    @property
    def dispersion(self) -> float:
        """The statistic over its mean."""
        return self.statistic / self.mean


class Moments(ABC):
    """Linear equations in p that the frequencies of reports satisfy on average.

    What matters of them is the unbiased linear estimate of p and its covariance. The rest has an
    answer here that fits equations about which nothing more is known.
    """

    # annotations only: a subclass has them as fields or as properties
    kind: str  # "labels", "bits", "cohorts" or "pooled": what the frequencies are of
    nobs: int  # number of reports

    is_open: bool = False  # whether answers may not be among the candidates
    linear_method: ClassVar[str] = "inversion"  # what the linear estimate is called

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of categories or candidates."""

    @abstractmethod
    def estimate(self) -> tuple[Array, str]:
        """The linear estimate, shape (k,), and how well it fits, in words."""

    @abstractmethod
    def covariance(self, p: Array | None = None) -> Covariance:
        """Covariance of the linear estimate if the frequencies are p.

        By default p is `plug_in`.
        """

    def estimate_variances(self, p: Array | None = None) -> Array:
        """Variances of the linear estimate if the frequencies are p, shape (k,)."""
        return self.covariance(p).variances()

    @property
    def has_covariance(self) -> bool:
        """Whether the categories are few enough for covariances, where there are variances."""
        return self.has_errors

    def null_standard_errors(self) -> Array:
        """Standard error of each entry of the linear estimate if its own p_j were zero, shape (k,).

        By default that at `plug_in`: among many candidates one absent more or less changes nothing.
        """
        return np.sqrt(self.covariance().variances())

    def plug_in(self) -> Array:
        """The linear estimate projected onto the simplex.

        Where the estimate is a distribution, covariances at this p are the plug-in of the observed
        frequencies; elsewhere it keeps reports that were not seen from passing for impossible ones.
        """
        return project_simplex(self.estimate()[0])

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        """Least and largest linear estimate that one report alone can make, shape (k,) both.

        With a pair of positions that of the difference of the two, shape (1,). Where there are
        cohorts, the mean over cohorts.
        """
        raise NotAvailable(
            f"what one report can do to estimates of kind {self.kind!r} is not known"
        )

    @property
    def condition(self) -> float:
        """Condition number of the map from p to the law of the reports; about, where p is long.

        What is wrong in the entries of a channel is multiplied by it in the estimate, and so is the
        noise of the reports. One where it is not known.
        """
        return 1.0

    @property
    def is_dense(self) -> bool:
        """Whether every report may tell of every category, so that a matrix ties p to them."""
        return False

    @property
    def has_blocks(self) -> bool:
        """Whether a label tells of several categories at once."""
        return False

    @property
    def has_errors(self) -> bool:
        """Whether the categories are few enough for standard errors."""
        return True

    # -- several sources ---------------------------------------------------------------------

    @property
    def parts(self) -> tuple[Moments, ...]:
        """The equations that were pooled to these, each of which can be tested alone."""
        return (self,)

    def merged(self, others: Sequence[Moments]) -> Moments | None:
        """One problem with others of the same form; None where only estimates can be pooled."""
        return None

    def matched(self, other: Moments) -> tuple[Moments, Moments] | None:
        """These equations and another group's, weighted so that answers not listed cancel."""
        return None

    def estimable(self, p: Array, contrasts: Array) -> Estimable:
        """The contrasts, shape (g, k), of p; or what the equations do tell, if they leave p open.

        The covariance is that at p.
        """
        return Estimable(contrasts, contrasts, self.estimate()[0], self.covariance(p), False)

    # -- tests of the reports, and of p --------------------------------------------------------

    @property
    def checks(self) -> tuple[Check, ...]:
        """What can be tested of the reports, whatever p is."""
        return ()

    def misfit(self) -> Misfit | None:
        """Goodness of fit of candidates; None where nothing can be tested."""
        return None

    def cell_bounds(self) -> tuple[CellBounds, ...]:
        """What any answers whatever could make of hashed cells, over an open alphabet."""
        return ()

    def labels_under(self, p: Array) -> tuple[Array, Array] | None:
        """Counts of the reports and their law under p, (k,); None but for a label each category."""
        return None

    def rules_out(self, p: Array) -> bool:
        """Whether a category was reported that p makes impossible."""
        return False

    def information(self, p: Array) -> Array | None:
        """Expected Fisher information of all reports at p, (k, k); None if unknown."""
        return None

    def pinned(self, p: Array) -> npt.NDArray[np.bool_]:
        """Categories, shape (k,), that p makes impossible to hold, so that they do not vary."""
        return np.zeros(p.size, dtype=bool)

    # -- laws of the estimate ------------------------------------------------------------------

    def exact_form(self) -> ExactForm | None:
        """The categories whose linear estimate is an affine function of one binomial count.

        An estimate that weights all reports with two weights only counts the reports of the larger
        weight, and its mean gives the law of that count: ``P(counted) = offset + scale p_x``.
        """
        return None

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        """What each possible report adds to the linear estimate, and how probable it is under p.

        Of every independent source its number of reports, what one report of each kind adds, shape
        (u, k) and up to a constant, and the law of these kinds, (u,). None where there are too many
        kinds to list, or only sums were kept whose reports are unknown.
        """
        return None

    def own_counts(self) -> OwnCounts | None:
        """The binomial counts, where each category has one of its own that nothing else enters."""
        return None

    def report_law(self, p: Array | None = None) -> ReportLaw | None:
        """The law of the linear estimate near p; None where it is not that of labels."""
        return None

    def tally(self, linear: Uncertain, p: Array | None = None) -> Tallies | None:
        """Counts that the linear estimate rests on, as its skewness depends on them, near p."""
        return None

    # -- answers that are not listed -----------------------------------------------------------

    @property
    def collisions(self) -> float:
        """Sum of the squared frequencies of the answers that are not listed; zero without."""
        return 0.0

    @property
    def dispersion(self) -> float:
        """How much larger variances are, on average, than those of the reports alone."""
        return 1.0

    def dispersion_by(self, collisions: float) -> float:
        """The same with the weights of these equations, for collisions that are known."""
        return 1.0

    def for_inference(self, incomplete: bool = False) -> Moments:
        """The equations that inference rests on: they allow for others where there are any."""
        return self

    def unexplained(self, linear: Uncertain) -> Unexplained | None:
        """Share of the answers that are not among the candidates; None over a closed list."""
        return None

    def caution(self, others: bool) -> str:
        """Why tests may not keep their level if `others` than the candidates are held; else ""."""
        return ""

    def wald_law(self) -> tuple[float, float] | None:
        """Law of the Wald statistic of all candidates, where it is not chi-square.

        Degrees of freedom of the residuals, and the variance of the statistic over 2 k.
        """
        return None
