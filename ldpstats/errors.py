"""Exceptions and warnings.

Every message names the argument, the value it had and what to do about it. All exceptions derive
from `ValueError` or `TypeError`, so that existing code that catches those keeps working.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "HIDDEN",
    "BoundaryWarning",
    "BudgetSpent",
    "ConvergenceWarning",
    "IncompleteListWarning",
    "InvalidArgument",
    "LDPError",
    "LDPWarning",
    "MechanismMismatch",
    "MisfitWarning",
    "NotAvailable",
    "NotConverged",
    "NotIdentified",
    "PosteriorWarning",
    "UnknownCategory",
]


MOST_CHARACTERS = 2000  # of a message: longer ones flood a log


class _Hidden:
    """Stands for an answer in a message."""

    def __repr__(self) -> str:
        return "(not shown)"


HIDDEN = _Hidden()
"""Stands for an answer in a message about a client's or collector's own work.

Examples
--------
>>> from ldpstats.errors import HIDDEN, InvalidArgument
>>> print(InvalidArgument("value", HIDDEN, "is not among the categories"))
value=(not shown): is not among the categories
"""


class LDPError(ValueError):
    """Base of every error that ldpstats raises on purpose.

    A message has at most 2,000 characters; longer ones are cut in the middle.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> try:
    ...     ldp.KRR(("no", "yes"), epsilon=-1.0)
    ... except ldp.LDPError as error:
    ...     print(error)
    epsilon=-1.0: must be a number from 1e-06 to 50 (in nats), for example 1.0
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(cut(message, MOST_CHARACTERS))


