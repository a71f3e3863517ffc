"""Analyses of one question of a survey."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Number
from typing import Any, overload

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import listed
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable
from ldpstats.mechanisms import PUM, Mechanism
from ldpstats.models.dictionary.model import DictionaryModel
from ldpstats.models.dictionary.results import DictionaryResults
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.grouped.model import GroupedModel
from ldpstats.models.grouped.results import GroupedResults
from ldpstats.models.personalized.model import PersonalizedModel
from ldpstats.models.personalized.results import PersonalizedResults
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.shared.spelling import in_turn
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.reports.single import Reports
from ldpstats.survey.options import check_options
from ldpstats.survey.rows import column_name
from ldpstats.survey.sample.models import (
    refuse_unweighted,
    weighted_model,
)
from ldpstats.survey.sampled import SampledRows
from ldpstats.survey.tallying import (
    grouped,
    refuse_unanswered,
    sums_suffice,
    tally,
)
from ldpstats.survey.waves import identifiers

__all__ = ["SingleQuestions"]

_MOST_NUMBERS = 20  # different numbers that make groups without a warning


class SingleQuestions(SampledRows):
    """Rows of respondents, and analyses of one question: see `Survey`."""

    def reports(self, name: str, id: str | None = None) -> Reports:
        """The reports of a question, without weights, for models and tests of one's own.

        Parameters
        ----------
        name : str
            The question; or a public column of text, booleans or categories, which becomes reports
            of `Observed`.
        id : str, optional
            A public column that identifies respondents, so that reports can be matched.

        Returns
        -------
        Reports
            `n_missing` counts the rows without one. Of a PUM question, reports of ``pum.common``.

        Raises
        ------
        UnknownCategory
            For a cell that is no report: the error names row, value and the nearest label.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", None, "yes"]})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
        >>> survey.reports("ill").n_missing
        1
        """
        name = column_name("name", name)
        self._refuse_dictionary(name, "reports")
        if id is None and not self.data.ordered:
            remedy = "pass id=, or use joint_counts and association for several questions"
            raise NotAvailable(f"reports of {name!r}: rows of this table have no order: {remedy}")
        rows = self.data.read([name] if id is None else [name, column_name("id", id)])
        found = rows.coded(name)
        reports: Reports = found.reports
        if id is None:
            return reports
        return replace(reports, ids=identifiers(rows, id)[0][found.present].to_numpy())

    @overload
    def frequencies(
        self,
        name: str,
        by: None = ...,
        candidates: Any = ...,
        incomplete: bool = ...,
        method: Any = ...,
        **how: Any,
    ) -> FrequencyResults | WeightedResults: ...

    @overload
    def frequencies(
        self,
        name: str,
        by: str | Sequence[str],
        candidates: Any = ...,
        incomplete: bool = ...,
        method: Any = ...,
        **how: Any,
    ) -> GroupedResults | WeightedResults: ...

    def frequencies(
        self,
        name: str,
        by: str | Sequence[str] | None = None,
        candidates: Any = None,
        incomplete: bool = False,
        method: Any = None,
        **how: Any,
    ) -> FrequencyResults | GroupedResults | WeightedResults:
        """Frequencies of the true answers to a question, in all or in groups.

        Of a survey with a design they are shares of the population, see `WeightedResults`, and
        groups are domains of it.

        Parameters
        ----------
        name : str
            The question; or a public column of text, booleans or categories, which is tabulated
            without noise; with all of its categories if they are ordered, else with those that
            occur.
        by : str or sequence of str, optional
            Public columns of text, booleans, categories or whole numbers, or `Observed` questions,
            that make the groups. Rows without a group are left out and counted, see
            `GroupedResults`.
        candidates : sequence of str or CandidateMap, optional
            Values to look for, where any text may be an answer.
        incomplete : bool
            Whether other answers than the candidates are known to exist, see `FrequencyModel`.
        method, **how
            As for `FrequencyModel.fit`: `method`, `constraints`, `cov_type`. With a design the
            method is "inversion" (the default) or "mle".

        Returns
        -------
        FrequencyResults, GroupedResults with `by`, or WeightedResults with a design
            ParametersResults where the device of the question has unknown parameters.

        Raises
        ------
        InvalidArgument
            If nobody answered, or a column of `by` is private or is no grouping.
        NotAvailable
            For dictionary and PUM questions: use `dictionary` and `personalized`. Unknown
            parameters have neither `by` nor weights: `where` takes one group at a time.

        Warns
        -----
        LDPWarning
            If a column of whole numbers makes more than 20 groups, as ages do.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no"] * 60 + ["yes"] * 40, "region": ["n", "s"] * 50})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
        >>> survey.frequencies("ill", by="region").nobs
        100
        """
        check_options(how, FrequencyModel.fit)
        name = column_name("name", name)
        self._refuse_frequencies(name, "frequencies")
        columns = _grouping(by)
        self._refuse_unknown(name, columns)
        if self.design is not None:
            refuse_unweighted(how)
            asked = name, columns, candidates, incomplete
            weighted = weighted_model(self.data, self.design, *asked)
            return weighted.fit(method, how.get("constraints"))
        sums = sums_suffice(self._made_by(name), candidates, method, how.get("constraints"))
        if by is None:
            data = tally(self.data, name, sums)
            refuse_unanswered(name, [data], self.data)
            alone: FrequencyResults
            alone = FrequencyModel(data, candidates, incomplete, name).fit(method, **how)
            return alone
        groups, ungrouped = grouped(self.data, name, columns, sums)
        refuse_unanswered(name, groups.values(), self.data)
        _warn_of_numbers(columns, list(groups))
        several = GroupedModel(groups, columns, candidates, incomplete, name, ungrouped)
        return several.fit(method, **how)

    def posterior(
        self,
        column: str,
        rng: np.random.Generator,
        by: str | Sequence[str] | None = None,
        prior: Any = None,
        draws: int = 4000,
        engine: str = "hmc",
    ) -> PosteriorResults:
        """Posterior of the frequencies of the true answers to a question, in all or in groups.

        Parameters
        ----------
        column : str
            The question, or a public column, as for `frequencies`.
        rng : numpy.random.Generator
            The same seed gives the same draws.
        by : str or sequence of str, optional
            Public columns that make groups, which are pooled partially: see
            `GroupedModel.fit_posterior`.
        prior : Dirichlet or LogisticNormal; with `by` Pooling; None
            See `ldpstats.priors`; None for the flat prior, and the defaults of `Pooling`.
        draws : int
            Over all chains.
        engine : {"hmc", "pymc"}
            The package's own Hamiltonian Monte Carlo, or PyMC's (extra `bayes`).

        Returns
        -------
        PosteriorResults; GroupedPosterior with `by`

        Raises
        ------
        InvalidArgument
            If nobody answered, or a column of `by` is private or is no grouping; for other priors.
        NotAvailable
            Of a survey with a design: weighted reports have no likelihood. For dictionary and PUM
            questions.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no"] * 60 + ["yes"] * 40, "region": ["n", "s"] * 50})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
        >>> survey.posterior("ill", np.random.default_rng(1), by="region").params.round(1)
        region  ill
        n       no     0.7
                yes    0.3
        s       no     0.7
                yes    0.3
        Name: params, dtype: float64
        """
        name = column_name("column", column)
        self._refuse_frequencies(name, "posterior")
        columns = _grouping(by)
        self._refuse_unknown(name, columns)
        self._refuse_design("posterior", "a likelihood has no weights: use survey.frequencies")
        if by is None:
            data = tally(self.data, name)
            refuse_unanswered(name, [data], self.data)
            return FrequencyModel(data, name=name).fit_posterior(rng, prior, draws, engine)
        groups, ungrouped = grouped(self.data, name, columns)
        refuse_unanswered(name, groups.values(), self.data)
        return GroupedModel(groups, columns, name=name, n_ungrouped=ungrouped).fit_posterior(
            rng, prior, draws, engine
        )

    def personalized(
        self,
        name: str,
        background: Mapping[Any, Any] | None = None,
        exact: bool = False,
        method: Any = None,
    ) -> PersonalizedResults:
        """Frequencies of the true answers to a PUM question, see `PersonalizedModel`.

        Raises
        ------
        NotAvailable
            For questions of another kind: use `frequencies`.
        """
        name = column_name("name", name)
        pum = self._made_by(name)
        if not isinstance(pum, PUM):
            self._check_there(name)
            raise NotAvailable(f"{name!r} is no PUM question: use survey.frequencies({name!r})")
        self._refuse_design("personalized")
        data = tally(self.data, name)
        return PersonalizedModel(data, pum, background, exact, name).fit(method)

    def dictionary(self, name: str, keep: Any = None, **how: Any) -> DictionaryResults:
        """Strings that nobody listed, found in the reports of a dictionary question.

        Parameters
        ----------
        name : str
        keep
            As for `DictionaryModel`.
        **how
            As for `DictionaryModel.fit`: `alpha`, `threshold`, `search`, `progress`, ...

        Raises
        ------
        NotAvailable
            For questions of another kind: use `frequencies`.
        """
        name = column_name("name", name)
        if not isinstance(self._made_by(name), DictionarySurvey):
            self._check_there(name)
            words = f"{name!r} is no dictionary question: use survey.frequencies({name!r})"
            raise NotAvailable(words)
        self._refuse_design("dictionary")
        return DictionaryModel(self.data.read([name]).coded(name).reports, keep).fit(**how)

    # -- inside --------------------------------------------------------------------------------

    def _refuse_design(self, what: str, instead: str = "") -> None:
        """Refuse an analysis that would ignore the design."""
        if self.design is not None:
            remedy = instead or "make the survey without weights= for an unweighted one"
            raise NotAvailable(f"{what} of a survey with a design has no weighted form: {remedy}")

    def _refuse_unknown(self, name: str, by: Sequence[Any]) -> None:
        """Refuse groups and weights where a device has unknown parameters."""
        made_by = self._made_by(name)
        if not isinstance(made_by, Mechanism) or not made_by.unknown:
            return
        unknown = f"{name!r} has the unknown {in_turn(made_by.unknown)}"
        if by:
            chosen = f'survey.where("{by[0]} == ...").frequencies({name!r})'
            raise NotAvailable(
                f"by={by}: {unknown}, estimated from all cohorts together; take one group at a "
                f"time: {chosen} (--where), or known values: mechanism.at(...)"
            )
        if self.design is not None:
            raise NotAvailable(
                f"a design: {unknown}, estimated by maximum likelihood, which has no weighted "
                "form: make the survey without weights=, strata= and clusters= for an unweighted "
                "estimate"
            )

    def _refuse_frequencies(self, name: str, what: str) -> None:
        """Refuse questions whose answers are not categories of their own."""
        if isinstance(self._made_by(name), PUM):
            remedy = f"use survey.personalized({name!r}), which spreads what was sent to tags"
            raise NotAvailable(f"{what} of {name!r}: it is a PUM question; {remedy}")
        self._refuse_dictionary(name, what)

    def _check_there(self, name: str) -> None:
        """Refuse the name of neither a question nor a column."""
        if name not in self.questionnaire:
            self.data.unasked(name)


def _grouping(by: object) -> list[Any]:
    """The columns that make groups; none for None."""
    remedy = "must be the name of a public column, or a list of names"
    if isinstance(by, pd.Series | pd.Index | np.ndarray):
        raise InvalidArgument("by", type(by).__name__, remedy)
    return [by] if isinstance(by, str) else [] if by is None else listed("by", by, remedy)


def _warn_of_numbers(columns: Sequence[Any], labels: Sequence[Any]) -> None:
    """Say that a column of many whole numbers may be wanted in bands."""
    each = [label if isinstance(label, tuple) else (label,) for label in labels]
    for column, *values in zip(columns, *each, strict=True):
        found = set(values)
        if len(found) > _MOST_NUMBERS and all(isinstance(value, Number) for value in found):
            warnings.warn(
                f"by={column!r}: {len(found)} different numbers make as many groups, with few "
                f"respondents each: pandas.cut(table[{column!r}], ..., labels=[...]) makes bands",
                LDPWarning,
                stacklevel=3,
            )
