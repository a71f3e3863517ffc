"""What a fit of several groups returns: the frequencies of each, and how the groups differ."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ldpstats.arguments.labels import labels_to_json
from ldpstats.errors import InvalidArgument
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.grouped.labels import Label, group_label, stacked_index, told
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.storage import Stored

__all__ = ["GroupedResults"]


@dataclass(frozen=True, eq=False)
class GroupedResults(Stored):
    """Estimated frequencies of one privatised variable in several groups of respondents.

    Attributes
    ----------
    params, bse : Series, indexed by group and category
        Estimated frequencies and their standard errors, g groups of k categories.
    groups : Index
        Labels of the groups that were fitted.
    results : dict
        The `FrequencyResults` of each group, by its label; ``grouped[label]`` is one of them.
    sizes : Series
        Reports in each group.
    nobs, n_missing : int
        Reports in all groups, and their respondents who gave no answer.
    n_ungrouped : int
        Respondents who are in no group.
    empty : tuple
        Labels of the groups without a report, which were not fitted.
    """

    by: tuple[str, ...]
    labels: tuple[Label, ...]
    fits: tuple[FrequencyResults, ...]
    empty: tuple[Label, ...] = ()
    n_missing: int = 0
    n_ungrouped: int = 0
    name: str = ""

    _format = "ldpstats-grouped-results"
    _required = frozenset({"by", "labels", "fits", "empty", "n_missing", "n_ungrouped", "name"})

    def __repr__(self) -> str:
        by = ", ".join(self.by)
        k = len(self.categories)
        return f"GroupedResults({len(self.fits)} groups by {by}, k={k}, n={self.nobs})"

    def __len__(self) -> int:
        return len(self.fits)

    def __getitem__(self, label: Any) -> FrequencyResults:
        """The results of one group."""
        return self.fits[self._position("label", label)]

    @property
    def results(self) -> dict[Hashable, FrequencyResults]:
        """The results of each group, by its label."""
        return dict(zip(map(told, self.labels), self.fits, strict=True))

    @property
    def groups(self) -> pd.Index[Any]:
        """Labels of the groups that were fitted."""
        if len(self.by) == 1:
            return pd.Index([label[0] for label in self.labels], name=self.by[0])
        several: pd.Index[Any] = pd.MultiIndex.from_tuples(self.labels, names=self.by)
        return several

    @property
    def categories(self) -> pd.Index[Any]:
        """Labels of the categories, in order."""
        return self.fits[0].categories

    @property
    def nobs(self) -> int:
        """Number of reports in all groups."""
        return sum(fit.nobs for fit in self.fits)

    @property
    def sizes(self) -> pd.Series[int]:
        """Number of reports in each group."""
        return pd.Series([fit.nobs for fit in self.fits], index=self.groups, name="nobs")

    @property
    def params(self) -> pd.Series[float]:
        """Estimated frequencies by group and category."""
        return self._series([fit.params for fit in self.fits])

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of `params`; nan, with an `LDPWarning`, where there are none."""
        return self._series([fit.bse for fit in self.fits])

    @names_alpha
    def conf_int(self, alpha: float = 0.05, **how: Any) -> pd.DataFrame:
        """Confidence intervals of the frequencies, each from its own group.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        **how
            `method`, `clip` and `simultaneous` of `FrequencyResults.conf_int`; simultaneous
            intervals cover together within a group.

        Returns
        -------
        DataFrame, a row for each group and category
            Columns "lower" and "upper".

        Raises
        ------
        InvalidArgument
            For methods that need the data, which are for one group at a time.
        """
        if how.get("method") in ("profile", "bootstrap"):
            remedy = "needs the data: fit one group by FrequencyModel"
            raise InvalidArgument("method", how["method"], remedy)
        return self._frame([fit.conf_int(alpha, **how) for fit in self.fits])

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates: the columns of `FrequencyResults.summary_frame`, group by group."""
        return self._frame([fit.summary_frame(alpha) for fit in self.fits])

    @property
    def _rows(self) -> pd.MultiIndex:
        """Every category of every group."""
        return stacked_index(self.labels, self.categories, self.by, self.name)

    def _series(self, parts: list[pd.Series[Any]]) -> pd.Series[float]:
        stacked: pd.Series[float] = pd.concat(parts).set_axis(self._rows)
        return stacked

    def _frame(self, parts: list[pd.DataFrame]) -> pd.DataFrame:
        return pd.DataFrame(pd.concat(parts).set_axis(self._rows, axis=0))

    def _position(self, name: str, label: Any) -> int:
        try:
            return self.labels.index(group_label(label, self.by))
        except ValueError:
            known = ", ".join(repr(told(one)) for one in self.labels[:5])
            more = ", ..." if len(self.labels) > 5 else ""
            raise InvalidArgument(name, label, f"must be a group: {known}{more}") from None

    def _stored(self) -> dict[str, Any]:
        return {
            "by": list(self.by),
            "labels": [list(label) for label in self.labels],
            "fits": [fit.to_dict() for fit in self.fits],
            "empty": [list(label) for label in self.empty],
            "nobs": self.nobs,
            "n_missing": self.n_missing,
            "n_ungrouped": self.n_ungrouped,
            "name": self.name,
            "categories": labels_to_json(self.categories),
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> GroupedResults:
        by = tuple(document["by"])
        labels, empty = (
            tuple(group_label(tuple(label), by) for label in document[name])
            for name in ("labels", "empty")
        )
        fits = tuple(FrequencyResults.from_dict(fit) for fit in document["fits"])
        if len(fits) != len(labels):
            raise InvalidArgument("labels", len(labels), f"must be {len(fits)}, one a group")
        n_missing, n_ungrouped = (int(document[name]) for name in ("n_missing", "n_ungrouped"))
        return cls(by, labels, fits, empty, n_missing, n_ungrouped, str(document["name"]))
