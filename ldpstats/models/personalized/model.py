"""The distribution behind a personalised utility-optimised mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, distribution
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.estimators.base import Estimator
from ldpstats.mechanisms import PUM
from ldpstats.models.frequency.misfit import warn_of_doubts
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.personalized.background import Background
from ldpstats.models.personalized.results import PersonalizedResults, personalized_results
from ldpstats.reports.single import BitCounts, Counts, Reports

__all__ = ["PersonalizedModel"]

Array = npt.NDArray[Any]
Data = Reports | Counts | BitCounts


class PersonalizedModel:
    """Frequencies of categories that respondents sent to a bot where they were sensitive to them.

    Parameters
    ----------
    data : Reports, Counts or BitCounts, or a list of them
        Reports of ``pum.common``, or groups of reports over its categories with another epsilon.
    pum : PUM
        Says which of the categories are true answers and which are tags.
    background : mapping from tag to Series or array of shape (k,), optional
        Distribution of the true category of those who sent it to the tag's bot, such as where
        people live (MK19's case II); a Series is matched by label. A tag without one is spread in
        proportion to the estimates of the categories that are not sensitive for all (case I).
    exact : bool
        Whether the background is known exactly (case III), so that intervals and tests are about
        the frequencies. Every tag then needs one.
    name : str, optional
        Name of the variable, for tables; that of the reports by default.

    Raises
    ------
    InvalidArgument
        If a tag is unknown, a background is not a distribution over the categories, or a background
        is missing although ``exact=True`` or all categories are sensitive.
    MechanismMismatch
        If the data are over other categories than those of ``pum.common``.

    Notes
    -----
    The background says who is behind a bot in the mean over all respondents (MK19 eq. 20), not
    where one of them lives.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, epsilon=1.0), ("home",))
    >>> counts = pum.common.counts([180, 60, 370, 390])
    >>> model = ldp.PersonalizedModel(counts, pum, {"home": [0.25, 0.75, 0.0]})
    >>> model.fit().params.round(3)
    centre    0.455
    park      0.326
    clinic    0.219
    Name: params, dtype: float64
    >>> ldp.PersonalizedModel(counts, pum).fit().params.round(3)
    centre    0.586
    park      0.195
    clinic    0.219
    Name: params, dtype: float64
    """

    def __init__(
        self,
        data: Data | Sequence[Data],
        pum: PUM,
        background: Mapping[Any, Any] | None = None,
        exact: bool = False,
        name: str | None = None,
    ) -> None:
        if not isinstance(pum, PUM):
            raise InvalidArgument("pum", pum, "must be the PUM that the reports were made under")
        self.pum, self.exact = pum, boolean("exact", exact)
        self.frequency = FrequencyModel(data, name=name)
        if not self.frequency.categories.equals(pum.common.categories):
            raise MechanismMismatch(
                f"{self.frequency.sources[0].mechanism} is not over the categories and then the "
                f"tags of {pum}: pass reports of its clients, or of pum.privatize"
            )
        self._given = self._read(background)

    def __repr__(self) -> str:
        return f"PersonalizedModel({self.pum}; n={self.nobs})"

    @property
    def categories(self) -> pd.Index[Any]:
        """Labels of the categories of true answers, in order."""
        return self.pum.categories

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return self.frequency.nobs

    @property
    def _others(self) -> npt.NDArray[np.bool_]:
        """Categories that are not sensitive for all."""
        return np.asarray(~self.categories.isin(self.pum.mechanism.sensitive))

    def _read(self, background: object) -> Array:
        """Background as an array of shape (kappa, k), nan for tags without."""
        tags, k = self.pum.tags, len(self.categories)
        if background is not None and not isinstance(background, Mapping):
            raise InvalidArgument(
                "background", background, "must be a dict from tags to distributions, or None"
            )
        found = np.full((len(tags), k), np.nan)
        for tag, law in (background or {}).items():
            if tag not in tags:
                raise InvalidArgument("background", tag, f"is no tag: they are {tags.tolist()}")
            name = f"background[{tag!r}]"
            law = distribution(name, align(name, law, self.categories), k)
            found[tags.get_loc(tag)] = law / law.sum()
        lacking = tags[np.isnan(found[:, 0])].tolist()
        if lacking and self.exact:
            raise InvalidArgument(
                "exact", True, f"needs a background for every tag, and {lacking} have none"
            )
        if lacking and not self._others.any():
            raise InvalidArgument(
                "background",
                background,
                f"lacks {lacking}: all categories are sensitive, there is none to spread them over",
            )
        return found

    def fit(self, method: str | Estimator[Any] | None = None) -> PersonalizedResults:
        """Estimate the frequencies.

        Parameters
        ----------
        method : str or Estimator, optional
            Of the intermediate frequencies, as in `FrequencyModel.fit`: "mle" by default,
            "inversion" where only bit sums are known.

        Returns
        -------
        PersonalizedResults

        Raises
        ------
        NotAvailable
            If a tag has no background and no report was made that it could be spread over.

        Warns
        -----
        ConvergenceWarning
            When the estimator stops before its certificate is reached.
        MisfitWarning
            When the goodness of fit of the reports has a p-value below .001.
        LDPWarning
            When the condition number of the channel is above 1e8.
        """
        found = self.frequency.fit_quietly(method)
        warn_of_doubts(self.frequency.misfit(found), found.condition)
        assumed = Background(self.pum.tags, self._given, self._others, self.exact)
        return personalized_results(found, self.categories, assumed)
