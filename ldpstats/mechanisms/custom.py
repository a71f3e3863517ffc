"""Mechanisms with few enough reports to list: the easy base for one's own, and any Q as it is.

Then mechanisms made of others: a mixture, of which a respondent uses one by chance; several
questions as one; and what happens to a report after it is made, labels in, probabilities of new
labels out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import product as combinations
from secrets import token_hex
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    distribution,
    listed,
    numbers,
    one_of,
    positive_integer,
    real_number,
    record,
    whole_below,
)
from ldpstats.channels.certificates import Audit
from ldpstats.channels.structured import Channel, Dense, Kronecker, Uniformised
from ldpstats.clients.device import (
    Budget,
    SingleDevice,
    check_audit,
    check_table,
    kept_question,
    plain,
    secretive,
    texts,
)
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.labels import (
    Codes,
    Labels,
    as_labels,
    encode,
    missing_entries,
    preview,
    sensitive_codes,
    sensitive_labels,
)
from ldpstats.likelihood.covariance import multinomial
from ldpstats.likelihood.joint import of_paths
from ldpstats.likelihood.moments import Equations, Moments
from ldpstats.likelihood.rows import DenseRows, Likelihood, Rows
from ldpstats.mechanisms.base import (
    Mechanism,
    check_document,
    common_labels,
    described,
    joined_labels,
    label_moments,
    set_fields,
)
from ldpstats.reports.layout import LabelFormat
from ldpstats.reports.single import BitCounts, Counts, Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import Words

# fields that are no part of the fingerprint, and what they say
_UNMARKED = {"description": "the matrix is", "permanent": "response devices keep"}
_STEPS = "must be two channel matrices whose product is Q, of the kept response and of its report"
_SAME = 1e-12  # of probabilities, by which a product may be off by rounding
_OWN_EPSILON = "must be a number in nats, as a field or a property: channel().epsilon() is right"


@record
class CohortPart:
    """A cohort of a device: its name, what it does without that name in reports, and its `places`.

    These are the numbers, (l,), of its reports among those of the whole; -1 for what it never says.
    """

    name: str
    mechanism: Any
    places: Codes


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
    _rounding: Literal["down", "up"] = "down"  # of the integers of the sampler

    def __post_init__(self) -> None:
        """Check a mechanism of one's own; the package's have checks of their own."""
        if not isinstance(self.categories, pd.Index):
            set_fields(self, categories=as_labels("categories", self.categories))
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
    def outputs(self) -> Labels:
        """What a report may be, in the order of Q's columns: the categories by default."""
        return self.categories

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.outputs)

    @property
    def format(self) -> LabelFormat:
        return LabelFormat(self.outputs)

    def sample(self, codes: Array, words: Words) -> Array:
        Q = self.channel().matrix()
        if len(codes) < len(Q) and whole_below(codes, len(Q)):  # few users need few rows
            present, codes = np.unique(codes, return_inverse=True)
            Q = Q[present] if present.size else Q
        return samplers.sample_rows(codes, samplers.integer_rows(Q, self._rounding), words)

    def _rows(self) -> samplers.IntegerRows:
        return samplers.integer_rows(self.channel().matrix(), self._rounding)

    def _reports_document(self) -> Any:
        return texts(self.outputs)

    def _draw_document(self) -> dict[str, Any]:
        if type(self).sample is not Enumerated.sample:  # of a subclass with a sampler of its own
            return super()._draw_document()
        check_table(self, self.k * self.n_outputs)
        return self._rows().document(self.n_outputs)

    def _sampler_epsilon(self) -> float:
        if type(self)._draw_document is not Enumerated._draw_document:
            return super()._sampler_epsilon()
        return samplers.realised_epsilon_rows(self._rows())

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts | BitCounts:
        Q = self.channel(candidates)
        if not isinstance(Q, Uniformised) or Q.a < 0.0:
            return self.counts(rng.multinomial(true_counts, Q.matrix()).sum(axis=0))
        kept, noise = rng.binomial(true_counts, Q.a), Q.noise()
        if (by := np.flatnonzero(noise)).size:  # what other answers are replaced by
            law = noise[by] if np.ndim(Q.b) else np.ones(by.size)
            kept[by] += rng.multinomial(int((true_counts - kept).sum()), law / law.sum())
        return self.counts(kept)

    def _moments(self, counts: Any) -> Moments:
        channel = self.channel()
        n, nobs = counts.vector(), counts.nobs
        if isinstance(channel, Uniformised):
            law = channel.forward  # of reports; made by some category each, as a rule
            if np.all((reference := law(np.full(self.k, 1.0 / self.k))) > 0.0):
                a, b = channel.a, channel.b
                V, weights = lambda p: multinomial(law(p), nobs), nobs / reference
                return Equations(a, b, n / nobs, V, weights, nobs)
        Q = channel.matrix()
        impossible = np.flatnonzero((n > 0) & ~Q.any(axis=0))
        if impossible.size:
            remedy = f"were reported, but no category of {self} can make such a report"
            raise InvalidArgument("counts", self.outputs[impossible].tolist(), remedy)
        return label_moments(Q, n)

    @cached_property
    def is_separable(self) -> bool:  # type: ignore[override]
        """Whether each cohort determines the frequencies alone."""
        channels = (part.mechanism.channel() for part in self.cohort_parts)
        return all(
            Q.a != 0.0
            if isinstance(Q, Uniformised)
            else np.linalg.matrix_rank(Q.matrix()) == self.k
            for Q in channels
        )

    def likelihood(self, counts: Counts, candidates: Any = None) -> Likelihood:
        found = super().likelihood(counts, candidates)
        if not self.cohort_parts:
            return found
        share = np.ones(self.n_outputs)  # a report is given its cohort
        for part, weight in zip(self.cohort_parts, self._cohort_shares, strict=True):
            share[part.places] = weight
        return Likelihood(DenseRows(found.W.dense() / share[counts.y][:, None]), found.n)

    def _kept_document(self) -> dict[str, Any] | None:
        if self.steps is None or self.sensitive is not None:
            return None
        check_table(self, sum(one.size for one in self.steps))
        first, then = (samplers.integer_rows(one).document(one.shape[1]) for one in self.steps)
        draw: dict[str, Any] = {"kind": "kept", "digest": self.permanent}
        draw |= {"responses": len(then["rows"]), "first": first, "then": then}
        return {"answers": texts(self.categories), "reports": texts(self.outputs), "draw": draw}

    def joint_law(self, waves: int | Sequence[Mechanism] = 2) -> Panel:
        """The law of the reports of several waves, by devices that keep their responses.

        Parameters
        ----------
        waves : int, or sequence of Mechanism
            How many waves of this mechanism; or the mechanism of each, over the same categories.
            Those with the same `permanent` share the response to each answer, others nothing.

        Returns
        -------
        Panel
            A mechanism whose answers are the paths of answers, and whose reports are those of all
            waves: what `FrequencyModel`, weights and designs are for one question they are for
            paths.

        Raises
        ------
        InvalidArgument
            For less than two waves, and other categories.
        NotAvailable
            For mechanisms whose reports cannot be listed, and too many paths.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> twice = ldp.KRR(2, epsilon=2.0) >> ldp.KRR(2, epsilon=2.0)
        >>> law = twice.joint_law(2)
        >>> law.matrix().round(3)
               0, 0   0, 1   1, 0   1, 1
        0, 0  0.685  0.105  0.105  0.105
        0, 1  0.166  0.624  0.044  0.166
        1, 0  0.166  0.044  0.624  0.166
        1, 1  0.105  0.105  0.105  0.685
        """
        return Panel.of(self._waves(waves))

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
            does with `then` and ``keep="first"``.

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
        return self.then(other)

    def then(self, other: object, keep: str | None = None) -> CustomMechanism:
        """As ``self >> other``; with ``keep="first"`` clients keep the response of the first.

        Parameters
        ----------
        other : Mechanism, device, mapping, Series or DataFrame
            As for ``>>``.
        keep : {"first"}, optional
            A device draws the first step once for each answer, from a secret that it keeps, and
            only the second anew: reports of one answer are together `lifetime_epsilon` private,
            however many. `joint_law` is then the law of several waves.

        Returns
        -------
        CustomMechanism

        Raises
        ------
        InvalidArgument
            As of ``>>``, and for ``keep="first"`` where one of the steps is not random.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> twice = ldp.KRR(("no", "yes"), 2.0).then(ldp.KRR(("no", "yes"), 1.0), keep="first")
        >>> round(twice.epsilon, 3), twice.lifetime_epsilon
        (0.735, 2.0)
        >>> client = twice.client()
        >>> [client.report("no") in ("no", "yes") for month in range(12)].count(True)
        12
        >>> client.total_epsilon
        2.0
        """
        R, labels, after = _law_of_processing(self, other)
        channel = self.channel()
        if isinstance(channel, Uniformised):
            Q = channel.a * R + channel.noise() @ R
        else:
            Q = channel.matrix() @ R
        made = combined(Q, self.categories, labels, self.sensitive, f"{self} >> {after}")
        order = category_order(labels, self.categories)
        R = R if order is None else R[:, order]
        if keep is None and isinstance(self, CustomMechanism):
            keep = self.keep
        kept, steps = self.permanent, None
        if kept is not None:
            steps = None if self.steps is None else (self.steps[0], self.steps[1] @ R)
        elif not any(np.all((law == 0.0) | (law == 1.0)) for law in (R, channel.matrix())):
            kept, steps = self.fingerprint, (channel.matrix(), R)  # both are random
        return replace(made, permanent=kept, steps=steps, keep=keep)


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


