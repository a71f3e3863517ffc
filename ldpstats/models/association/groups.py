"""What an association model is asked, and its groups of respondents.

First the arguments: respondents by group, names, candidates and "Other" of each variable. Then a
group, whose reports all come from the same mechanisms, as likelihoods and as features; and their
scores. The features ``a = W / (W p)`` of a variable are its scores at p, and the duals of its
likelihood: ``E[a | X = i] = J[:, i]`` with J its expected information at p. Scores less one say how
they vary, and are small where epsilon is: that of a category which the reference takes for the only
one is one for certain. A cell of frequency zero that would show in a report which p makes
impossible has infinite information: it is known to be empty. Bits are noise enough to prove
nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, listed, one_of, record
from ldpstats.channels.structured import Bits, Uniformised
from ldpstats.errors import IncompleteListWarning, InvalidArgument, NotAvailable
from ldpstats.inference.tables.independence import CrossMoments
from ldpstats.labels import as_labels, encode
from ldpstats.likelihood.joint import (
    Alphabet,
    Factor,
    JointRows,
    Stratum,
    Unit,
    along,
    combinations_of,
    each_once,
    linear_features,
    linear_response,
)
from ldpstats.likelihood.rows import DenseRows, other_rows
from ldpstats.mechanisms.base import common_labels
from ldpstats.mechanisms.custom import CustomMechanism
from ldpstats.mechanisms.lumped import lump
from ldpstats.models.layout import in_turn
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Counts, Reports, may_share

_CHUNK = 1 << 16  # reports whose likelihoods are formed at a time
_ROUNDING = 1e-13  # of a ratio of likelihoods
_ZERO = 1e-10  # frequency up to which an estimate is zero
_REPEATED = 2000  # combinations among which equal patterns of bits are looked for
_MOST_CELLS = 1 << 22  # of a table of distinct reports
_DENSE = 4  # cells of a table, per combination that was seen, up to which tables pay
_SMALL_TABLE = 4096  # cells up to which they pay anyway
_MOST_ENTRIES = 1 << 20  # of a channel up to which all reports of bits are listed: 16 categories
_MOST_LISTED = 1 << 20  # combinations of labels that are listed for expected covariances


# -- Arguments: groups, names, candidates, "Other" -----------------------------------------------


OTHER = "Other"
_REST = "(not among the candidates)"  # of lumped reports whose "Other" is then left out
_KEPT = (
    "both reports of a person may come from one permanent response that her device keeps, and the "
    "answers alone do not make them independent: fit each question alone, or waves of one "
    "question by change(..., memoised=True) and cells(..., memoised=True), which know the law"
)
_OTHERS = ("lump", "product", "fpe16")


class VariableSpec:
    """What of a variable is estimated.

    `labels` are the categories of the joint table, with "Other"; `candidates` values to look for
    over an open alphabet; `other` "lump" if it is one of the mechanism's, or the form of its
    likelihood, or none; `complete` says whether every answer is in some category.
    """

    def __init__(
        self,
        labels: pd.Index[Any],
        candidates: Any = None,
        other: str = "",
        complete: bool = True,
    ) -> None:
        self.labels, self.k, self.candidates = labels, len(labels), candidates
        self.other, self.complete = other, complete
        # "Other" is modelled from what candidates leave over
        self.approximate = other in ("product", "fpe16")
        self.is_closed = complete and not self.approximate  # the law of all reports is known


def respondents(reports: Sequence[Any], ids: Sequence[Any] | None) -> list[JointCounts]:
    """The respondents of `AssociationModel(*reports, ids=ids)`, by group of mechanisms.

    The cohorts of a device are such groups.
    """
    alone = len(reports) == 1 and isinstance(reports[0], list | tuple)
    counted = reports[0] if alone else reports
    if counted and all(isinstance(part, JointCounts) for part in counted):
        for part in counted:
            _check_different(part.reports)
        groups = [part.tally() for part in counted]  # results must not hold rows, nor their order
        sizes = [len(part.reports) for part in groups]
        if len(set(sizes)) > 1:
            raise InvalidArgument("reports", f"{sizes} variables", "groups need the same variables")
    elif any(isinstance(part, list | tuple) for part in reports):
        columns = [part if isinstance(part, list | tuple) else [part] for part in reports]
        sizes = list(map(len, columns))
        if len(columns) < 2:
            remedy = "two or more variables are needed, each with a list of its groups"
            raise InvalidArgument("reports", f"{len(columns)} variable", remedy)
        if len(set(sizes)) > 1 or not sizes[0]:
            remedy = "groups: every variable needs the same groups of respondents"
            raise InvalidArgument("reports", sizes, remedy)
        groups = []
        for parts in zip(*columns, strict=True):
            _check_different(parts)
            groups.append(JointCounts(parts).tally())
    else:
        _check_different(reports)
        return JointCounts(reports, ids=ids).tally().by_cohort()
    if ids is not None:
        raise InvalidArgument(
            "ids", "given", "goes with one group of reports: pass JointCounts(reports, ids=ids)"
        )
    return [cohort for group in groups for cohort in group.by_cohort()]


def _check_different(reports: Sequence[Any]) -> None:
    """Refuse one object for two variables: its noise is in both, and passes for association."""
    for (w, earlier), (v, part) in combinations(enumerate(reports), 2):
        y = getattr(part, "y", None)  # what has no reports is refused later
        if y is not None and y is getattr(earlier, "y", None):
            remedy = f"is the same object as reports[{w}]: pass the reports of a second variable, "
            remedy += "or use FrequencyModel for one"
            raise InvalidArgument(f"reports[{v}]", part, remedy)


def refuse_shared(
    groups: Iterable[JointCounts],
    names: Sequence[str],
    memoised: object,
    analysis: str = "association",
    origins: Sequence[str] | None = None,
) -> None:
    """Refuse two reports of a person that may come from one permanent response."""
    # given the answers they are independent only if devices drew both afresh: memoised=False says
    # so, None leaves it to mechanisms and cohorts; `origins` are the questions that waves are of
    if memoised is not None:
        if not boolean("memoised", memoised) or len(names) < 2:
            return
        raise NotAvailable(f"{analysis} of {in_turn(names)}: memoised=True says that {_KEPT}")
    for group in groups:
        for (v, first), (w, second) in combinations(enumerate(group.reports), 2):
            called = (first.name, second.name) if origins is None else (origins[v], origins[w])
            if may_share(first, second, group.n, bool(called[0]) and called[0] == called[1]):
                raise NotAvailable(
                    f"{analysis} of {names[v]!r} and {names[w]!r}: with {first.mechanism} {_KEPT}, "
                    f"or pass memoised=False if devices drew each report afresh"
                )


def together(parts: Sequence[Any]) -> JointCounts:
    """The respondents who answered every question.

    `parts` are `Reports`, matched by row or by their identifiers, or pairs (Reports, mask of rows).
    """
    paired = [isinstance(part, list | tuple) for part in parts]
    rows = [part if pair else (part, None) for part, pair in zip(parts, paired, strict=True)]
    _check_different([row[0] if len(row) else None for row in rows])
    counts = JointCounts.of_rows(rows) if any(paired) else JointCounts(parts)
    return counts.tally()


def variable_names(
    names: Sequence[str] | None, d: int, known: Sequence[str] = ()
) -> tuple[str, ...]:
    """Names of d variables: those given, else those known, else x, y, z or x1, x2, ..."""
    if names is None:
        if len(set(filter(None, known))) == d:
            return tuple(known)
        return tuple("xyz"[:d]) if d <= 3 else tuple(f"x{v + 1}" for v in range(d))
    remedy = f"must be {d} different names, one per variable"
    given = tuple(listed("names", names, remedy))
    for name in given:
        if not isinstance(name, str) or not name:
            raise InvalidArgument("names", name, "must be text")
    given = tuple(map(str.__str__, given))  # of a subclass, perhaps
    if len(given) != d or len(set(given)) < d:
        raise InvalidArgument("names", names, remedy)
    return given


def per_variable(
    name: str, given: Any, names: Sequence[str], scalar: bool = False
) -> tuple[Any, ...]:
    """One value per variable, from one for all (where it is no list), a sequence or a mapping."""
    if given is None or (scalar and isinstance(given, bool | np.bool_ | str)):
        return (given,) * len(names)
    if isinstance(given, Mapping):
        unknown = [key for key in given if not isinstance(key, str) or key not in names]
        if unknown:
            raise InvalidArgument(name, unknown, f"are no variables: they are named {list(names)}")
        return tuple(given.get(key, False if scalar else None) for key in names)
    values = tuple(given) if isinstance(given, list | tuple) else None
    if values is None or len(values) != len(names):
        raise InvalidArgument(
            name, given, f"must hold one element for each of {list(names)}; None for none"
        )
    return values


def prepared(
    parts: Sequence[Reports], candidates: Any, other: Any, name: str
) -> tuple[list[Reports], VariableSpec]:
    """The reports of one variable, lumped where that is asked for, and what is estimated of it.

    The report of a person who was not asked is equally likely in every category.
    """
    asked = [part for part in parts if not says_nothing(part.mechanism)]
    if 0 < len(asked) < len(parts):
        made, spec = prepared(asked, candidates, other, name)
        unasked = replace(UNASKED, Q=np.ones((spec.k, 1)), categories=spec.labels)
        told = dict(zip(map(id, asked), made, strict=True))
        return [told.get(id(part)) or replace(part, mechanism=unasked) for part in parts], spec
    mechanism = parts[0].mechanism
    wanted = _wanted_other(other, mechanism, candidates, name)
    over = candidates if mechanism.is_open else None
    try:
        labels = common_labels([part.mechanism for part in parts], over, "groups")
    except NotAvailable as error:
        raise NotAvailable(f"{name}: {error}") from None
    if candidates is None and not mechanism.is_open:
        return list(parts), VariableSpec(labels)
    keep = labels
    if not mechanism.is_open:
        remedy = f"must be a list of categories of {name}"
        if isinstance(candidates, int | np.integer | Iterator):
            raise InvalidArgument("candidates", candidates, remedy)
        if isinstance(getattr(candidates, "dtype", None), pd.CategoricalDtype):
            candidates = listed("candidates", candidates, remedy)  # what is there alone
        keep = as_labels("candidates", candidates, least=1)
        encode("candidates", keep.tolist(), labels)  # refuses what is no category
        if len(keep) == len(labels):
            if wanted:
                remedy = (
                    f"are all categories of {name}: nothing is left for Other, leave other= out"
                )
                raise InvalidArgument("candidates", list(keep), remedy)
            return list(parts), VariableSpec(labels)
    if wanted and OTHER in keep:
        remedy = f"is the category of {name} that other=True adds"
        raise InvalidArgument("candidates", OTHER, remedy)
    if not wanted and len(keep) < 2:
        raise InvalidArgument("candidates", list(keep), f"leave {name} fewer than two categories")
    if mechanism.is_open:
        labels = labels.append(pd.Index([OTHER])) if wanted else labels
        return list(parts), VariableSpec(labels, candidates, wanted, bool(wanted))
    try:
        lumped = [lump(part, keep, OTHER if wanted else _REST) for part in parts]
    except NotAvailable as error:
        # what lump would have a hashed alphabet do is for open ones here
        why = "its hashes do not keep categories apart" if mechanism.n_cohorts else str(error)
        raise NotAvailable(
            f"categories of {name} cannot be lumped exactly: {why}; fit all of them, "
            "candidates=None, and add up cells of the table"
        ) from None
    labels = lumped[0].mechanism.categories
    if wanted:
        return lumped, VariableSpec(labels, None, "lump")
    warnings.warn(
        f"the categories of {name} that are not among its candidates are ignored, which biases the "
        "estimate if they occur: use other=True",
        IncompleteListWarning,
        stacklevel=5,
    )
    return lumped, VariableSpec(labels[:-1], complete=False)


def says_nothing(mechanism: Any) -> bool:
    """Whether all reports are the same: those of persons who were not asked."""
    return not (mechanism.n_bits or mechanism.n_cohorts) and mechanism.n_outputs == 1


# the device of persons who are not asked; it is given the categories of those who are
UNASKED = CustomMechanism(np.ones((2, 1)), outputs=["not asked"])


def _wanted_other(other: Any, mechanism: Any, candidates: Any, name: str) -> str:
    """The treatment of "Other": "" for none."""
    if other is None or (isinstance(other, bool | np.bool_) and not other):
        return ""
    chosen = isinstance(other, bool | np.bool_)
    if not chosen:
        other = one_of("other", other, _OTHERS)
    if candidates is None:
        if chosen and not mechanism.is_open:
            return ""  # all categories are listed: there is no other
        raise InvalidArgument("candidates", None, f"are needed for {name}: what Other is not")
    if chosen:
        return "product" if mechanism.is_open else "lump"
    if (other == "lump") == mechanism.is_open:
        remedy = f"{name} takes 'product' or 'fpe16', or True: its answers cannot be listed"
        if not mechanism.is_open:
            remedy = (
                f"{name} knows its categories: use True, which lumps exactly where that is "
                "possible, or fit all of them, candidates=None, and add up cells of the table"
            )
        raise InvalidArgument("other", other, remedy)
    return str(other)


# -- A group of respondents, and the scores of its reports ---------------------------------------


class JointGroup:
    """Respondents whose reports all come from the same mechanisms, stratum by stratum.

    Their reports are about the variables that they were `asked`.
    """

    def __init__(self, counts: JointCounts, specs: Sequence[VariableSpec]) -> None:
        self.specs = tuple(specs)
        self.counts, self.slices = counts.strata()
        self.nobs = self.counts.nobs
        columns = zip(*map(self.counts.variable, range(len(specs))), strict=True)
        self.variables: tuple[Counts, ...]  # the distinct reports of each, u_v
        self.index: tuple[Array | None, ...]  # which of them each combination has
        self.variables, self.index = columns
        places = enumerate(counts.mechanisms)
        self.asked = tuple([v for v, mechanism in places if not says_nothing(mechanism)])
        # whether the distinct reports of each variable are known to be few
        self.is_merged = all(index is not None for index in self.index)

    def likelihoods(self, laws: Sequence[Array | None]) -> tuple[DenseRows, ...]:
        """Likelihoods of each variable's distinct reports under its categories, shape (u_v, k_v).

        `laws` of the candidates, of which a modelled "Other" is the rest, (k_v - 1,), or None.
        """
        found = []
        for counts, spec, law in zip(self.variables, self.specs, laws, strict=True):
            rows = counts.mechanism.likelihood(counts, spec.candidates).W
            u, k = rows.shape[0], min(spec.k, rows.shape[1])
            W = np.zeros((u, spec.k))
            for start in range(0, u, _CHUNK):
                block = rows.take(start, min(start + _CHUNK, u))
                W[start : start + len(block), :k] = block[:, :k]
            if law is not None:
                W[:, -1] = other_rows(counts, spec.candidates, law, form=spec.other)
            found.append(DenseRows(W, rows.log_scale))
        return tuple(found)

    def joint_rows(self, likelihoods: Sequence[DenseRows]) -> JointRows:
        """The likelihood of the reports on all variables together."""
        pairs = zip(likelihoods, self.index, strict=True)
        return JointRows([Factor(rows.W, index, rows.scale) for rows, index in pairs])

    def linear_strata(self) -> list[Stratum]:
        """Products of the linear estimates of single reports."""
        factors, equations, alphabets = [], [], []
        columns = zip(self.variables, self.specs, self.index, self.channels, strict=True)
        for v, (counts, spec, index, Q) in enumerate(columns):
            moments = counts.mechanism.moments(counts, spec.candidates)
            equations.append(moments)
            features = linear_features(counts, moments, spec.approximate)[:, : spec.k]
            factors.append(Factor(features, index))
            if self.listed is not None and Q is not None:  # all labels that are possible
                every = each_once(Reports(self.labels[v], counts.mechanism))  # type: ignore[arg-type]
                alphabets.append(Alphabet(linear_features(every, moments), Q))
        rows, strata = JointRows(factors), list[Stratum]()
        for part in self.slices:
            n, responses = self.counts.n[part], []
            reports = zip(equations, self.specs, self.counts.reports, strict=True)
            for moments, spec, own in reports:
                shares = None  # of the cohorts among these respondents
                if own.cohort is not None:
                    total = np.bincount(own.cohort[part], n, own.mechanism.n_cohorts)
                    shares = np.asarray(total / n.sum())
                R = linear_response(moments, shares, spec.approximate)
                responses.append(R[: spec.k, : spec.k])
            told = tuple(responses), tuple(alphabets) or None, self.listed, self.units
            strata.append(Stratum(rows.select(part), n, n, int(n.sum()), *told))
        return strata

    def units(self, loads: Mapping[int, Array]) -> tuple[Unit, ...] | None:
        """The unbiased features of each variable, where those of all are simple."""
        units = []
        for v, mechanism in enumerate(self.counts.mechanisms):
            channel = None if mechanism.n_cohorts else mechanism.channel()
            if isinstance(channel, Uniformised):
                units.append(Unit.of_labels(channel.matrix(), channel.a, channel.b))
            elif isinstance(channel, Bits) and channel.unary:
                load = loads.get(v, np.zeros(channel.k))
                units.append(Unit.of_bits(channel.k, channel.p1, channel.p0, load))
            else:
                return None
        return tuple(units)

    @cached_property
    def labels(self) -> list[Array | None]:
        """The labels that each variable can report; None of bits and cohorts."""
        return [
            None if m.n_bits or m.n_cohorts else m.channel().matrix().any(axis=0).nonzero()[0]
            for m in self.counts.mechanisms
        ]

    @cached_property
    def channels(self) -> list[Array | None]:
        """Channel of all reports that each variable can make, l of them, shape (k, l).

        None where they have cohorts, are too many, or are bits of answers that may be in no
        category. Reports that differ by what says nothing of the answer are one.
        """
        channels: list[Array | None] = []
        for m, spec, labels in zip(self.counts.mechanisms, self.specs, self.labels, strict=True):
            Q = None
            if labels is not None:
                Q = m.channel().matrix()[: spec.k, labels]
            elif not m.n_cohorts and spec.is_closed:
                channel = m.channel()
                k, l = channel.shape  # noqa: E741
                Q = channel.matrix() if k == spec.k and k * l <= _MOST_ENTRIES else None
            channels.append(None if Q is None else np.asarray(Q[:, Q.any(axis=0)]))
        return channels

    @cached_property
    def listed(self) -> tuple[JointRows, Array] | None:
        """All combinations of labels: the channel's columns, and how often each was seen.

        None where reports are no labels or too many, or answers may be in no category.
        """
        places, sizes = [], []
        for y, part, spec in zip(self.labels, self.counts.reports, self.specs, strict=True):
            if y is None or not spec.complete:
                return None
            places.append(np.searchsorted(y, part.y))
            sizes.append(y.size)
        if prod(sizes) > _MOST_LISTED:
            return None
        cells = np.ravel_multi_index(places, sizes)
        seen = np.bincount(cells, self.counts.n, prod(sizes))
        channels: list[Any] = self.channels
        return combinations_of(list(map(np.transpose, channels))), seen

    def uncertain(self, p: Array) -> Array:
        """Cells, shape (k,), whose frequency the reports leave open if the estimate is p."""
        each = zip(self.channels, self.labels, self.specs, strict=True)
        Q = [np.ones((1, s.k)) if y is None or own is None else own.T for own, y, s in each]
        if prod(map(len, Q)) > _MOST_LISTED:
            return np.ones(p.size, dtype=bool)
        p = np.where(p > _ZERO, p, 0.0)
        proofs = np.where(along(p, Q) > 0.0, 0.0, 1.0)
        return (along(proofs, map(np.transpose, Q)) <= 0.0) | (p > 0.0)


@record
class Scores:
    """Likelihoods of a stratum's reports relative to a reference distribution of each variable."""

    group: JointGroup
    part: slice  # of its combinations of reports
    likelihoods: tuple[DenseRows, ...]  # (u_v, k_v), of the distinct reports of the group
    references: Sequence[Array]  # (k_v,)
    means: tuple[Array, ...]  # W p of these reports, shape (u_v,)

    @cached_property
    def n(self) -> Array:
        """Respondents with each combination of reports, shape (m,)."""
        return self.group.counts.n[self.part]

    def information(self, v: int, observed: bool = False) -> Array:
        """Mean outer product of the scores of variable v, (k, k); expected where it is known."""
        Q = self.group.channels[v]
        if Q is not None and not observed:
            law = self.references[v] @ Q
            return np.asarray(np.divide(Q, law, out=np.zeros(Q.shape), where=law > 0.0) @ Q.T)
        W, d, index, n = self.likelihoods[v].W, self.means[v], self.group.index[v], self.n
        if index is None:
            W, d = W[self.part], d[self.part]
        else:
            n = np.bincount(index[self.part], n, len(W))
        return np.asarray(DenseRows(W).gram(n / d**2) / n.sum())

    def stratum(self) -> Stratum:
        """Products of scores: the moments of the dual estimator."""
        group, part, n, alphabets = self.group, self.part, self.n, []
        d, responses = np.ones(len(n)), []  # W p of each combination of reports, (m,)
        columns = zip(self.means, group.index, group.channels, self.references, strict=True)
        for v, (mean, index, Q, p) in enumerate(columns):
            d = d * mean[part if index is None else index[part]]
            responses.append(self.information(v))
            if Q is not None and group.specs[v].is_closed:
                alphabets.append(Alphabet(Q.T / (p @ Q)[:, None], Q))
        return Stratum(
            group.joint_rows(self.likelihoods).select(part),
            n / d,
            n / d**2,
            int(n.sum()),
            tuple(responses),
            tuple(alphabets) if len(alphabets) == len(responses) else None,
            group.listed,
        )

    def centred(self, v: int, rows: Array | slice, to: Array | None = None) -> Array:
        """Scores less one of some distinct reports of variable v; what rounding leaves is zero.

        Or combinations of them, ``scores @ to``.
        """
        scores = self.likelihoods[v].W[rows] / self.means[v][rows, None] - 1.0
        scores[np.abs(scores) < _ROUNDING] = 0.0
        return scores if to is None else scores @ to

    def of_respondents(self, v: int, block: slice) -> Array:
        """Centred scores of variable v of the group's combinations in a block, shape (b, k)."""
        index = self.group.index[v]
        if index is None:
            return self.centred(v, block)
        return self.centred(v, slice(None))[index[block]]

    def chunks(self) -> Iterator[slice]:
        """Blocks of the combinations of the stratum, as the group has them."""
        for start in range(self.part.start, self.part.stop, _CHUNK):
            yield slice(start, min(start + _CHUNK, self.part.stop))

    def blocks(self, v: int, to: Array | None = None) -> Iterator[tuple[Array, Array]]:
        """Centred scores of the respondents, shape (b, k), and how many have each."""
        index, some = self.group.index[v], list[Any](self.chunks())
        counts: Array = self.group.counts.n.astype(np.float64)
        if index is not None:
            counts = np.bincount(index[self.part], self.n, len(self.means[v]))
            some = [np.flatnonzero(counts)]
        for rows in some:
            yield self.centred(v, rows, to), counts[rows]

    def distinct(self, v: int) -> tuple[Array, Array]:
        """Which of its distinct reports on variable v each combination has, and what these are.

        That is: positions among the reports of the group.
        """
        index = self.group.index[v]
        if index is not None:
            where, code = np.unique(index[self.part], return_inverse=True)
            return code.reshape(-1), where
        reports = self.group.counts.reports[v]
        parts = [part[self.part] for part in (reports.y, reports.cohort) if part is not None]
        keys = np.column_stack(parts)
        _, first, code = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return code.reshape(-1), first + self.part.start

    @property
    def repeats(self) -> bool:
        """Whether equal reports are known, or few enough to be looked for."""
        return self.group.is_merged or len(self.n) <= _REPEATED

    @cached_property
    def table(self) -> tuple[Array, Array, Array] | None:
        """Respondents with each pair of distinct reports of two variables, and which these are.

        None where reports hardly ever repeat, or pairs are many.
        """
        if not self.repeats:
            return None
        (x, rows), (y, columns) = self.distinct(0), self.distinct(1)
        if len(rows) * len(columns) > _MOST_CELLS:
            return None
        table = np.zeros((len(rows), len(columns)), dtype=np.int64)
        np.add.at(table, (x, y), self.n)
        return table, rows, columns

    @cached_property
    def is_dense(self) -> bool:
        """Whether products go through the `table` more quickly than from block to block."""
        most = max(_DENSE * len(self.n), _SMALL_TABLE)
        return self.group.is_merged and self.table is not None and self.table[0].size <= most

    @cached_property
    def cross_moments(self) -> CrossMoments:
        """Moments of the scores less one of the first two variables."""
        if self.is_dense and self.table is not None:
            table, rows, columns = self.table
            return CrossMoments.of_table(table, self.centred(0, rows), self.centred(1, columns))
        totals: list[Any] = [0.0] * 5
        for block in self.chunks():
            x, y, n = *(self.of_respondents(v, block) for v in (0, 1)), self.group.counts.n[block]
            nx, ny = x.T * n, y.T * n
            sums = (nx @ y, nx.sum(axis=1), ny.sum(axis=1), nx @ x, ny @ y)
            totals = [total + new for total, new in zip(totals, sums, strict=True)]
        nobs = int(self.n.sum())
        return CrossMoments(nobs, *(total / nobs for total in totals))
