"""Reports of utility-optimised mechanisms for an analysis together with reports under LDP."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import as_labels, sensitive_codes
from ldpstats.channels.certificate import uldp
from ldpstats.channels.processing import sequential
from ldpstats.channels.structured import Dense
from ldpstats.channels.subsets import Subsets
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.enumerated import CustomMechanism, Enumerated
from ldpstats.reports.formats import format_bits
from ldpstats.reports.single import Reports

__all__ = ["paired", "withhold"]

Array = npt.NDArray[Any]

_MOST_BITS = 12  # bits whose 2^b patterns become labels
_MOST_OUTPUTS = 1 << 17  # labels of pairs


def withhold(reports: Reports, sensitive: Any = None, label: Any = "withheld") -> Reports:
    """Replace the reports that reveal an answer by one that only says so.

    A collector may pass on its protected reports alone, to be analysed with reports under LDP (MK19
    section 3.2). Left out, the others would make sensitive categories look more frequent. Counted
    as one report they do not: nobody is dropped, and the channel stays known exactly. Fit them as
    ``FrequencyModel([withhold(reports), others])``, which is one likelihood over both sources.

    Parameters
    ----------
    reports : Reports
        Of `URR`, `URAP` with up to 12 sensitive categories, or another mechanism whose reports are
        labels.
    sensitive : set or sequence of labels, optional
        The sensitive categories, for mechanisms that do not say; by default the mechanism's.
    label : label
        Name of the report that replaces the others; it comes last.

    Returns
    -------
    Reports
        Of the same respondents in the same order, under a `CustomMechanism` with the k categories
        and the protected reports and `label` as outputs; those of URAP as bits, as in files. Where
        no report reveals anything, the reports as they are.

    Raises
    ------
    InvalidArgument
        For no reports, a mechanism that does not provide utility-optimised LDP, or a label that is
        a category or a report already.
    NotAvailable
        Where the protected reports are too many to list.

    Notes
    -----
    Categories that are not sensitive differ only in the reports that are withheld and in no
    others: with two or more, a fit raises `NotIdentified` unless another source in the same list
    tells them apart.

    What `label` itself says is that the answer is none of the sensitive ones, which is less than
    what it replaces says. It is neither protected nor invertible, so that `privacy.uldp` of the new
    channel is infinite, unless just one category can make it. What holds is one-sided: no report
    favours a sensitive category over any other by more than epsilon. A respondent with a sensitive
    answer never makes that report: hers are all protected, and together with one under LDP they
    keep ``eps_A + eps_B`` (MK19 Proposition 12). In this sense the analysis is under LDP; for
    answers that are not sensitive it is not.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> jobs, rng = ("nurse", "teacher", "driver", "cook"), np.random.default_rng(1)
    >>> urr = ldp.URR(jobs, {"nurse", "cook"}, epsilon=np.log(3))
    >>> shared = withhold(urr.privatize(["nurse"] * 600 + ["driver"] * 400, rng))
    >>> shared.mechanism.outputs.tolist()
    ['nurse', 'cook', 'withheld']
    >>> shared.mechanism.channel().matrix()
    array([[0.75, 0.25, 0.  ],
           [0.25, 0.25, 0.5 ],
           [0.25, 0.25, 0.5 ],
           [0.25, 0.75, 0.  ]])
    >>> others = ldp.KRR(jobs, epsilon=1.0).privatize(["nurse"] * 300 + ["driver"] * 200, rng)
    >>> ldp.FrequencyModel([shared, others]).fit().nobs
    1500
    """
    mechanism, name = _mechanism("reports", reports), as_labels("label", [label], least=1)[0]
    own = mechanism.sensitive if sensitive is None else sensitive
    if own is None and np.isfinite(mechanism.epsilon):
        return reports
    certificate = uldp(mechanism, own)
    if not certificate.holds:
        raise InvalidArgument(
            "reports",
            str(mechanism),
            f"no utility-optimised LDP, as {certificate.reason}; see uldp",
        )
    if not certificate.n_invertible:
        return reports
    Q, codes, outputs = _listed(reports)
    withheld = uldp(Dense(Q), certificate.sensitive).invertible
    kept = np.delete(np.arange(len(outputs)), withheld)
    taken = {str(v) for v in mechanism.categories} | {str(outputs[y]) for y in kept}
    if str(name) in taken:
        raise InvalidArgument("label", label, "is a category or a report: use another name")
    number = np.full(len(outputs), kept.size)
    number[kept] = np.arange(kept.size)
    merged = np.column_stack([Q[:, kept], Q[:, withheld].sum(axis=1)])
    labels = pd.Index([*(outputs[y] for y in kept), name], dtype=object)
    shared = CustomMechanism(merged, mechanism.categories, labels)
    return replace(reports, y=number[codes], mechanism=shared, cohort=None)


def paired(first: Reports, second: Reports) -> Reports:
    """Two reports of each respondent about the same answer, as one report of both.

    Reports of the same respondents are not independent, and are no two groups for `FrequencyModel`:
    standard errors would be wrong. Pairs of them are independent of one another, and their channel
    is ``P(y0, y1 | x) = P(y0 | x) P(y1 | x)``.

    Parameters
    ----------
    first, second : Reports
        Of the same respondents, in the same order, and of mechanisms over the same categories whose
        reports are labels or at most 12 noised bits; such as `URR` and then `KRR`, or `withhold` of
        the former.

    Returns
    -------
    Reports
        Under a `CustomMechanism` whose channel is `privacy.sequential` of both, with the pair of
        labels written as JSON for a label: ``'["nurse", "cook"]'``.

    Raises
    ------
    InvalidArgument
        For no reports, numbers of respondents that differ, or of missing answers.
    MechanismMismatch
        For other categories.
    NotAvailable
        Where there are too many pairs to list.

    Notes
    -----
    Privacy is that of both reports together: ``privacy.uldp(pairs.mechanism.channel(), sensitive)``
    certifies it, with positions for `sensitive` (MK19 Propositions 1 and 12).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urr, krr = ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ldp.KRR(("a", "b", "c"), 0.5)
    >>> answers, rng = ["a"] * 600 + ["c"] * 400, np.random.default_rng(1)
    >>> pairs = paired(urr.privatize(answers, rng), krr.privatize(answers, rng))
    >>> pairs.mechanism.outputs[1]
    '["a", "b"]'
    >>> certificate = ldp.privacy.uldp(pairs.mechanism.channel(), sensitive=[0])
    >>> round(certificate.epsilon, 12), certificate.protected
    (1.5, array([0, 1, 2]))
    """
    mechanisms = _mechanism("first", first), _mechanism("second", second)
    if not mechanisms[0].categories.equals(mechanisms[1].categories):
        raise MechanismMismatch(
            f"{mechanisms[0]} and {mechanisms[1]} have different categories: two reports about the "
            "same answer need the same labels in the same order"
        )
    for name, given, wanted in (
        ("len(second)", len(second), len(first)),
        ("second.n_missing", second.n_missing, first.n_missing),
    ):
        if given != wanted:
            remedy = f"must be {wanted}, as of the first: pass reports of the same respondents"
            raise InvalidArgument(name, given, remedy)
    Q0, codes0, outputs0 = _listed(first)
    Q1, codes1, outputs1 = _listed(second)
    if len(outputs0) * len(outputs1) > _MOST_OUTPUTS:
        raise NotAvailable(
            f"{len(outputs0)} x {len(outputs1)} pairs of reports are too many to list: use one "
            "source of the two, or lump categories first"
        )
    labels = [json.dumps([a, b], ensure_ascii=False) for a in outputs0 for b in outputs1]
    both = CustomMechanism(sequential(Q0, Q1).matrix(), mechanisms[0].categories, labels)
    return replace(first, y=codes0 * len(outputs1) + codes1, mechanism=both, cohort=None)


def _mechanism(name: str, reports: object) -> Mechanism:
    if not isinstance(reports, Reports):
        raise InvalidArgument(name, reports, "must be Reports: combine before tallying")
    mechanism: Mechanism = reports.mechanism
    if mechanism.is_open or mechanism.n_cohorts:
        raise NotAvailable(
            f"reports of {mechanism} are of hashed answers, which no list of labels stands for"
        )
    return mechanism


def _listed(reports: Reports) -> tuple[Array, Array, list[Any]]:
    """Channel, (k, l), of reports whose l values can be listed, their codes, and their labels."""
    mechanism: Mechanism = reports.mechanism
    if isinstance(mechanism, Enumerated):
        codes = reports.y.astype(np.int64)
        return mechanism.channel().matrix(), codes, mechanism.outputs.tolist()
    if not mechanism.n_bits:
        labels = np.arange(mechanism.n_outputs).tolist()
        return mechanism.channel().matrix(), reports.y.astype(np.int64), labels
    channel = mechanism.channel()
    if isinstance(channel, Subsets):
        return _subsets(channel, reports)
    form: Any = mechanism.format  # reports are bits, not labels: a BitFormat
    noised, revealed = np.arange(mechanism.n_bits), form.revealed(reports.y)
    if mechanism.sensitive is not None:
        noised = sensitive_codes(mechanism.sensitive, mechanism.categories)
    if noised.size > _MOST_BITS:
        raise NotAvailable(
            f"{mechanism} reports {noised.size} noised bits, whose patterns are too many to list "
            f"(at most {_MOST_BITS} bits): use URR, or its reports as they are in FrequencyModel"
        )
    # columns of Q: patterns, whose number has the noised bits in order, then what is revealed
    Q, told = mechanism.channel().matrix(), np.delete(np.arange(mechanism.n_bits), noised)
    patterns = np.arange(Q.shape[1] - told.size)
    packed = reports.y[:, : -(-noised.size // 8)].astype(np.int64)
    number = packed @ 256 ** np.arange(packed.shape[1])
    codes = np.where(revealed > 0, patterns.size - 1 + revealed, number)
    bits = np.zeros((patterns.size + told.size, mechanism.n_bits), dtype=np.uint8)
    bits[: patterns.size, noised] = (patterns[:, None] >> np.arange(noised.size)) & 1
    bits[patterns.size + np.arange(told.size), told] = 1
    text = format_bits(np.packbits(bits, axis=1, bitorder="little"), mechanism.n_bits)
    return Q, codes, text.tolist()


def _subsets(channel: Subsets, reports: Reports) -> tuple[Array, Array, list[Any]]:
    """The same of reports that are subsets of one size."""
    listed = np.packbits(channel.patterns(), axis=1, bitorder="little")
    place = 256 ** np.arange(listed.shape[1])
    codes = np.searchsorted(listed @ place, reports.y.astype(np.int64) @ place)
    return channel.matrix(), codes, format_bits(listed, channel.k).tolist()