def combined(
    Q: Array, categories: Labels, outputs: Labels, sensitive: Any, description: str
) -> CustomMechanism:
    """The mechanism of a computed Q, its reports in category order if they are the categories."""
    order = category_order(outputs, categories)
    if order is not None:
        Q, outputs = Q[:, order], categories
    return CustomMechanism(Q, categories, outputs, sensitive, description)


@record
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
    steps : pair of array-like, shapes (k, b) and (b, l), optional
        The channel of that response, and of a report given it: ``first >> second`` has those of
        both. Their product is Q. In the specification, as `permanent`.
    keep : {"first"}, optional
        Whether the mechanism's own clients keep that response, drawn once for each answer from a
        secret of the device (`then`). `permanent` and `steps` are then in the fingerprint, too.

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
    steps: Any = field(default=None, repr=False)
    keep: str | None = field(default=None, repr=False)
    _unwritten = dict.fromkeys(("sensitive", *_UNMARKED, "steps", "keep"))
    _channel: ClassVar[Dense]  # as a field it would be part of the specification

    def __post_init__(self) -> None:
        table, rows, columns = self.Q, self.categories, self.outputs
        if isinstance(table, pd.DataFrame):
            table, rows = _in_order(table, 0, "categories", rows)
            table, columns = _in_order(table, 1, "outputs", columns)
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
        set_fields(self, Q=Q, categories=categories, outputs=outputs)
        set_fields(self, _channel=channel)  # checked once: not for each report
        if self.sensitive is not None:
            codes = sensitive_codes(self.sensitive, categories)
            set_fields(self, sensitive=sensitive_labels(codes, categories))
        for name, what in _UNMARKED.items():
            text: object = getattr(self, name)
            if text is not None:
                set_fields(self, **{name: described(name, text, what)})
        if self.steps is not None:
            steps = [Dense(one).Q for one in listed("steps", self.steps, _STEPS)]
            if len(steps) != 2 or steps[0].shape[1] != len(steps[1]):
                raise InvalidArgument("steps", [one.shape for one in steps], _STEPS)
            made = steps[0] @ steps[1]
            if self.permanent is None or made.shape != Q.shape or np.abs(made - Q).max() > _SAME:
                raise InvalidArgument("steps", [one.shape for one in steps], _STEPS)
            set_fields(self, steps=tuple(steps))
        if self.keep is not None:
            one_of("keep", self.keep, ("first",))
            remedy = "needs two random steps: make the mechanism as first.then(second, keep=...)"
            if self.sensitive is not None:
                remedy = "is for a mechanism that protects all categories: a second step mixes "
                remedy += "reports that reveal an answer with others"
            if self.steps is None or self.sensitive is not None:
                raise InvalidArgument("keep", self.keep, remedy)

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self._channel_epsilon()

    @property
    def lifetime_epsilon(self) -> float:
        """Privacy of any number of reports of one answer by a device that keeps the first of steps.

        In nats; infinite if there are none, and where some responses reveal an answer but the
        second step hides which: many reports show the response in the end.
        """
        if self.steps is None:
            return float("inf")
        first = Dense(self.steps[0])
        if self.sensitive is None:
            return first.epsilon()
        codes = sensitive_codes(self.sensitive, self.categories)
        protected = first.output_classes().protected(codes)
        reached = [(self.steps[1][rows] > 0.0).any(axis=0) for rows in (protected, ~protected)]
        return float("inf") if (reached[0] & reached[1]).any() else first.protected_epsilon(codes)

    def audit(self) -> Audit:
        """As of every mechanism; `Audit.lifetime` is `lifetime_epsilon` where there are steps."""
        lifetime = None if self.steps is None else self.lifetime_epsilon
        return replace(super().audit(), lifetime=lifetime)

    def lifetime_audit(self) -> Audit:
        """The audit of all reports of one answer together, by a device that keeps the first step.

        Raises
        ------
        NotAvailable
            If there are no `steps`.
        """
        if self.steps is None:
            raise NotAvailable(f"{self} has no steps, of which a device could keep the first")
        words, lifetime = f"the kept response of {self}", self.lifetime_epsilon
        sampler = samplers.realised_epsilon_rows(samplers.integer_rows(self.steps[0]))
        return Audit(words, lifetime, lifetime, sampler)

    def _sampler_epsilon(self) -> float:
        if self.sensitive is None:
            return super()._sampler_epsilon()
        codes = sensitive_codes(self.sensitive, self.categories)
        protected = self._channel.output_classes().protected(codes)
        return samplers.realised_epsilon_rows(self._rows(), np.flatnonzero(protected))

    def _asked_document(self) -> dict[str, Any]:
        kept = self._kept_document() if self.keep else None
        return super()._asked_document() if kept is None else {"question": kept}

    def _lifetime(self) -> float:
        return self.lifetime_epsilon if self.keep else self._spent()

    def _state(self) -> dict[str, str]:
        secret = {"secret": token_hex(portable.SECRET_BYTES)} if self.keep else {}
        return super()._state() | secret

    def _client(self, words: Words, budget: Budget) -> Any:
        if not self.keep:
            return super()._client(words, budget)
        check_audit(self.lifetime_audit())
        return KeptClient(self, words, kept_question(self._kept_document(), budget.secret(words)))

    def _specification(self) -> dict[str, Any]:
        document = super()._specification()
        for name in (*_UNMARKED, "steps"):  # two descriptions of one law are equal
            document.pop(name, None)
        return document | (self._kept_law() if self.keep else {})

    def _kept_law(self) -> dict[str, Any]:
        """What the responses that devices keep are made of."""
        steps = None if self.steps is None else [one.tolist() for one in self.steps]
        return {"permanent": self.permanent, "steps": steps}

    def to_dict(self) -> dict[str, Any]:
        told = {"description": self.description} | self._kept_law()
        return super().to_dict() | {name: one for name, one in told.items() if one is not None}


