"""Test that two groups of respondents have the same distribution, and how they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ldpstats.arguments.checks import level, one_of
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.data import Data
from ldpstats.models.frequency.differences import difference_rows
from ldpstats.models.frequency.homogeneity import METHODS, compared, homogeneity
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.spelling import names_alpha

__all__ = ["TwoSampleResult", "two_sample_test"]


@dataclass(frozen=True, slots=True)
class TwoSampleResult(TestResult):
    """Outcome of a test of two groups, and the frequencies of both.

    Parameters
    ----------
    null, statistic, df, pvalue, method, note
        As in `TestResult`.
    groups : tuple of two FrequencyResults
        The fits of the first and the second group; empty where the reports do not determine the
        frequencies of each, which a test of their reports can do without.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("a", "b"), epsilon=1.0)
    >>> test = ldp.two_sample_test(krr.counts([500, 400]), krr.counts([450, 450]))
    >>> test.differences().round(3)
       estimate     se  lower  upper  pvalue
    a      0.12  0.051   0.02   0.22   0.018
    b     -0.12  0.051  -0.22  -0.02   0.018
    """

    groups: tuple[FrequencyResults, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        TestResult.__post_init__(self)
        kinds = [type(one) for one in self.groups] if isinstance(self.groups, tuple) else None
        if kinds not in ([], [FrequencyResults] * 2):
            remedy = "must be the FrequencyResults of two groups, or an empty tuple"
            raise InvalidArgument("groups", self.groups, remedy)

    @names_alpha
    def differences(self, alpha: float = 0.05) -> pd.DataFrame:
        """Frequencies of the first group minus those of the second.

        Estimates and standard errors are those of the unconstrained estimates. The interval holds
        all differences that two one-sided score tests of level alpha/2 do not reject, with the
        variances and the skewness that both estimates have then; the p-value is that of no
        difference, and agrees with the interval. Neither is adjusted for the number of categories.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.

        Returns
        -------
        DataFrame, one row per category
            "estimate", "se", "lower", "upper", "pvalue".

        Raises
        ------
        NotAvailable
            Where the reports do not determine the frequencies, or they have no standard errors.

        References
        ----------
        Miettinen, O. and Nurminen, M. (1985), Statistics in Medicine 4, 213-226.
        """
        if not self.groups:
            raise NotAvailable("the reports do not determine the frequencies of each group")
        first, second = self.groups
        return difference_rows(first, second, level(alpha))

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values, with the documents of both groups."""
        return TestResult.to_dict(self) | {"groups": [group.to_dict() for group in self.groups]}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TwoSampleResult:
        """The result that `to_dict` wrote."""
        groups = document.get("groups") if isinstance(document, Mapping) else None
        if not isinstance(groups, list):
            remedy = "must be what TwoSampleResult.to_dict wrote"
            raise InvalidArgument("document", document, remedy)
        rest = {name: value for name, value in document.items() if name != "groups"}
        test = TestResult.from_dict(rest)
        return _told(test, tuple(FrequencyResults.from_dict(group) for group in groups))


def _told(test: TestResult, groups: tuple[FrequencyResults, ...]) -> TwoSampleResult:
    """The test with the fits of its groups."""
    return TwoSampleResult(
        test.null, test.statistic, test.df, test.pvalue, test.method, test.note, groups
    )


def two_sample_test(
    first: Data | Sequence[Data],
    second: Data | Sequence[Data],
    method: str = "default",
    candidates: Any = None,
) -> TwoSampleResult:
    """Test that two groups of respondents have the same distribution.

    Parameters
    ----------
    first, second : Reports, Counts or BitCounts, or lists of them
        Reports of the two groups, over the same categories, of different persons.
    method : {"default", "pearson", "wald"}
        "pearson": chi-square on the privatised 2 x l table; needs one mechanism for both groups.
        "wald": difference of the linear estimates with the covariance pooled under the null; the
        groups may have different mechanisms or epsilon. The default is "pearson" where it applies,
        a score test of whole reports of bits or blocks by the same mechanisms, and else "wald".
        Categories that are expected in fewer than five reports are tested together.
    candidates : sequence of str or CandidateMap, optional
        Values to compare the frequencies of; for mechanisms with an open alphabet only.

    Returns
    -------
    TwoSampleResult
        A `TestResult` whose `differences` are those of the frequencies, with intervals.

    Raises
    ------
    InvalidArgument
        If a group is empty, the method unknown, or the `ids` of the groups overlap: the answers of
        the same persons are not independent, see `AssociationModel`.
    MechanismMismatch
        For groups over different categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    >>> test = ldp.two_sample_test(krr.counts([50, 30, 20]), krr.counts([20, 40, 40]))
    >>> test.df
    2.0
    """
    method = one_of("method", method, METHODS)
    models = compared({"first": first, "second": second}, candidates)
    test = homogeneity(models, method)
    try:
        return _told(test, tuple(model.fit_quietly() for model in models))
    except (NotAvailable, NotIdentified):
        return _told(test, ())
