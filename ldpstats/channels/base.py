"""What every channel answers: its matrix, and the same in structured form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.problems.rows.base import Rows

__all__ = ["Channel", "OutputClasses", "n_patterns"]

Array = npt.NDArray[Any]
_LARGEST_MATRIX = 1 << 27  # entries that matrix() is willing to form: 1 GB as float64


@dataclass(frozen=True, eq=False)
class OutputClasses:
    """Reports, or classes of reports that distinguish categories equally well; arrays (c,).

    `log_ratio` is the largest ``ln Q[x, y] / Q[x', y]`` over x and x', in nats; inf where one is
    impossible. `sole` is the category that alone can make the report; -1 where several or none can.
    `size` is the number of reports in the class; 0 for a report that no category can make.
    """

    log_ratio: Array
    sole: Array
    size: Array

    def invertible(self, sensitive: Array) -> npt.NDArray[np.bool_]:
        """Which reveal a category that is not among the codes `sensitive`, shape (c,)."""
        return (self.sole >= 0) & ~np.isin(self.sole, sensitive) & (self.size > 0)

    def protected(self, sensitive: Array) -> npt.NDArray[np.bool_]:
        """Which of the other classes can be made, shape (c,)."""
        return ~self.invertible(sensitive) & (self.size > 0)


def n_patterns(n_bits: int) -> float:
    """Number of patterns of bits; inf where it overflows."""
    return 2.0**n_bits if n_bits < 1024 else np.inf


class Channel(ABC):
    """A known random mechanism from k categories to reports.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> channel = ldp.KRR(("nurse", "teacher", "driver"), epsilon=1.0).channel()
    >>> channel.matrix().round(3)
    array([[0.576, 0.212, 0.212],
           [0.212, 0.576, 0.212],
           [0.212, 0.212, 0.576]])
    >>> channel.forward([0.5, 0.3, 0.2]).round(3)
    array([0.394, 0.321, 0.285])
    >>> channel.epsilon()
    1.0
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of categories k and of possible reports l."""

    @abstractmethod
    def _matrix(self) -> Array:
        """The dense (k, l) matrix; `matrix` checks its size first."""

    @abstractmethod
    def rows(self, y: Any) -> Rows:
        """Likelihood rows of the reports `y`, scaled per row; always feasible."""

    @abstractmethod
    def epsilon(self) -> float:
        """Largest ``ln Q[x, y] / Q[x', y]`` over x, x', y, in nats; inf where one is impossible."""

    def output_classes(self) -> OutputClasses:
        """What each report, or class of reports, distinguishes: see `privacy.uldp`."""
        Q = self.matrix()
        high, low = Q.max(axis=0), Q.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(high > 0.0, np.log(high / low), 0.0)
        makers = np.count_nonzero(Q, axis=0)
        return OutputClasses(ratio, np.where(makers == 1, Q.argmax(axis=0), -1), (makers > 0) + 0.0)

    def one_sided(self, sensitive: Array) -> OutputClasses:
        """What each report says for categories of these codes: see `privacy.osldp`.

        `log_ratio` is then the largest ``ln Q[x, y] / Q[x', y]`` over sensitive x and any x'; -inf
        where no sensitive category can make the report.
        """
        Q = self.matrix()
        makers = np.count_nonzero(Q, axis=0)
        high, low = Q[sensitive].max(axis=0, initial=0.0), Q.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(high > 0.0, np.log(high / low), -np.inf)
        return OutputClasses(ratio, np.where(makers == 1, Q.argmax(axis=0), -1), (makers > 0) + 0.0)

    def protected_epsilon(self, sensitive: Array) -> float:
        """Epsilon of utility-optimised LDP for categories of these codes: see `privacy.uldp`."""
        classes = self.output_classes()
        ratio = np.where(classes.protected(sensitive), classes.log_ratio, 0.0)
        return float(ratio.max(initial=0.0))

    def matrix(self) -> Array:
        """The dense matrix Q, shape (k, l).

        Raises
        ------
        NotAvailable
            When Q has too many entries to enumerate; `likelihood` works for given reports.
        """
        k, l = self.shape  # noqa: E741
        if k * l > _LARGEST_MATRIX:
            size = str(l) if l < 1 << 53 else f"2^{l.bit_length() - 1}"
            raise NotAvailable(
                f"matrix() of a {k} x {size} channel is too large to enumerate: "
                "use channel().likelihood(y), which forms only the columns of observed reports"
            )
        return self._matrix()

    def forward(self, p: Array) -> Array:
        """Law of the report, ``p Q`` of shape (l,), when the category has law `p` of shape (k,)."""
        return np.asarray(p @ self.matrix())

    def information(self, p: Array) -> Array:
        """Expected Fisher information of one report about p, ``Q diag(1/m) Q'``, shape (k, k).

        Raises
        ------
        NotAvailable
            If the possible reports can be neither listed nor summed over.
        InvalidArgument
            If a possible report has probability zero under p.
        """
        Q, m = self.emitted(p)
        return np.asarray((Q / m) @ Q.T)

    def score_moments(self, p: Array, features: Array) -> tuple[Array, Array]:
        """Raw moments of ``u_i = sum_x features[i, x] Q[x, y] / m_y`` of one report, m = p Q.

        Parameters
        ----------
        p : array, shape (k,)
            Frequencies at which the scores are taken.
        features : array, shape (k, k)
            Row i belongs to category i.

        Returns
        -------
        own : array, shape (3, k)
            Means of u_i, u_i^2 and u_i^3 over the reports of category i.
        mean : array, shape (3, k)
            The same over the reports of the frequencies p.
        """
        Q, m = self.emitted(p)
        u = features @ (Q / m)
        own = [np.einsum("iy,iy->i", Q, u**j) for j in (1, 2, 3)]
        return np.array(own), np.array([u**j @ m for j in (1, 2, 3)])

    def score_reach(self, p: Array, features: Array) -> tuple[Array, Array]:
        """Least and largest ``sum_x features[i, x] Q[x, y] / m_y`` of any report y, m = p Q.

        `features` has the shape (q, k), both results have (q,).
        """
        Q, m = self.emitted(p)
        u = features @ (Q / m)
        return u.min(axis=1), u.max(axis=1)

    def emitted(self, p: Array) -> tuple[Array, Array]:
        """Columns of Q that are not zero, and their probabilities under p, all positive."""
        Q = self.matrix()
        Q = Q[:, Q.any(axis=0)]
        m = p @ Q
        if not np.all(m > 0.0):
            raise InvalidArgument(
                "p", p, "gives probability zero to a possible report: use positive frequencies"
            )
        return Q, m

    def likelihood(self, y: Any) -> Array:
        """``W[i, x] = Q[x, y_i]``, shape (u, k)."""
        rows = self.rows(y)
        return np.asarray(rows.dense() * np.exp(rows.log_scale)[:, None])