@dataclass(frozen=True, eq=False, repr=False)
class KeptClient(SingleDevice):
    """One respondent's device, which keeps the first of two steps: one response to each answer.

    Made by the `client` of ``first.then(second, keep="first")``. The response is a keyed function
    of the device's secret and the answer, as of `RAPPORClient`: nothing but the secret is
    remembered, in a state file if there is one; else it ends with the process. Reports of one
    answer are `total_epsilon` private together, however many. Another answer costs it again, and
    that it is another one is hidden by the second step alone.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> twice = ldp.KRR(("no", "yes"), 2.0).then(ldp.KRR(("no", "yes"), 1.0), keep="first")
    >>> twice.client()
    KeptClient(KRR(k=2, epsilon=2) >> KRR(k=2, epsilon=1), epsilon of all reports of an answer: 2)
    """

    mechanism: Any
    _words: Words = field(repr=False)
    _question: Any = field(repr=False)

    @property
    def total_epsilon(self) -> float:
        """Privacy of all reports of one answer together, in nats."""
        return float(self.mechanism.lifetime_epsilon)

    @secretive
    def report(self, value: object) -> Any:
        """One report of the answer, from the response that is kept: a label.

        Raises
        ------
        UnknownCategory
            For a value that is no category.
        """
        code = int(encode("value", [value], self.mechanism.categories)[0][0])
        return plain(self.mechanism.outputs[self._question.draw(code, self._words)])

    def __repr__(self) -> str:
        return (
            f"KeptClient({self.mechanism}, epsilon of all reports of an answer: "
            f"{self.total_epsilon:.6g})"
        )