class InvalidArgument(LDPError):
    """An argument has a value that cannot be used.

    Parameters
    ----------
    name : str
        The argument, as the caller spelled it.
    value : object
        What was passed; long values are shortened in the message.
    remedy : str
        What to pass instead.
    unquoted : str, optional
        The remedy in words that quote nothing of the value, where it is not to be shown.

    Examples
    --------
    >>> print(InvalidArgument("epsilon", -1.0, "must be a positive finite number, for example 1.0"))
    epsilon=-1.0: must be a positive finite number, for example 1.0
    """

    def __init__(self, name: str, value: object, remedy: str, unquoted: str | None = None) -> None:
        self.name = name
        self.remedy = remedy
        self.unquoted = remedy if unquoted is None else unquoted
        super().__init__(f"{name}={shorten(value)}: {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        # by default a copy, such as one from another process, would be made of the message alone
        return _restored, (type(self), self.args, self.__dict__)


class UnknownCategory(InvalidArgument):
    """A value or a report is not among the labels that the mechanism knows.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> try:
    ...     ldp.KRR(("no", "yes"), epsilon=1.0).parse("used", ["yes", "maybe"])
    ... except ldp.UnknownCategory as error:
    ...     print(error)
    used, row 2='maybe': is not among the 2 labels 'no', 'yes' (1 such value); correct it, or make
    the mechanism with the labels of the data (categories=...); if it means a missing answer, leave
    it empty, or give Survey na={'used': ['maybe']}
    """


class BudgetSpent(LDPError):
    """A client has made all the reports that it may make.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> device = ldp.KRR(("no", "yes"), epsilon=1.0).client()
    >>> report = device.report("yes")
    >>> try:
    ...     device.report("yes")
    ... except ldp.BudgetSpent as error:
    ...     print(error)
    reports=1: all were made; each report spends epsilon once more. client(reports=...) sets
    how many a respondent may make, collector() is for the answers of many respondents
    """


class MechanismMismatch(LDPError):
    """Counts or reports of one mechanism met another mechanism.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> monday = ldp.KRR(("no", "yes"), epsilon=1.0).counts([600, 400])
    >>> tuesday = ldp.KRR(("no", "yes"), epsilon=2.0).counts([700, 300])
    >>> try:
    ...     monday + tuesday
    ... except ldp.MechanismMismatch as error:
    ...     print(error)
    counts of KRR(k=2, epsilon=1) (fingerprint c7b19dd13755) cannot be added to counts of
    KRR(k=2, epsilon=2) (fingerprint af2c2dd2e727): fit them together as
    FrequencyModel([first, second]) instead
    """


class NotIdentified(LDPError):
    """The reports do not determine the distribution (rank deficiency or singular information).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> useless = ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]], categories=("no", "yes"))
    >>> try:
    ...     ldp.FrequencyModel(useless.counts([600, 400])).fit()
    ... except ldp.NotIdentified as error:
    ...     print(error)
    the 2 equations for 2 categories have rank 1: 1 more independent outputs, bits or cohorts
    are needed; collect them, or merge categories that give the same reports
    """


class NotConverged(LDPError):
    """An iteration stopped before its result could be used: the message says how far it got.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> issubclass(ldp.NotConverged, ldp.LDPError)
    True
    """


class NotAvailable(LDPError):
    """The method exists, but is not defined for this mechanism, estimator or kind of counts.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> model = ldp.FrequencyModel(ldp.KRR(("no", "yes"), epsilon=1.0).counts([600, 400]))
    >>> try:
    ...     model.fit("composite")
    ... except ldp.NotAvailable as error:
    ...     print(error)
    the composite likelihood needs unary reports, with one bit per category (KRAPPOR and its
    relatives); use method 'mle'
    """


class LDPWarning(UserWarning):
    """Base of every warning that ldpstats issues.

    Examples
    --------
    To treat warnings of the package as errors, and those of others as before:

    >>> import warnings
    >>> import ldpstats as ldp
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ldp.LDPWarning)
    ...     fitted = ldp.FrequencyModel(ldp.Warner(epsilon=1.0).counts([600, 400])).fit()
    """


class ConvergenceWarning(LDPWarning):
    """An iterative estimator stopped before its certificate was reached.

    Examples
    --------
    >>> import warnings
    >>> import ldpstats as ldp
    >>> from ldpstats.estimators import EM
    >>> model = ldp.FrequencyModel(ldp.KRR(4, epsilon=0.1).counts([260, 250, 250, 240]))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     results = model.fit(EM(max_iter=3))
    >>> print(caught[0].category.__name__, caught[0].message)
    ConvergenceWarning EM, 4 steps: gap 4.3e-04 per report, 4.3e-01 nats in all; not
    converged, 1.0e-06 per report was wanted
    """


class BoundaryWarning(LDPWarning):
    """An interval or a test leans on asymptotics that fail where an estimate is zero.

    Examples
    --------
    >>> import warnings
    >>> import ldpstats as ldp
    >>> results = ldp.FrequencyModel(ldp.KRR(3, epsilon=1.0).counts([620, 190, 190])).fit()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     intervals = results.conf_int(method="wald-mle")
    >>> print(caught[0].message)
    method='wald-mle' with an estimate of zero: its coverage is not the nominal one on the
    boundary; the default interval keeps its coverage
    """


class IncompleteListWarning(LDPWarning):
    """The candidates are not all answers, and a method needs that, or more cohorts.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, ldpstats as ldp
    >>> rappor = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    >>> reports = rappor.privatize(["a", "b"] * 500, np.random.default_rng(1))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     results = ldp.FrequencyModel(reports, candidates=["a", "c"], incomplete=True).fit()
    >>> print(caught[0].message)
    the list of candidates is not complete, and only 4 of the cohorts have reports, fewer than
    8: tests and intervals do not keep their level; collect reports in more cohorts or cells,
    or list more of the answers
    """


class MisfitWarning(LDPWarning):
    """The reports look as the mechanism cannot make them: goodness of fit has p < .001.

    Examples
    --------
    >>> import warnings
    >>> import ldpstats as ldp
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     results = ldp.FrequencyModel(ldp.KRR(3, epsilon=0.5).counts([900, 90, 10])).fit()
    >>> print(caught[0].message)
    goodness of fit has p = 3.8e-120: the reports contradict the hypothesis that the reports
    were made by this mechanism (Bonferroni on the most negative estimate); check that its
    parameters are those with which the reports were made
    """


class PosteriorWarning(LDPWarning):
    """Draws from a posterior that are not to be relied on: chains disagree, or draws are few.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, ldpstats as ldp
    >>> model = ldp.FrequencyModel(ldp.Warner(epsilon=1.0).counts([600, 400]))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ldp.PosteriorWarning)  # stop, rather than go on
    ...     posterior = model.fit_posterior(np.random.default_rng(1))
    """


def shorten(value: object, width: int = 60) -> str:
    """Return ``repr(value)`` on one line, cut in the middle if it is longer than `width`."""
    try:
        text = repr(value)
    except Exception:  # somebody else's object
        text = f"<{type(value).__name__}>"
    return cut(" ".join(text.split()), width)


def cut(text: str, width: int) -> str:
    """Return `text`, cut in the middle if it is longer than `width`."""
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def _restored(
    kind: type[InvalidArgument], args: tuple[Any, ...], state: dict[str, Any]
) -> InvalidArgument:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error
