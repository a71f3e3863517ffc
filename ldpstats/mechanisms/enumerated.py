"""Mechanisms with few enough reports to list: the easy base for one's own, and any Q as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import counts_vector, real_number, whole_below
from ldpstats.arguments.labels import align, as_labels, sensitive_codes, sensitive_labels
from ldpstats.channels.base import Channel
from ldpstats.channels.structured import Dense, Uniformised
from ldpstats.clients.document import check_table, texts
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Array, Mechanism, check_document
from ldpstats.mechanisms.label_equations import label_moments
from ldpstats.mechanisms.processing import (
    asked_of,
    category_order,
    law_of_processing,
    ordered_table,
)
from ldpstats.mechanisms.words import made_of
from ldpstats.problems.equations import Moments
from ldpstats.reports.formats import LabelFormat
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.words import Words

# fields that are no part of the fingerprint, and what they say
_UNMARKED = {"description": "the matrix is", "permanent": "response devices keep"}
_OWN_EPSILON = "must be a number in nats, as a field or a property: channel().epsilon() is right"


__all__ = ["CustomMechanism", "Enumerated", "combined", "listed_mechanism"]


class Enumerated(Mechanism):
    """A mechanism whose reports are labels from a list: its channel matrix can be written out.

    This is the easy base for a mechanism of one's own. A subclass is a frozen dataclass whose
    fields are its specification. It has `categories` and `epsilon`, as fields or properties, and
    `channel`, which returns Q. Sampling with integer thresholds, clients, estimates and the audit
    follow from Q. Reports are named like the categories unless the subclass has `outputs`.

    `to_dict` writes the fields, so they must determine Q; `from_dict` of the subclass reads them. A
    subclass with a ``__post_init__`` calls that of `Enumerated`, which checks all of this. For a
    fixed Q, `CustomMechanism` is enough.

    Raises
    ------
    InvalidArgument
        If `categories`, `outputs`, `epsilon` and `channel()` do not fit together.

    Examples
    --------
    Grades from 0 to 4, of which a report is wrong by as little as privacy allows (the exponential
    mechanism):

    >>> from dataclasses import dataclass
    >>> from ldpstats.channels import Dense
    >>> @dataclass(frozen=True, eq=False)
    ... class NearbyGrade(Enumerated):
    ...     rate: float                                  # in nats for each step away
    ...     categories = pd.RangeIndex(5)
    ...     @property
    ...     def epsilon(self):
    ...         return self.channel().epsilon()
    ...     def channel(self, candidates=None):
    ...         Q = np.exp(-self.rate * np.abs(np.subtract.outer(range(5), range(5))))
    ...         return Dense(Q / Q.sum(axis=1, keepdims=True))
    >>> mechanism = NearbyGrade(rate=0.5)
    >>> audit = mechanism.audit()
    >>> round(audit.declared, 3), audit.agrees
    (2.0, True)
    >>> reports = mechanism.privatize([3, 3, 4, 1], np.random.default_rng(1))
    """

    n_bits = 0
    n_cohorts = 0

    def __post_init__(self) -> None:
        """Check a mechanism of one's own; the package's have checks of their own."""
        if not isinstance(self.categories, pd.Index):
            object.__setattr__(self, "categories", as_labels("categories", self.categories))
        channel: object = self.channel()
        if not isinstance(channel, Channel):
            raise InvalidArgument("channel()", channel, "must be a channel, such as Dense(Q)")
        shape = len(self.categories), len(self.outputs)
        if channel.shape != shape:
            remedy = f"must be {shape}: a row a category, a column an output"
            raise InvalidArgument("channel().shape", channel.shape, remedy)
        epsilon = getattr(self, "epsilon", None)  # a field or property that the subclass owes
        if not real_number("epsilon", epsilon, _OWN_EPSILON) >= 0.0:
            raise InvalidArgument("epsilon", epsilon, _OWN_EPSILON)

    @property
    def outputs(self) -> pd.Index[Any]:
        """What a report may be, in the order of Q's columns: the categories by default."""
        return self.categories

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.outputs)

    @property
    def format(self) -> LabelFormat:
        return LabelFormat(self.outputs)

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> Counts:
        """Counts from a vector of output counts.

        Parameters
        ----------
        n : array-like of int, shape (l,)
            How often each report was seen, in the order of `outputs`; a Series, such as
            `value_counts` makes, is matched by label and need not hold reports never seen.
        nobs : None
            Not used: the number of reports is ``sum(n)``.

        Raises
        ------
        InvalidArgument
            For a vector of another length, or entries that are negative or fractional.
        """
        if nobs is not None:
            raise InvalidArgument("nobs", nobs, "is for bit sums only; here it is sum(n)")
        vector = counts_vector("n", align("n", n, self.outputs, absent=0), (self.n_outputs,))
        seen = np.flatnonzero(vector)
        return Counts(seen, vector[seen], self)

    def sample(self, codes: Array, words: Words) -> Array:
        Q = self.channel().matrix()
        if len(codes) < len(Q) and whole_below(codes, len(Q)):  # few users need few rows
            present, codes = np.unique(codes, return_inverse=True)
            Q = Q[present] if present.size else Q
        return samplers.sample_rows(codes, samplers.integer_rows(Q), words)

    def _reports_document(self) -> Any:
        return texts(self.outputs)

    def _draw_document(self) -> dict[str, Any]:
        if type(self).sample is not Enumerated.sample:  # of a subclass with a sampler of its own
            return super()._draw_document()
        check_table(self, self.k * self.n_outputs)
        return samplers.integer_rows(self.channel().matrix()).document(self.n_outputs)

    def _sampler_epsilon(self) -> float:
        return realised.realised_epsilon_rows(samplers.integer_rows(self.channel().matrix()))

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts:
        self._closed(candidates)
        total = rng.multinomial(true_counts, self.channel().matrix()).sum(axis=0)
        return self.counts(total)

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        self._closed(candidates)
        self._own(counts)
        Q, n = self.channel().matrix(), counts.vector()
        impossible = np.flatnonzero((n > 0) & ~Q.any(axis=0))
        if impossible.size:
            raise InvalidArgument(
                "counts",
                self.outputs[impossible].tolist(),
                f"were reported, but no category of {self} can make such a report",
            )
        return label_moments(Q, n)

    def __rshift__(self, other: object) -> CustomMechanism:
        """The mechanism whose report is processed, or privatised once more: ``Q R``.

        Parameters
        ----------
        other : Mechanism, device, mapping, Series or DataFrame
            What becomes of a report. A mechanism or device takes the report for its true answer. A
            mapping or Series has the new label of each report, which several may share. A
            DataFrame has ``R[y, z]``, the probability that report y becomes z: reports in rows, new
            labels in columns. Rows and keys are matched by label.

        Returns
        -------
        CustomMechanism
            With these categories, and the new labels as outputs: in category order if they are the
            categories, else in the order of `other`, for a mapping that of the reports. Epsilon is
            at most that of the first mechanism, and of the second; if only some categories are
            sensitive it is computed anew, and may be infinite where reports that reveal an answer
            are mixed with others (`privacy.post_process` refuses that; MK19 Proposition 11). Where
            both steps are random the first is `permanent`: a device may keep it. Its own client
            keeps nothing.

        Raises
        ------
        UnknownCategory, InvalidArgument
            If a report has no new label or row, or something else has one.
        NotAvailable
            For a mechanism whose reports cannot be listed.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("nurse", "doctor", "driver"), epsilon=np.log(2))
        >>> field = krr >> {"nurse": "health", "doctor": "health", "driver": "other"}
        >>> field.outputs.tolist()
        ['health', 'other']
        >>> field.channel().matrix()
        array([[0.75, 0.25],
               [0.75, 0.25],
               [0.5 , 0.5 ]])
        >>> twice = krr >> ldp.KRR(krr.categories, epsilon=1.0)
        >>> twice.epsilon < krr.epsilon
        True
        """
        second = asked_of(other, self.outputs)
        if isinstance(second, Mechanism):
            (R, labels), after = _rows_of(second, self), made_of(second)
        else:
            R, labels = law_of_processing(second, self.outputs)
            after = "a table" if isinstance(second, pd.DataFrame) else "recoded"
        channel = self.channel()
        if isinstance(channel, Uniformised):
            Q = channel.a * R + channel.noise() @ R
        else:
            Q = channel.matrix() @ R
        made = combined(Q, self.categories, labels, self.sensitive, f"{made_of(self)} >> {after}")
        if self.permanent is None and (_is_certain(R) or _is_certain(channel.matrix())):
            return made
        return replace(made, permanent=self.permanent or self.fingerprint)