# -- Mechanisms of which a respondent uses one by chance ------------------------------------------


def mixture(shares: Mapping[Any, float]) -> CustomMechanism:
    """Each respondent uses one of several mechanisms by chance, and does not say which.

    ``Q[x, y] = sum_i s_i Q_i[x, y]``: a respondent draws a card that says which question to answer,
    or a share of the respondents misunderstands the device. If it is known which mechanism made a
    report, fit the reports as groups instead: ``FrequencyModel([first, second])``, or ask with
    `devices.cohorts`. The shares here are the law of the reports, which estimates rest on; those of
    cohorts are not.

    Parameters
    ----------
    shares : mapping
        The probability of each mechanism; they sum to one. Mechanisms have the same categories, in
        any order, and reports that can be listed. A device stands for its mechanism of the
        categories of the first mechanism.

    Returns
    -------
    CustomMechanism
        With the categories of the first, and all reports as outputs: in category order if they are
        the categories, else in order of first appearance. Its epsilon is computed from Q: at most
        the largest of the parts, where they protect the same categories. Sensitive are those that
        every part protects.

    Raises
    ------
    InvalidArgument
        If there is no mechanism, or the shares are no distribution.
    MechanismMismatch
        For other categories.
    NotAvailable
        For a mechanism whose reports cannot be listed.

    Examples
    --------
    Four of five respondents follow the device; the others report at random:

    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=np.log(4))
    >>> coin = ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]], ("no", "yes"))
    >>> mixed = ldp.mixture({krr: 0.8, coin: 0.2})
    >>> mixed.channel().matrix()
    array([[0.74, 0.26],
           [0.26, 0.74]])
    >>> round(mixed.epsilon, 4)
    1.046
    """
    remedy = "must be a dictionary from each mechanism to its share, such as {krr: 0.8, other: 0.2}"
    if not isinstance(shares, Mapping) or not len(shares):
        raise InvalidArgument("shares", shares, remedy)
    categories, parts, channels = same_answers("shares", list(shares))
    weights = distribution("shares", list(shares.values()), len(parts))
    labels = [label for part in parts for label in part.outputs.tolist()]
    outputs, places = distinct_labels("outputs", labels)
    Q, start = np.zeros((len(channels[0]), len(outputs))), 0
    for weight, own in zip(weights, channels, strict=True):
        Q[:, places[start : start + own.shape[1]]] += weight * own
        start += own.shape[1]
    shown = [f"{100 * w:.3g}% {part}" for part, w in zip(parts, weights, strict=True)]
    sensitive = protected_by_all(parts, categories)
    return combined(Q, categories, outputs, sensitive, f"mixture of {' and '.join(shown)}")


# -- Several questions as one: an answer to each, a report of each --------------------------------


_MOST = 1 << 20  # combinations of answers, or of reports, that get labels
_QUESTIONS = "must be a dictionary from the name of each question, which is text, to its mechanism"


class _Numbered(Kronecker):
    """Several variables whose combinations of reports are numbered, the last changing fastest."""

    def rows(self, y: Any) -> Rows:
        sizes = [channel.shape[1] for channel in self.channels]
        return super().rows(np.unravel_index(np.asarray(y, dtype=np.int64), sizes))


