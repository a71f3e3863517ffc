"""Utility-optimised mechanisms, which protect some categories and may reveal the others (MK19).

First the reports of `URAP` and their channel; then an epsilon for each sensitive category, `URR`
and `URAP`; reports of both in an analysis together with reports under LDP; and what a respondent
keeps secret under a personalised mechanism.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, positive_epsilon, record
from ldpstats.channels.certificates import Audit, sequential, uldp
from ldpstats.channels.families import Subsets
from ldpstats.channels.structured import (
    BitScores,
    Channel,
    Dense,
    OutputClasses,
    Uniformised,
    bit_ratios,
    check_patterns,
    n_patterns,
    pattern_law,
    unary_scores,
)
from ldpstats.clients.device import check_table, numbers
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.hints import guided
from ldpstats.labels import (
    Codes,
    Labels,
    Mask,
    as_labels,
    encode,
    sensitive_codes,
    sensitive_labels,
)
from ldpstats.likelihood.covariance import independent_bits
from ldpstats.likelihood.moments import Moments
from ldpstats.likelihood.rows import Rows, SensitiveRows, UnaryRows
from ldpstats.mechanisms.base import (
    CategoryBits,
    Mechanism,
    check_theta,
    common_labels,
    even_bit,
    other_bit,
    set_fields,
    threshold_of,
)
from ldpstats.mechanisms.custom import CustomMechanism, Enumerated
from ldpstats.reports.layout import BitFormat, Packed
from ldpstats.reports.single import Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import Words

# -- The form of reports that are noisy bits of sensitive categories, or reveal another category ---


_CODE_TYPES = ("<u1", "<u2", "<u4", "<u8")  # of the number of an answer that a report reveals
_ROWS = 1 << 14  # reports whose bits are copied at a time


@record
class RevealingFormat(BitFormat):
    """Reports of `URAP`: packed bits of the sensitive categories, then the revealed category.

    Number j + 1 stands for the j-th of the categories that are not sensitive, 0 for none. As text
    a report has a bit for each category, in category order.
    """

    sensitive: Codes  # codes of the sensitive categories, ascending

    @cached_property
    def others(self) -> Codes:
        """Codes of the categories that are not sensitive."""
        return np.delete(np.arange(self.n_bits), self.sensitive)

    @cached_property
    def protects(self) -> Mask:
        """Whether each category is sensitive, shape (k,)."""
        mask = np.zeros(self.n_bits, dtype=bool)
        mask[self.sensitive] = True
        return mask

    @property
    def n_others(self) -> int:
        """Number of categories that are not sensitive."""
        return self.n_bits - self.sensitive.size

    @property
    def _width(self) -> int:
        """Bytes of the bits of the sensitive categories."""
        return -(-self.sensitive.size // 8)

    @property
    def _code_type(self) -> str | None:
        """Type of the number after them; None where there is nothing to reveal."""
        N = self.n_others
        return next(t for t in _CODE_TYPES if N < 256 ** int(t[2])) if N else None

    @property
    def packed_bits(self) -> int:
        return 8 * (self._width + int((self._code_type or "<u0")[2]))

    def packing_fault(self, y: Array) -> str:
        S, N = self.sensitive.size, self.n_others
        if S % 8 and (y[:, self._width - 1] >> (S % 8)).any():
            return f"has bits beyond the {S} of the sensitive categories: padding must be zero"
        revealed = self.revealed(y)
        if (revealed > N).any():
            return f"reveals a category beyond the {N} that are not sensitive"
        return "" if S or revealed.all() else "reveals no category, although none is sensitive"

    def sums_fault(self, ones: Array, reports: Array) -> str:
        told = int(ones[0, self.others].sum())
        if told > reports[0]:
            return f"say that {reports[0]} reports reveal {told} answers: each reveals one at most"
        if told < reports[0] and not self.sensitive.size:
            return f"say that {told} of {reports[0]} reports reveal an answer: all do here"
        return ""

    def revealed(self, y: Array) -> Array:
        if self._code_type is None:
            return np.zeros(len(y), dtype=np.int64)
        code = np.ascontiguousarray(y[:, self._width :]).view(self._code_type)
        return code[:, 0].astype(np.int64)

    def pack(self, bits: Packed, revealed: Array) -> Packed:
        """Packed reports from packed bits, (n, width), and numbers of revealed categories."""
        if self._code_type is None:
            return bits
        code = revealed.astype(self._code_type)[:, None].view(np.uint8)
        return np.concatenate([bits, code], axis=1)

    def unpack(self, y: Array) -> Array:
        bits = np.zeros((len(y), self.n_bits), dtype=bool)
        noised = BitFormat(self.sensitive.size).unpack(y[:, : self._width])
        bits[:, self.sensitive] = noised
        revealed = self.revealed(y)
        at = np.flatnonzero(revealed)
        bits[at, self.others[revealed[at] - 1]] = True
        return bits

    def sum_bits(
        self, y: Array, n: Array | None = None, cohort: Array | None = None, n_cohorts: int = 1
    ) -> Array:
        revealed, bits = self.revealed(y), y[:, : self._width]
        noised, sums = BitFormat(self.sensitive.size), np.zeros(self.n_bits, dtype=np.int64)
        told = np.bincount(revealed, weights=n, minlength=self.others.size + 1)[1:]
        sums[self.others] = np.rint(told)
        for start in range(0, len(y), _ROWS):
            times = None if n is None else n[start : start + _ROWS]
            sums[self.sensitive] += noised.sum_bits(bits[start : start + _ROWS], times)[0]
        return sums[None]

    def condense(self, y: Array, n: Array | None) -> tuple[Array, Array | None, Array | None]:
        """Reports that reveal a category are a row for each, without the noise around it."""
        revealed = self.revealed(y)
        told = revealed > 0
        if not told.any():
            return y, n, None
        times = np.ones(len(y), dtype=np.int64) if n is None else n
        counts = np.bincount(revealed[told], weights=times[told], minlength=1).astype(np.int64)
        seen, kept = np.flatnonzero(counts), np.flatnonzero(~told)
        left = np.empty((kept.size + seen.size, y.shape[1]), np.uint8)  # the only copy of reports
        np.take(y, kept, axis=0, out=left[: kept.size], mode="clip")
        left[kept.size :] = self.pack(np.zeros((seen.size, self._width), np.uint8), seen)
        times = np.concatenate([times[kept], counts[seen]])
        noise = (self.sum_bits(y, n) - self.sum_bits(left, times))[0]
        return left, times, noise if noise.any() else None

    def from_table(self, name: str, packed: Packed) -> Array:
        bits = super().unpack(super().from_table(name, packed))
        told = bits[:, self.others]
        many = np.flatnonzero(told.sum(axis=1) > 1)
        if many.size:
            raise InvalidArgument(
                f"{name}[{many[0]}]",
                "".join("01"[b] for b in bits[many[0]].astype(int)),
                "has two bits that are not sensitive: a report has one at most",
            )
        if not self.sensitive.size and not told.any(axis=1).all():
            i = int(np.argmin(told.any(axis=1)))
            raise InvalidArgument(
                f"{name}[{i}]", "0" * self.n_bits, "has no bit: none is sensitive"
            )
        revealed = np.where(told.any(axis=1), told.argmax(axis=1) + 1, 0) if told.size else 0
        noised = np.packbits(bits[:, self.sensitive], axis=1, bitorder="little")
        return self.pack(noised, np.broadcast_to(revealed, len(bits)))

    def to_table(self, y: Array) -> Packed:
        return np.packbits(self.unpack(y), axis=1, bitorder="little")


# -- The channel of utility-optimised RAPPOR ------------------------------------------------------


@record
class SensitiveBits(Channel):
    """Reports of `URAP`: the patterns of the sensitive bits, then the answers that are revealed."""

    format: RevealingFormat
    p1: float | Array  # P(bit = 1) of a sensitive category that is the answer, or (S,)
    d1: float | Array  # and of one that is not
    d2: float  # P(protected report) of an answer that is not sensitive
    told: float  # 1 - d2

    @property
    def _at(self) -> Codes:
        return self.format.sensitive

    @property
    def _others(self) -> Codes:
        return self.format.others

    @property
    def shape(self) -> tuple[int, int]:
        S = self._at.size
        return self.format.n_bits, (int(2**S) if S else 0) + self.format.n_others

    def matrix(self) -> Array:
        check_patterns(self._at.size)
        return super().matrix()

    def _matrix(self) -> Array:
        k, l = self.shape  # noqa: E741
        Q, patterns = np.zeros((k, l)), l - self._others.size
        if self._at.size:
            # any bit that the answer does not own is noise
            d1 = np.broadcast_to(self.d1, self._at.size)
            own = d1 + (np.broadcast_to(self.p1, d1.shape) - d1) * np.eye(d1.size)
            Q[self._at, :patterns] = pattern_law(own)
            Q[self._others, :patterns] = self.d2 * pattern_law(d1[None])
        Q[self._others, patterns + np.arange(self._others.size)] = self.told
        return Q

    def _protected_scores(self) -> BitScores:
        """The law of protected reports; the sensitive categories come first."""
        leftover = np.full(self._others.size, self.d2)
        return unary_scores(self.p1, self.d1, self._at.size, leftover)

    def information(self, p: Array) -> Array:
        J = np.zeros((p.size, p.size))
        if self._at.size:
            order = np.concatenate([self._at, self._others])
            J[np.ix_(order, order)] = self._protected_scores().information(p[order])
        told = p[self._others]
        if np.any(told <= 0.0):
            raise InvalidArgument("p", p, "must be positive where a report reveals the category")
        J[self._others, self._others] += self.told / told
        return J

    def score_moments(self, p: Array, features: Array) -> tuple[Array, Array]:
        others = self._others
        own, mean = np.zeros((3, p.size)), np.zeros((3, p.size))
        if self._at.size:
            order = np.concatenate([self._at, others])
            found = self._protected_scores().moments(p[order], features[np.ix_(order, order)])
            own[:, order], mean[:, order] = found
            own[:, others] *= self.d2
        u = features[:, others] / p[others]  # of reports that reveal
        for j in range(3):
            own[j, others] += (
                self.told * np.diagonal(features)[others] ** (j + 1) / p[others] ** (j + 1)
            )
            mean[j] += self.told * (u ** (j + 1) @ p[others])
        return own, mean

    def score_reach(self, p: Array, features: Array) -> tuple[Array, Array]:
        others = self._others
        told = features[:, others] / p[others]
        if not self._at.size:
            return told.min(axis=1), told.max(axis=1)
        order = np.concatenate([self._at, others])
        low, high = self._protected_scores().reach(p[order], features[:, order])
        return (
            np.minimum(low, told.min(axis=1, initial=np.inf)),
            np.maximum(high, told.max(axis=1, initial=-np.inf)),
        )

    def rows(self, y: Packed) -> Rows:
        revealed = self.format.revealed(y)
        protected = np.count_nonzero(revealed == 0)
        # counts have these first: part of the same array, whose last bytes, the number, are zero
        packed = y[:protected] if not revealed[:protected].any() else y[revealed == 0]
        return SensitiveRows(
            UnaryRows(packed, self.p1, self.d1, self._at.size),
            revealed == 0,
            self._others[revealed[revealed > 0] - 1],
            self.format.protects,
            self.told,
            self.d2,
        )

    def epsilon(self) -> float:
        return float("inf") if self.format.n_others else float(self.raised().max())

    def protected_epsilon(self, sensitive: Array) -> float:
        if np.setdiff1d(sensitive, self._at).size:  # revealed by a report
            return float("inf")
        return float(self.raised().max())

    def raised(self) -> Array:
        """Largest ``ln Q[x, y] / Q[x', y]`` over protected y and all other x', in nats.

        Of each sensitive category x, or of two where they are alike, then of all that are not.
        """
        S: int = self._at.size
        p1: Any = self.p1
        d1: Any = self.d1
        if np.ndim(p1):
            logs = np.log(p1) - np.log(d1), np.log1p(-p1) - np.log1p(-d1)
            bits = list(zip(np.maximum(*logs), -np.minimum(*logs), strict=True))
        else:
            bits = [bit_ratios(p1, d1)] * min(S, 2)
        return _raised(bits, -float(np.log(self.d2)) if S and self.format.n_others else None)

    def output_classes(self) -> OutputClasses:
        S, others = self._at.size, self._others
        ratios, sole, size = [], [], []
        if S:
            ratios, sole, size = [float(self.raised().max())], [-1], [n_patterns(S)]
        return OutputClasses(
            np.append(ratios, np.full(others.size, np.inf)),
            np.append(sole, others).astype(np.int64),
            np.append(size, np.ones(others.size)),
        )

    def one_sided(self, sensitive: Array) -> OutputClasses:
        classes, mask = self.output_classes(), np.zeros(self.format.n_bits, dtype=bool)
        mask[sensitive] = True
        ratio = np.where(mask[classes.sole], np.inf, -np.inf)  # of reports that reveal
        if self._at.size and mask.any():
            raised, at = self.raised(), mask[self._at]
            own = raised[:-1][at] if np.ndim(self.p1) else raised[:-1][: int(at.sum())]
            ratio[0] = max(own.max(initial=0.0), raised[-1] * mask[self._others].any())
        return replace(classes, log_ratio=ratio)


def _raised(bits: list[tuple[float, float]], hidden: float | None) -> Array:
    """Largest log ratios of a protected report for each answer, shape (S + 1,), against any other.

    From those of a bit for and against its owner. The last is an answer without a bit, whose
    reports are `hidden` less often, in nats; None if there is none.
    """
    pairs = np.array([*bits, (-np.inf, -np.inf) if hidden is None else (-hidden, hidden)])
    if not bits:
        return np.zeros(1)
    up, down = pairs.T
    order = np.argsort(-down)
    rival = np.full(up.size, down[order[0]])
    rival[order[0]] = down[order[1]]
    return np.asarray(np.maximum(up + rival, 0.0))


# -- An epsilon for each sensitive category, as `URR` and `URAP` take it --------------------------


class Levelled(Mechanism):
    """A mechanism that protects each sensitive category with an epsilon of its own.

    A subclass has `levels`, those of the sensitive categories where they differ, else None.
    """

    levels: Any

    def __post_init__(self) -> None:
        set_fields(self, categories=as_labels("categories", self.categories))
        sensitive: Any = self.sensitive
        epsilon, levels = self.epsilon, self.levels
        if isinstance(epsilon, Mapping):
            if levels is not None:
                raise InvalidArgument("levels", levels, "goes without an epsilon of each category")
            sensitive = list(epsilon) if sensitive is None else sensitive
        labels = sensitive_labels(sensitive_codes(sensitive, self.categories), self.categories)
        if isinstance(epsilon, Mapping):
            levels = _levels(epsilon, labels)
        if levels is not None:
            levels = checked_levels(levels, labels)
            top = max(levels)
            known = isinstance(epsilon, int | float | np.number) and epsilon == top
            if not known and not isinstance(epsilon, Mapping):
                raise InvalidArgument("epsilon", epsilon, f"must be the largest of levels, {top}")
            epsilon, levels = top, None if len(set(levels)) == 1 else levels
        epsilon = positive_epsilon("epsilon", epsilon)
        set_fields(self, sensitive=labels, epsilon=epsilon, levels=levels)

    @cached_property
    def _at(self) -> Codes:
        """Codes of the sensitive categories."""
        return sensitive_codes(self.sensitive, self.categories)

    def _worst(self, raised: Array) -> float:
        """Largest epsilon of a category; where levels differ, plus what one leaks beyond its own.

        Of each sensitive category, then of all others where there is one more.
        """
        if self.levels is None:
            return float(raised.max())
        return float(self.epsilon + np.max(raised - np.append(self.levels, 0.0)[: raised.size]))

    def audit(self) -> Audit:
        """Compare the declared epsilon with Q and with the sampler's integer thresholds.

        Where categories differ in epsilon each is compared with its own: the values shown are the
        largest epsilon, plus what the category that leaks most beyond its own leaks too much.
        """
        audit = super().audit()
        if self.levels is None:
            return audit
        Q: Any = self.channel()
        raised = Q.ratios(self._at) if isinstance(Q, Uniformised) else Q.raised()
        return replace(audit, channel=self._worst(raised))

    def pair_epsilon(self) -> Array:
        """The guarantee for each pair, ``G[x, x']``, shape (k, k), in nats.

        It bounds ``ln P(y | x) / P(y | x')`` for all protected reports y: by the epsilon of x,
        which is reached, if x is sensitive, and by 0 if it is not.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> ldp.URR(("a", "b", "c"), epsilon={"a": 0.5, "b": 2.0}).pair_epsilon()
        array([[0. , 0.5, 0.5],
               [2. , 0. , 2. ],
               [0. , 0. , 0. ]])
        """
        row = np.zeros(self.k)
        row[self._at] = self.epsilon if self.levels is None else self.levels
        return np.where(np.eye(self.k, dtype=bool), 0.0, row[:, None])


def _levels(epsilon: Mapping[Any, Any], sensitive: Labels) -> list[Any]:
    """Epsilon of each sensitive category, in order; none may lack one, or have none to have."""
    for label in epsilon:
        if label not in sensitive:
            remedy = "is of no sensitive category: leave it out, or name the category in sensitive"
            raise InvalidArgument(f"epsilon[{label!r}]", epsilon[label], remedy)
    for label in sensitive.tolist():
        if label not in epsilon:
            raise InvalidArgument(
                "epsilon", dict(epsilon), f"lacks the sensitive category {label!r}: give it one"
            )
    if not epsilon:
        raise InvalidArgument("epsilon", {}, "names no category: give sensitive=() and a number")
    return [epsilon[label] for label in sensitive.tolist()]


def checked_levels(levels: Any, labels: Labels, name: str = "epsilon") -> tuple[float, ...]:
    """An epsilon for each of the labels; `name` is what a mapping of them would be called."""
    given = levels if isinstance(levels, list | tuple) else [levels]
    if not len(labels):
        raise InvalidArgument("levels", levels, "must be None where no category is sensitive")
    if len(given) != len(labels):
        raise InvalidArgument("levels", levels, f"must be {len(labels)} epsilons, one each")
    return tuple(
        positive_epsilon(f"{name}[{label!r}]", value)
        for label, value in zip(labels.tolist(), given, strict=True)
    )


@guided
@record
class URR(Levelled, Enumerated):
    """Utility-optimised randomised response (MK19 Definition 3): noise for sensitive answers only.

    With S sensitive categories, ``P(y | x)`` is ``c1 = e^eps / (S + e^eps - 1)`` if y = x is
    sensitive, ``c2 = 1 / (S + e^eps - 1)`` if y is another sensitive category, whatever x, and
    ``c3 = 1 - S c2`` if y = x is not sensitive. A sensitive answer is always reported as a
    sensitive one. Another is reported as it is with probability c3, which reveals it, and as one
    of the sensitive categories otherwise, so that these may have come from anyone.

    With all categories sensitive this is k-RR, with none the answers themselves, and for two
    categories Mangat's design.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    sensitive : set or sequence of labels
        The categories to protect, in any order. May be left out where `epsilon` names them.
    epsilon : float, or dict from label to float
        Privacy of one report, in nats; of each sensitive category its own if a dict.
    levels : sequence of float, optional
        Epsilon of each sensitive category, in category order: what a dict becomes, with the
        largest as `epsilon`.

    Raises
    ------
    InvalidArgument
        For an epsilon that is not positive, a dict that lacks a sensitive category, a sensitive
        category named twice, or no `sensitive` and no dict.
    UnknownCategory
        For a sensitive category that is not among `categories`.

    Notes
    -----
    With an epsilon for each sensitive category, ``P(y | x) = b_y + a [x = y]`` where
    ``b_y = a / (e^{eps_y} - 1)`` for sensitive y, and ``a = 1 / (1 + sum_y 1 / (e^{eps_y} - 1))``.
    What is guaranteed is that no protected report raises the odds of a sensitive category x against
    any other category by more than ``e^{eps_x}``, nor those of another category at all: of two
    sensitive categories, no report favours one over the other by more than the larger epsilon. The
    stricter demand that no report may count *against* x by more than ``e^{eps_x}`` either would
    hold all categories to twice the smallest epsilon, as each differs from that category by no more
    than its epsilon. `pair_epsilon` gives the guarantee, and the audit reads it off Q.

    Examples
    --------
    >>> urr = URR(("nurse", "teacher", "driver", "cook"), {"nurse", "cook"}, epsilon=np.log(3))
    >>> urr.channel().matrix()
    array([[0.75, 0.  , 0.  , 0.25],
           [0.25, 0.5 , 0.  , 0.25],
           [0.25, 0.  , 0.5 , 0.25],
           [0.25, 0.  , 0.  , 0.75]])

    Two levels of protection:

    >>> urr = URR(("a", "b", "c"), epsilon={"a": np.log(2), "b": np.log(5)})
    >>> urr.channel().matrix().round(4)
    array([[0.8889, 0.1111, 0.    ],
           [0.4444, 0.5556, 0.    ],
           [0.4444, 0.1111, 0.4444]])
    """

    categories: Any
    sensitive: Any = None
    epsilon: Any = None
    levels: Any = None

    @cached_property
    def _channel(self) -> Uniformised:
        # in powers of e^-eps, which cannot overflow
        each = self.epsilon if self.levels is None else np.array(self.levels)
        odds = np.broadcast_to(np.exp(-each) / -np.expm1(-each), self._at.shape)  # 1/(e^eps - 1)
        total = 1.0 + (self._at.size * odds[0] if self.levels is None and odds.size else odds.sum())
        return _Scattered(self.k, float(1.0 / total), self._at, odds / total)

    # -- sampling --------------------------------------------------------------------------------

    def _keep(self) -> int:
        """Threshold of keeping the answer; rounded towards more privacy."""
        return threshold_of(self._channel.a, self._channel.replaced)

    @cached_property
    def _replacements(self) -> samplers.IntegerRows | None:
        """The law of a replaced answer; None where it is uniform on the sensitive categories."""
        if self.levels is None:
            return None
        law = self._channel.noise(self._at)
        law = law / law.sum()
        # the integers are rounded down, which would leak where they are few: here they are not
        rare = law < 2.0**-32
        law[rare] = np.ldexp(np.ceil(np.ldexp(law[rare], 64)), -64)
        return samplers.integer_rows(law[None])

    def sample(self, codes: Array, words: Words) -> Array:
        out = np.array(samplers.sample_krr(codes, self.k, 1 << 64, words))  # checks their range
        replaced = np.flatnonzero(~samplers.sample_coins(out.size, self._keep(), words))
        nowhere = np.zeros(replaced.size, dtype=np.int64)
        if self._replacements is not None:
            drawn = samplers.sample_rows(nowhere, self._replacements, words)
        elif self._at.size:
            drawn = samplers.sample_krr(nowhere, self._at.size, 0, words)
        else:
            drawn = nowhere
        out[replaced] = self._at[drawn]
        return out

    def _draw_document(self) -> dict[str, Any]:
        law, by = self._replacements, self._at.tolist()
        draw = {"kind": "replace", "keep": str(self._keep()), "by": by}
        return draw if law is None else draw | {"law": law.document(len(by))["rows"][0]}

    def _sampler_epsilon(self) -> float:
        if self.levels is None:
            return super()._sampler_epsilon() if self._at.size else 0.0
        keep, law = self._keep(), self._replacements
        assert law is not None
        weights = portable.weights(law.upper[0].tolist())
        replaced = [(portable.W - keep) * weight for weight in weights]
        own = [portable.log_ratio(keep * portable.W + by, by) for by in replaced]
        return self._worst(np.array(own))


@dataclass(frozen=True, eq=False, init=False)
class _Scattered(Uniformised):
    """``Q = a I + 1 b'`` with b zero but at S categories; it is spread out when it is asked for."""

    at: Codes  # increasing
    weights: Array  # b at these, positive

    def __init__(self, k: int, a: float, at: Codes, weights: Array) -> None:
        for name, value in (("k", k), ("a", a), ("at", at), ("weights", weights)):
            object.__setattr__(self, name, value)

    @cached_property  # type: ignore[misc]  # a field of the class above
    def b(self) -> Array:
        b = np.zeros(self.k)
        b[self.at] = self.weights
        return b

    def noise(self, y: Array | slice = slice(None)) -> Array:
        if isinstance(y, slice):
            return self.b[y]
        # one more, beyond all categories, where the search may end
        at, weights = np.append(self.at, self.k), np.append(self.weights, 0.0)
        place = np.searchsorted(self.at, y)
        return np.where(at[place] == y, weights[place], 0.0)

    @property
    def replaced(self) -> float:
        return float(self.weights.sum())

    def epsilon(self) -> float:
        if self.at.size < self.k:  # a report of any other category reveals it
            return float("inf")
        return float(self.ratios(self.at).max())

    def protected_epsilon(self, sensitive: Array) -> float:
        if np.setdiff1d(sensitive, self.at).size:  # revealed by a report
            return float("inf")
        return float(self.ratios(self.at).max(initial=0.0))


# -- Utility-optimised RAPPOR ---------------------------------------------------------------------


@record
class URAP(Levelled, CategoryBits):
    """Utility-optimised RAPPOR (MK19 Definition 4): a bit per category, noise for sensitive ones.

    The bit of a sensitive category is 1 with probability `theta` if it is the answer, and with
    ``d1 = theta / ((1 - theta) e^eps + theta)`` if it is not. The bit of any other category is 1
    with probability ``1 - d2``, ``d2 = 1 - theta (1 - e^-eps)``, if it is the answer, which it then
    reveals, and never if it is not. Every report with no such bit is protected.

    With all categories sensitive this is `KRAPPOR`. With none, answers are reported as they are:
    there is no protected report that they would have to help to hide, and d2 is zero.

    Parameters
    ----------
    categories, sensitive, epsilon, levels
        As in `URR`.
    theta : float, optional
        P(own bit = 1) of a sensitive category, in (0, 1), of that with the smallest epsilon;
        ``e^{eps/2} / (1 + e^{eps/2})`` by default. `planning.best_theta` finds the one with the
        smallest expected loss.

    Raises
    ------
    InvalidArgument, UnknownCategory
        As for `URR`; for theta outside (0, 1).

    Notes
    -----
    A report is kept as the bits of the sensitive categories, packed, and the number of the revealed
    category after them (0 for none): see `Reports.y`. Counts of revealed answers are plain numbers;
    the noise around them does not depend on the answer, and only its sums are kept, for the
    linear estimate. As text, in files, a report has a bit for each category, in category order.

    With an epsilon for each sensitive category x, what is guaranteed is that of `URR`: no protected
    report raises the odds of x against any other category by more than ``e^{eps_x}``, nor those of
    a category that is not sensitive at all (`pair_epsilon`). Let u_x and v_x be the likelihoods of
    a set and of a clear bit of x, over those of noise. A report with the bit of x alone, against
    one of x' without, shows that the guarantee is ``u_x <= v_x' e^{eps_x}``, and against other
    categories ``u_x <= d2 e^{eps_x}`` and ``d2 <= v_x``. The variance of the estimate of x grows
    with ``1 / ((1 - v_x) (u_x - 1))``, so for a given d2 the best choice has ``v_x = d2`` and
    ``u_x = d2 e^{eps_x}`` for all x: ``P(bit = 1) = (1 - d2) / (1 - e^{-eps_x})`` if x is the
    answer and ``(1 - d2) / (d2 (e^{eps_x} - 1))`` if not, with d2 as of the smallest epsilon.

    Examples
    --------
    >>> urap = URAP(("nurse", "teacher", "cook"), {"cook"}, epsilon=2 * np.log(3))
    >>> round(urap.p1, 12), round(urap.d1, 12), round(urap.d2, 12)
    (0.75, 0.25, 0.333333333333)
    >>> urap.channel().matrix().round(4)   # reports 0 and 1 are protected, 2 and 3 reveal
    array([[0.25  , 0.0833, 0.6667, 0.    ],
           [0.25  , 0.0833, 0.    , 0.6667],
           [0.25  , 0.75  , 0.    , 0.    ]])

    Two levels of protection: reports 0 to 3 are protected, and 4 reveals.

    >>> urap = URAP(("a", "b", "c"), epsilon={"a": np.log(4), "b": np.log(16)})
    >>> urap.channel().matrix().round(4)
    array([[0.3111, 0.6222, 0.0222, 0.0444, 0.    ],
           [0.3111, 0.1556, 0.3556, 0.1778, 0.    ],
           [0.3111, 0.1556, 0.0222, 0.0111, 0.5   ]])
    """

    categories: Any
    sensitive: Any = None
    epsilon: Any = None
    theta: float | None = None
    levels: Any = None
    _unwritten: ClassVar = {"levels": None}  # as before there were levels

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.theta is not None:
            set_fields(self, theta=check_theta(self.theta, self.levels is not None))

    def _report_names(self, size: int) -> Array:
        form, patterns = self.format, size - self.format.n_others
        bits = np.zeros((size, self.k), dtype=np.uint8)
        number = np.arange(patterns)[:, None] >> np.arange(form.sensitive.size)
        bits[:patterns, form.sensitive] = number & 1
        bits[patterns + np.arange(form.n_others), form.others] = 1
        return np.array(["".join(row) for row in bits.astype(str)], dtype=object)

    @property
    def _least(self) -> float:
        """The smallest epsilon."""
        return float(self.epsilon if self.levels is None else min(self.levels))

    @property
    def p1(self) -> Any:
        """P(bit = 1) of a sensitive category that is the answer: theta.

        Where levels differ, of each sensitive category, shape (S,).
        """
        if self.levels is not None:
            return self._graded[0]
        return even_bit(self.epsilon / 2)[0] if self.theta is None else self.theta

    @property
    def d1(self) -> Any:
        """P(bit = 1) of a sensitive category that is not the answer; (S,) where levels differ."""
        if self.levels is not None:
            return self._graded[1]
        if self.theta is None:
            return even_bit(self.epsilon / 2)[1]
        return other_bit(self.theta, self.epsilon)

    @cached_property
    def _graded(self) -> tuple[Array, Array, Array]:
        """P(bit = 1) of the answer and of another, and their difference, where levels differ."""
        eps, least, told = np.array(self.levels), self._least, self.told
        share = -np.expm1(-eps)  # 1 - e^-eps
        rise = eps - least / 2  # ln d2 e^eps, in a form that keeps its digits
        if self.theta is not None:
            rise = eps - least + np.log1p((1.0 - self.theta) * np.expm1(least))
        clear = -np.expm1(-rise) / share  # 1 - d1
        own = _rounded(told / share, self.d2 * clear, "down")
        other = _rounded(told * np.exp(-rise) / share, clear, "up")
        return own, other, np.asarray(other * np.expm1(rise))

    @property
    def d2(self) -> float:
        """P(protected report) of an answer that is not sensitive."""
        if not self._at.size:
            return 0.0
        if self.theta is None:
            return float(np.exp(-self._least / 2))
        # `told` may be near one
        return float(1.0 - self.theta + self.theta * np.exp(-self._least))

    @property
    def told(self) -> float:
        """1 - d2, P(report reveals the answer) of an answer that is not sensitive."""
        if not self._at.size:
            return 1.0
        if self.theta is None:
            return float(-np.expm1(-self._least / 2))
        return float(-self.theta * np.expm1(-self._least))

    @cached_property
    def format(self) -> RevealingFormat:
        return RevealingFormat(self.k, sensitive_codes(self.sensitive, self.categories))

    # -- what is known of the reports -----------------------------------------------------------

    @cached_property
    def _channel(self) -> SensitiveBits:
        """Q of the reports as they are counted: a revealed answer without the noise around it."""
        return SensitiveBits(self.format, self.p1, self.d1, self.d2, self.told)

    @property
    def _chances(self) -> tuple[Array, Array]:
        own, other = np.full(self.k, self.told), np.zeros(self.k)
        own[self._at], other[self._at] = self.p1, self.d1
        return own, other

    def _moments(self, counts: Any) -> Moments:
        """Equations of all bits, those around revealed answers included (MK19 section 2.5)."""
        rise: Any  # theta - d1, of which a subtraction would lose digits at small epsilon
        if self.levels is not None:
            rise = self._graded[2]
        elif self.theta is None:
            rise = float(np.tanh(self.epsilon / 4.0))
        else:
            rise = float(self.d1 * (1.0 - self.theta) * np.expm1(self.epsilon))
        p1, p0 = self._chances
        slope = np.full(self.k, self.told)
        slope[self._at] = rise
        found = self._equations(
            "sensitive", counts, slope, p0, lambda p, n: independent_bits(p, p1, p0, n)
        )
        # where none is sensitive the bits are those of labels
        return found if self._at.size else replace(found, weights=found.nobs / (slope / self.k))

    # -- sampling --------------------------------------------------------------------------------

    def _thresholds(self) -> tuple[list[int], list[int], int]:
        """Of the own bits, of others', and of revealing; all rounded towards more privacy.

        Of each sensitive category, or of two that stand for all where they are alike.
        """
        S, certain = self._at.size, 1 << 64
        shown = min(S, 2) if self.levels is None else S
        p1, d1 = np.broadcast_to(self.p1, shown).tolist(), np.broadcast_to(self.d1, shown).tolist()
        other = [max(samplers.threshold(d, "up"), 1) for d in d1]
        if self.theta is None and self.levels is None:
            own = [certain - threshold for threshold in other]
        else:
            own = [samplers.threshold(p, "down") for p in p1]
        if not S:
            return own, other, certain
        return own, other, threshold_of(self.told, self.d2)

    def _each(self) -> tuple[list[int], list[int], int]:
        """Thresholds of own bits, of others' and of revealing, for each sensitive category."""
        own, other, told = self._thresholds()
        if self.levels is None:
            own, other = own[:1] * self._at.size, other[:1] * self._at.size
        return own, other, told

    def _draw_document(self) -> dict[str, Any]:
        check_table(self, 3 * self._at.size)
        own, other, told = self._each()
        thresholds = {"own": numbers(own), "other": numbers(other), "told": str(told)}
        return {"kind": "reveal", "sensitive": self._at.tolist(), **thresholds}

    def sample(self, codes: Array, words: Words) -> Array:
        S = self._at.size
        own, other, told = self._each()
        # the others own one more bit, which is set where the answer is revealed
        place = np.full(self.k, S)
        place[self._at] = np.arange(S)
        number = np.zeros(self.k, dtype=np.int64)
        others = self.format.others
        number[others] = np.arange(1, others.size + 1)
        codes = np.array(samplers.sample_krr(codes, self.k, 1 << 64, words))  # checks their range
        drawn = samplers.sample_bits(place[codes][:, None], S + 1, [*own, told], [*other, 0], words)
        revealed = (drawn[:, S >> 3] >> np.uint8(S & 7)) & 1
        drawn[:, S >> 3] &= np.uint8(255 ^ (1 << (S & 7)))
        return self.format.pack(drawn[:, : -(-S // 8)], number[codes] * revealed)

    def _sampler_epsilon(self) -> float:
        if not self._at.size:
            return 0.0
        own, other, told = self._thresholds()
        bits = [portable.rise_and_fall(*pair) for pair in zip(own, other, strict=True)]
        hidden = portable.log_ratio(portable.W, portable.W - told)
        return self._worst(_raised(bits, hidden if self.format.n_others else None))


def _rounded(chance: Array, rest: Array, towards: str) -> Array:
    """Probabilities from the smaller of themselves and their complements, which has the digits."""
    large = 1.0 - rest
    wrong = 1.0 - large < rest if towards == "down" else 1.0 - large > rest
    large = np.where(wrong, np.nextafter(large, 0.0 if towards == "down" else 1.0), large)
    return np.where(chance < 0.5, chance, large)


# -- Reports of utility-optimised mechanisms for an analysis together with reports under LDP ------


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
    common_labels(mechanisms, None, "two reports about the same answer")
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
        listed = np.packbits(channel.patterns(), axis=1, bitorder="little")
        place = 256 ** np.arange(listed.shape[1])
        codes = np.searchsorted(listed @ place, reports.y.astype(np.int64) @ place)
        return channel.matrix(), codes, mechanism._report_names(0).tolist()
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
    Q = channel.matrix()
    packed = reports.y[:, : -(-noised.size // 8)].astype(np.int64)
    number = packed @ 256 ** np.arange(packed.shape[1])
    patterns = Q.shape[1] - (mechanism.n_bits - noised.size)
    codes = np.where(revealed > 0, patterns - 1 + revealed, number)
    return Q, codes, mechanism._report_names(Q.shape[1]).tolist()


# -- Reading what each respondent keeps secret under a personalised mechanism ---------------------


def secret_codes(tag: Any, own: object, categories: Labels) -> Iterable[int]:
    """Codes of a respondent's own categories; messages name the tag, never a category."""
    if isinstance(own, str | bytes) or not isinstance(own, Iterable):
        raise InvalidArgument("tags", tag, "must be given a set or list of categories, even of one")
    try:
        codes: list[int] = encode("tags", list(own), categories)[0].tolist()
        return codes
    except Exception:  # any: its message may show what was given
        pass
    # raised out here, where that exception is no context of it
    raise InvalidArgument("tags", tag, "was given an unknown category")