def _is_certain(Q: Array) -> bool:
    """Whether nothing is random."""
    return bool(np.all((Q == 0.0) | (Q == 1.0)))


def listed_mechanism(name: str, mechanism: object) -> Enumerated:
    """Return a mechanism whose reports are labels from a list; refuse anything else."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidArgument(name, mechanism, "must be a mechanism, such as KRR, or a device")
    if not isinstance(mechanism, Enumerated):
        raise NotAvailable(
            f"reports of {mechanism} are not labels from a list, which this needs: use a mechanism "
            "whose reports can be listed, such as KRR"
        )
    if mechanism.unknown:
        raise NotAvailable(
            f"{name} depends on the unknown {', '.join(mechanism.unknown)}: combine the steps of "
            "devices before mechanism(categories), or use at(...) for known values"
        )
    return mechanism


def _rows_of(second: Mechanism, first: Enumerated) -> tuple[Array, pd.Index[Any]]:
    """Rows of a second channel for the reports of a first, and its outputs."""
    second = listed_mechanism("other", second)
    places = {(type(label), label): x for x, label in enumerate(second.categories.tolist())}
    made = [places.get((type(label), label), -1) for label in first.outputs.tolist()]
    if -1 in made:
        label = first.outputs.tolist()[made.index(-1)]
        remedy = f"has no category {label!r}, which {first} reports: both need the same labels"
        raise InvalidArgument("other", str(second), remedy)
    return second.channel().matrix()[made], second.outputs


def combined(
    Q: Array,
    categories: pd.Index[Any],
    outputs: pd.Index[Any],
    sensitive: Any,
    description: str,
) -> CustomMechanism:
    """The mechanism of a computed Q, its reports in category order if they are the categories."""
    order = category_order(outputs, categories)
    if order is not None:
        Q, outputs = Q[:, order], categories
    return CustomMechanism(Q, categories, outputs, sensitive, description)


@dataclass(frozen=True, eq=False)
class CustomMechanism(Enumerated):
    """A mechanism given by its channel matrix, square or rectangular.

    Parameters
    ----------
    Q : array-like, shape (k, l)
        ``Q[x, y] = P(report y | category x)``; rows sum to one. A DataFrame has the categories in
        its index and the outputs in its columns, unless they are only numbered from 0.
    categories : int, sequence of labels, or pandas Categorical, optional
        The k categories; 0 .. k-1 by default. Rows of a DataFrame are matched by label.
    outputs : int or sequence of labels, optional
        The l reports; the categories if l = k, else 0 .. l-1, by default. Columns of a DataFrame
        are matched by label.
    sensitive : set or sequence of labels, optional
        The categories that are protected, if not all are: epsilon is then that of utility-optimised
        LDP (MK19 Definition 2), where a report may reveal one of the others.
    description : str, optional
        What the matrix is, on one line, for summaries: ``first >> second`` and `mixture` say what
        they combine. It is in the specification, but not in its fingerprint.
    permanent : str, optional
        Name of the response that devices keep and report again with new noise, if they do; of
        ``first >> second`` the fingerprint of the first. As `description` it is in the
        specification, but not in its fingerprint.

    Examples
    --------
    Two of three answers are protected, the third is reported as it is:

    >>> mech = CustomMechanism([[.8, .2, 0], [.2, .8, 0], [.1, .1, .8]], ("a", "b", "c"))
    >>> mech.epsilon
    inf
    >>> round(CustomMechanism(mech.Q, ("a", "b", "c"), sensitive=["a", "b"]).epsilon, 4)  # ln 8
    2.0794

    A table has its labels:

    >>> table = pd.DataFrame([[0.8, 0.2], [0.3, 0.7]], ["ill", "well"], ["yes", "no"])
    >>> CustomMechanism(table).outputs.tolist()
    ['yes', 'no']
    """

    Q: Any
    categories: Any = None
    outputs: Any = None
    sensitive: Any = None
    description: str | None = None
    permanent: str | None = None
    _channel: ClassVar[Dense]  # as a field it would be part of the specification

    def __post_init__(self) -> None:
        table, rows, columns = ordered_table(self.Q, self.categories, self.outputs)
        channel = Dense(table)
        Q = channel.Q
        k, l = Q.shape  # noqa: E741
        categories = as_labels("categories", k if rows is None else rows)
        default = categories if k == l else l
        outputs = as_labels("outputs", default if columns is None else columns, least=1)
        for name, labels, size in (("categories", categories, k), ("outputs", outputs, l)):
            if len(labels) != size:
                raise InvalidArgument(
                    name, labels, f"Q of shape {Q.shape} needs {size} labels here"
                )
        for name, value in (("Q", Q), ("categories", categories), ("outputs", outputs)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_channel", channel)  # checked once: not for each report
        if self.sensitive is not None:
            codes = sensitive_codes(self.sensitive, categories)
            object.__setattr__(self, "sensitive", sensitive_labels(codes, categories))
        for name, what in _UNMARKED.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _one_line(name, what, getattr(self, name)))

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self._channel_epsilon()

    def _sampler_epsilon(self) -> float:
        if self.sensitive is None:
            return super()._sampler_epsilon()
        rows = samplers.integer_rows(self._channel.Q)
        weights = np.zeros(self._channel.Q.shape, dtype=object)  # of which 2^64 is one: no int64
        for x, y in enumerate(rows.outputs):
            weights[x, y] = realised.weights_of(rows, x)
        codes = sensitive_codes(self.sensitive, self.categories)
        kept = self._channel.output_classes().protected(codes)
        return max(_ratio(column) for column in weights[:, kept].T) if kept.any() else 0.0

    def _specification(self) -> dict[str, Any]:
        document = super()._specification()
        for name in _UNMARKED:  # two descriptions of one law are equal
            del document[name]
        if document["sensitive"] is None:  # as before there was a choice
            del document["sensitive"]
        return document

    def to_dict(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in _UNMARKED}
        return super().to_dict() | {name: text for name, text in told.items() if text is not None}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        absent = dict.fromkeys(("sensitive", *_UNMARKED))
        return super().from_dict(absent | check_document(document))

    def channel(self, candidates: Any = None) -> Channel:
        self._closed(candidates)
        return self._channel


def _one_line(name: str, what: str, text: object) -> str:
    """A description as text on one line that can be printed."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(name, text, f"must be text that says what {what}, or None")
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def _ratio(weights: Array) -> float:
    """Log ratio of the largest of some integers to the smallest."""
    low = int(weights.min())
    return realised.log_ratio(int(weights.max()), low) if low else float("inf")