@record
class Product(Enumerated):
    """Several questions as one, each privatised by its own mechanism.

    A category is a combination of answers, a report one of reports, both joined by ", ":
    ``"nurse, yes"``. Frequencies are then those of the joint table, in row-major order. Answers may
    be given as a table with a column for each question too, or a respondent's as a dictionary.
    `Questionnaire` privatises questions that are analysed one by one, or in pairs.

    Parameters
    ----------
    questions : mapping from str to Mechanism
        The mechanism of each question; their reports can be listed.

    Raises
    ------
    InvalidArgument
        For no questions, names that are no text, and combinations of labels that read alike.
    NotAvailable
        For mechanisms whose reports cannot be listed, and more than 2^20 combinations.

    Notes
    -----
    Epsilon is the sum over the questions (the channel is their Kronecker product), and infinite if
    that of one is. A mechanism that protects some categories only has, for the combinations, no
    guarantee of that kind: an answer that reveals itself makes epsilon infinite.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> job = ldp.KRR(("nurse", "cook"), epsilon=1.0)
    >>> both = ldp.product({"job": job, "late": ldp.Warner(epsilon=0.5)})
    >>> both.categories.tolist()
    ['nurse, no', 'nurse, yes', 'cook, no', 'cook, yes']
    >>> both.epsilon
    1.5
    >>> people = pd.DataFrame({"late": ["no", "yes"], "job": ["cook", "nurse"]})
    >>> reports = both.privatize(people, np.random.default_rng(1))
    >>> [str(of.mechanism) for of in both.split(reports).values()]
    ['KRR(k=2, epsilon=1)', 'Warner(epsilon=0.5)']
    """

    questions: Any

    def __post_init__(self) -> None:
        if not isinstance(self.questions, Mapping) or not len(self.questions):
            raise InvalidArgument("questions", self.questions, _QUESTIONS)
        made: dict[str, Enumerated] = {}
        for name, mechanism in self.questions.items():
            if not isinstance(name, str) or not name:
                raise InvalidArgument("questions", name, _QUESTIONS)
            made[str.__str__(name)] = listed_mechanism(f"questions[{name!r}]", mechanism)
        set_fields(self, questions=MappingProxyType(made))
        for sizes in (self._sizes, tuple(part.k for part in self._parts)):
            if np.prod([float(size) for size in sizes]) > _MOST:
                shown = " x ".join(map(str, sizes))
                raise NotAvailable(
                    f"{shown} combinations are too many to list: use Questionnaire, and "
                    "AssociationModel for some of the questions"
                )
        self.categories, self.outputs  # noqa: B018  refuses labels that read alike

    @property
    def _parts(self) -> tuple[Enumerated, ...]:
        return tuple(self.questions.values())

    @property
    def _sizes(self) -> tuple[int, ...]:
        """How many reports there are to each question."""
        return tuple(part.n_outputs for part in self._parts)

    @cached_property
    def categories(self) -> Labels:  # type: ignore[override]
        labels = (part.categories.tolist() for part in self._parts)
        return joined_labels("categories", list(combinations(*labels)))

    @cached_property
    def outputs(self) -> Labels:
        labels = (part.outputs.tolist() for part in self._parts)
        return joined_labels("outputs", list(combinations(*labels)))

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self.channel().epsilon()

    @cached_property
    def _channel(self) -> Channel:
        return _Numbered([part.channel() for part in self._parts])

    def to_labels(self, name: str, values: object) -> object:
        """Answers as joined labels; a table, or dictionaries, has a column for each question."""
        questions = list(self.questions)
        several = list(values) if isinstance(values, list | tuple) else []
        if several and all(isinstance(value, Mapping) for value in several):
            for i, value in enumerate(several):
                if set(value) != set(questions):
                    given, remedy = sorted(map(str, value)), f"must have the questions {questions}"
                    raise InvalidArgument(f"{name}[{i}]", given, remedy)
            values = pd.DataFrame(map(dict, several), columns=questions, dtype=object)
        if not isinstance(values, pd.DataFrame):
            return values
        columns: list[Any] = values.columns.tolist()
        if sorted(map(str, columns)) != sorted(questions) or not values.columns.is_unique:
            raise InvalidArgument(f"{name}.columns", columns, f"must be the questions {questions}")
        codes, absent = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
        for question, part in self.questions.items():
            place = f"{name}[{question!r}]"
            answers = pd.Series(part.to_labels(place, values[question])).reset_index(drop=True)
            lacking = missing_entries(place, answers)
            own = np.zeros(len(values), dtype=np.int64)
            own[~lacking] = encode(place, answers, part.categories, "count")[0]
            codes, absent = codes * part.k + own, absent | lacking
        labels = self.categories.to_numpy(dtype=object, copy=True)[codes]
        labels[absent] = None
        return labels

    def split(self, reports: Reports) -> dict[str, Reports]:
        """The reports of each question, by its name: for `AssociationModel`, say.

        Raises
        ------
        InvalidArgument
            If `reports` are not of this mechanism.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> both = ldp.product({"a": ldp.KRR(2, epsilon=1.0), "b": ldp.KRR(3, epsilon=1.0)})
        >>> reports = both.privatize(["0, 2", "1, 1"] * 500, np.random.default_rng(1))
        >>> joint = ldp.AssociationModel(*both.split(reports).values()).fit()
        >>> joint.table.shape
        (2, 3)
        """
        if not isinstance(reports, Reports) or reports.mechanism != self:
            raise InvalidArgument("reports", reports, f"must be Reports of {self}")
        codes = np.unravel_index(reports.y.astype(np.int64), self._sizes)
        return {
            name: Reports(y, part, reports.n_missing, name=name, ids=reports.ids)
            for (name, part), y in zip(self.questions.items(), codes, strict=True)
        }

    def sample(self, codes: Array, words: Words) -> Array:
        y = np.zeros(np.shape(codes), dtype=np.int64)
        own = np.unravel_index(np.asarray(codes), [part.k for part in self._parts])
        for part, answers in zip(self._parts, own, strict=True):
            y = y * part.n_outputs + part.sample(answers, words)
        return y

    def _draw_document(self) -> dict[str, Any]:
        parts = [
            {"answers": part.k, "reports": part.n_outputs, "draw": part._draw_document()}
            for part in self._parts
        ]
        return {"kind": "parts", "parts": parts}

    def _sampler_epsilon(self) -> float:
        return float(sum(part._sampler_epsilon() for part in self._parts))

    def __reduce__(self) -> tuple[Any, ...]:  # read-only dicts cannot be pickled
        return type(self), (dict(self.questions),)

    def _specification(self) -> dict[str, Any]:
        parts = [[name, part.to_dict()] for name, part in self.questions.items()]
        return super()._specification() | {"questions": parts}  # a list: the order counts

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        given = dict(check_document(document))
        remedy = 'must be a list of pairs: ["job", {"mechanism": ...}]'
        made: dict[str, Any] = {}
        for pair in listed("questions", given.get("questions"), remedy):
            named = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
            if not named or pair[0] in made:
                raise InvalidArgument("questions", pair, remedy)
            made[pair[0]] = Mechanism.from_dict(pair[1])
        return super().from_dict(given | {"questions": made})

    def __str__(self) -> str:
        names = ", ".join(self.questions)
        return f"{type(self).__name__}({names}; k={self.k}, epsilon={self.epsilon:.6g})"

    __repr__ = __str__


def product(questions: Mapping[str, Any]) -> Product:
    """The mechanism of several questions at once, see `Product`.

    Parameters
    ----------
    questions : mapping from str to Mechanism
        The mechanism of each question.

    Raises
    ------
    InvalidArgument, NotAvailable
        As of `Product`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=1.0)
    >>> ldp.product({"before": krr, "after": krr})
    Product(before, after; k=9, epsilon=2)
    """
    return Product(questions)


# -- Several waves as one: a path of answers, the reports of a device that keeps what it drew ------


_MOST_ENTRIES = 1 << 26  # of a joint law


@record
class Panel(Product):
    """The reports of several waves as one, see `Mechanism.joint_law`.

    A category is a path of answers, a report one of reports, both joined by ", ": ``"no, yes"``.
    `split` has the reports of each wave. Its client reports a whole path at once; in the field each
    wave is reported by the client of its mechanism.

    Parameters
    ----------
    questions : mapping from str to Mechanism
        The mechanism of each wave, by its name.

    Attributes
    ----------
    epsilon : float
        Of all reports together, of the worst pair of paths, in nats: computed from Q.

    Examples
    --------
    One in ten changes her answer:

    >>> import ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> kept = ldp.KRR(("no", "yes"), 2.0) >> ldp.KRR(("no", "yes"), 2.0)
    >>> panel = kept.joint_law(2)
    >>> paths = rng.choice(["no, no", "no, yes", "yes, yes"], 20_000, p=[0.6, 0.1, 0.3])
    >>> ldp.FrequencyModel(panel.privatize(paths, rng)).fit().params.round(1).to_dict()
    {'no, no': 0.6, 'no, yes': 0.1, 'yes, no': 0.0, 'yes, yes': 0.3}
    >>> round(panel.epsilon_of(1), 3), round(panel.epsilon, 3)
    (1.876, 2.65)
    """

    @classmethod
    def of(cls, mechanisms: Sequence[Mechanism]) -> Self:
        """The law of waves, called "wave 1", "wave 2", ..."""
        made = listed("waves", mechanisms, "must be a list of mechanisms, one a wave")
        if len(made) < 2:
            raise InvalidArgument("waves", len(made), "must be 2 or more")
        return cls({f"wave {t}": mechanism for t, mechanism in enumerate(made, start=1)})

    def __post_init__(self) -> None:
        super().__post_init__()
        common_labels(self._parts, None, "waves")
        self.channel()

    def join(self, waves: Sequence[Reports]) -> Reports:
        """The reports of respondents in all waves as one; those of `split` together again.

        Raises
        ------
        InvalidArgument
            For reports of other mechanisms, of different numbers of respondents or missing answers,
            and with other identifiers: rows are persons in all waves.
        """
        given = listed("waves", waves, "must be a list of Reports, one a wave")
        if len(given) != len(self._parts):
            raise InvalidArgument("waves", len(given), f"must be {len(self._parts)} Reports")
        y: Any = 0
        first = given[0]
        for part, wave in zip(self._parts, given, strict=True):
            if not isinstance(wave, Reports) or wave.mechanism != part:
                raise InvalidArgument("waves", wave, f"must be Reports of {part}")
            alike = (len(wave), wave.n_missing) == (len(first), first.n_missing)
            if not alike or not np.array_equal(wave.ids, first.ids):
                remedy = "must have the respondents of the first wave, row by row"
                raise InvalidArgument("waves", wave, remedy)
            y = y * part.n_outputs + wave.y.astype(np.int64)
        return Reports(y, self, first.n_missing, ids=first.ids)

    def epsilon_of(self, answers: int) -> float:
        """Epsilon of all reports of persons who give so many different answers at most.

        Parameters
        ----------
        answers : int
            1 for those who never change their answer; from the number of waves on it is `epsilon`.
        """
        most = positive_integer("answers", answers)
        paths = combinations(*(range(part.k) for part in self._parts))
        some = np.array([len(set(path)) <= most for path in paths])
        return Dense(self._channel.matrix()[some]).epsilon()

    @cached_property
    def _channel(self) -> Channel:
        k, parts = self._parts[0].k, self._parts
        size = np.prod(np.array(self._sizes, dtype=float))
        if (size * k ** len(parts)) > _MOST_ENTRIES:
            shown = f"{k ** len(parts)} paths and {size:.0f} reports"
            raise NotAvailable(f"the law of {shown} is too large: take fewer waves or categories")
        y = np.unravel_index(np.arange(int(size)), self._sizes)
        by_device: dict[Any, list[int]] = {}
        for t, part in enumerate(parts):
            kept = t if part.permanent is None else part.permanent
            by_device.setdefault(kept, []).append(t)
        # of a device of one step this is all that it draws
        steps = [part.steps or (part.channel().matrix(), np.eye(part.n_outputs)) for part in parts]

        def same(some: Sequence[int]) -> Array:
            law = reduce(np.multiply, [steps[t][1][:, y[t]] for t in some]).T @ steps[some[0]][0].T
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(law))

        log_law: Any = 0.0
        for own in by_device.values():
            first = steps[own[0]][0]
            if len(own) > 1 and not all(
                parts[t].steps and np.array_equal(steps[t][0], first) for t in own
            ):
                raise NotAvailable(
                    f"the law of several reports of {parts[own[0]]} that rest on one kept response "
                    "is not known: make the mechanisms as first >> second, with one first step"
                )
            log_law = log_law + of_paths(same, tuple(own), len(parts), k)
        Q = np.exp(log_law).T
        return Dense(Q / Q.sum(axis=1, keepdims=True))

    # its rows are drawn as a whole, not wave by wave as those of a product
    sample = Enumerated.sample
    _draw_document = Enumerated._draw_document
    _sampler_epsilon = Enumerated._sampler_epsilon


# -- What happens to a report after it is made: labels in, probabilities of new labels out --------


_KINDS = (
    "must be what becomes of a report: a mechanism or a device, a dictionary or Series from each "
    "report to its new label, or a DataFrame with a row of probabilities for each report"
)


@runtime_checkable
class Randomiser(Protocol):
    """What makes a mechanism of given categories, such as a device of `ldpstats.devices`."""

    def mechanism(self, categories: Any) -> Any: ...


def asked_of(other: object, categories: Labels) -> Any:
    """The mechanism that a device makes of these categories; anything else as it is."""
    if isinstance(other, pd.DataFrame | pd.Series | type) or not isinstance(other, Randomiser):
        return other
    return other.mechanism(categories) if callable(other.mechanism) else other


def _law_of_processing(first: Enumerated, other: object) -> tuple[Array, Labels, str]:
    """R[y, z] of the new labels for l reports, (l, m), the m labels, and what it is in words."""
    outputs, second = first.outputs, asked_of(other, first.outputs)
    if isinstance(second, Mechanism):
        second = listed_mechanism("other", second)
        made = _places(outputs, second.categories)
        if (made < 0).any():
            label = outputs.tolist()[int(np.argmin(made))]
            remedy = f"has no category {label!r}, which {first} reports: both need the same labels"
            raise InvalidArgument("other", str(second), remedy)
        return second.channel().matrix()[made], second.outputs, str(second)
    if isinstance(second, pd.DataFrame):
        if isinstance(second.index, pd.MultiIndex) or isinstance(second.columns, pd.MultiIndex):
            raise InvalidArgument("other", second, "must have one label for each row and column")
        order = _one_each("other.index", second.index.tolist(), outputs, "row")
        new = as_labels("other.columns", second.columns.tolist(), least=1)
        remedy = "must hold probabilities: a row for each report, a column for each new label"
        R = numbers("other", second.to_numpy()[order], remedy, (len(outputs), len(new)))
        for label, row in zip(outputs.tolist(), R, strict=True):
            distribution(f"other.loc[{label!r}]", row, len(new))
        return R, new, "a table"
    if not isinstance(second, pd.Series | Mapping):
        raise InvalidArgument("other", second, _KINDS)
    recoded = second.tolist() if isinstance(second, pd.Series) else list(second.values())
    keys = second.index.tolist() if isinstance(second, pd.Series) else list(second)
    order = _one_each("other", keys, outputs, "new label")
    new, codes = distinct_labels("other", [recoded[i] for i in order])
    R = np.zeros((len(outputs), len(new)))
    R[np.arange(len(outputs)), codes] = 1.0
    return R, new, "recoded"


def distinct_labels(name: str, labels: list[Any]) -> tuple[Labels, Array]:
    """Each of n labels once, in order of first appearance, and the places of the n among them."""
    places: dict[Any, int] = {}
    plain = [value.item() if isinstance(value, np.generic) else value for value in labels]
    try:  # 1 and True are two labels, which `as_labels` refuses together
        at = [places.setdefault((type(value), value), len(places)) for value in plain]
    except TypeError:
        remedy = "must hold labels: strings, integers, finite floats or booleans"
        raise InvalidArgument(name, labels, remedy) from None
    found = as_labels(name, [value for _, value in places], least=1)
    return found, np.array(at, dtype=np.int64)


def category_order(outputs: Labels, categories: Labels) -> Array | None:
    """The place of each category among the outputs; None unless they are the same labels."""
    order = _places(categories, outputs)
    return order if len(outputs) == len(categories) and (order >= 0).all() else None


def _places(labels: Labels, among: Labels) -> Array:
    """The places of labels among others, of the same types: 1 is not True; -1 for none."""
    places = {(type(label), label): x for x, label in enumerate(among.tolist())}
    return np.array([places.get((type(label), label), -1) for label in labels.tolist()])


def _in_order(Q: pd.DataFrame, axis: int, name: str, given: Any) -> tuple[pd.DataFrame, Any]:
    """A table with an axis in the order of the labels given, if any, and the labels of the axis.

    An axis that is only numbered, as pandas does by itself, has no labels of its own.
    """
    own, what = Q.axes[axis], ("index", "columns")[axis]
    if own.equals(pd.RangeIndex(len(own))):
        return Q, given
    if isinstance(own, pd.MultiIndex):
        raise InvalidArgument(f"Q.{what}", own.tolist(), "must have one level of labels")
    labels = as_labels(f"Q.{what}", own.tolist(), least=1)
    wanted = labels if given is None else as_labels(name, given, least=1)
    order = category_order(labels, wanted)
    if order is None:
        remedy = f"must be the labels of Q.{what}, {preview(labels)}; or pass Q.to_numpy()"
        raise InvalidArgument(name, wanted.tolist(), remedy)
    return (Q.iloc[order] if axis == 0 else Q.iloc[:, order]), wanted


def _one_each(name: str, keys: list[Any], outputs: Labels, what: str) -> Array:
    """Positions of the keys in the order of the reports, each of which has one."""
    codes = encode(name, keys, outputs)[0] if keys else np.empty(0, dtype=np.int64)
    times = np.bincount(codes, minlength=len(outputs))
    if (times != 1).any():
        label = outputs.tolist()[int(np.argmax(times != 1))]
        remedy = (
            f"each of the {len(outputs)} reports {preview(outputs)} needs one {what}, one that "
            "stays as it is too"
        )
        many = "twice" if times.max() > 1 and times[outputs.tolist().index(label)] else "missing"
        raise InvalidArgument(name, label, f"is {many}: {remedy}")
    return np.argsort(codes)


# -- Several mechanisms for the same answer -------------------------------------------------------


def same_answers(name: str, given: list[Any]) -> tuple[Labels, list[Enumerated], list[Array]]:
    """The categories, mechanisms, and their channels, (k, l_i), rows in category order.

    The categories are those of the first mechanism; a device stands for its mechanism of them.
    """
    known = next((part for part in given if isinstance(part, Mechanism)), None)
    if known is None:
        raise InvalidArgument(name, given, "needs one mechanism at least, which has categories")
    categories = listed_mechanism(name, known).categories
    parts = [listed_mechanism(name, asked_of(part, categories)) for part in given]
    channels = []
    for part in parts:
        order = category_order(part.categories, categories)
        if order is None:
            raise MechanismMismatch(
                f"{part} has the categories {preview(part.categories)}, another "
                f"{preview(categories)}: mechanisms for the same answer need the same labels"
            )
        channels.append(part.channel().matrix()[order])
    return categories, parts, channels


def protected_by_all(parts: list[Enumerated], categories: Labels) -> Labels | None:
    """The categories that every part protects; None if each protects all."""
    if all(part.sensitive is None for part in parts):
        return None
    kept = np.arange(len(categories))
    for part in parts:
        if part.sensitive is not None:
            kept = np.intersect1d(kept, sensitive_codes(part.sensitive, categories))
    return sensitive_labels(kept, categories)
