"""What the analyst holds: a table with privatised columns, and the questionnaire they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import listed
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms import PUM, Mechanism
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.change.model import change_between
from ldpstats.models.change.results import ChangeResults
from ldpstats.models.dictionary.model import DictionaryModel
from ldpstats.models.dictionary.results import DictionaryResults
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.grouped.model import GroupedModel
from ldpstats.models.grouped.results import GroupedResults
from ldpstats.models.matrix.model import pairwise
from ldpstats.models.matrix.results import AssociationMatrix
from ldpstats.models.personalized.model import PersonalizedModel
from ldpstats.models.personalized.results import PersonalizedResults
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.shared.spelling import in_turn
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.models.weighted.table_results import WeightedTable
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports
from ldpstats.survey.joining import matched
from ldpstats.survey.options import check_options
from ldpstats.survey.rows import column_name
from ldpstats.survey.sample.models import (
    refuse_uncrossed,
    refuse_unweighted,
    weighted_crossing,
    weighted_model,
)
from ldpstats.survey.sampled import SampledRows
from ldpstats.survey.tallying import (
    grouped,
    joint,
    pairs,
    refuse_unanswered,
    sums_suffice,
    tally,
)
from ldpstats.survey.waves import identifiers

__all__ = ["Survey"]


@dataclass(frozen=True, eq=False, repr=False)
class Survey(SampledRows):
    """A table of collected answers, in which some columns are privatised.

    Rows are respondents. Columns that the questionnaire names hold reports of its mechanisms; all
    others are public. Reports and answers are read as people write them ("3" and 3.0 for the label
    3, blanks around text); an empty cell is missing.

    Parameters
    ----------
    data : table, lazy table, or path
        In memory: a DataFrame of pandas or Polars, an Arrow table, or CSV files (.csv, .csv.gz), of
        which a column is read when it is first needed. In CSV a public column is of numbers or
        booleans if all its fields are written so ("01" is text), and of text otherwise; an empty
        field is missing. On an engine, which filters, groups and joins rows where they are: Parquet
        files and DuckDB databases by name, a DuckDB relation, a DataFrame of Spark, a LazyFrame of
        Polars, or what else Narwhals takes as lazy. Files are a name, a list, a folder or a pattern
        ("part-*.parquet").
    questionnaire : Questionnaire, or mapping from column to mechanism
        What the private columns hold.
    weights : str, optional
        Public column of sampling weights, positive numbers: how many persons of the population a
        respondent stands for. May be left out where `fpc` is given for every stage, as weights then
        follow from it. `reports`, `joint_counts` and their kin are without weights.
    strata, clusters : str or list of str, optional
        Columns of the strata and sampling units of each stage, the first stage first; "" where a
        stage has no strata. Without `clusters` respondents were sampled themselves. Labels are
        text, whole numbers, booleans or categories; none may be missing.
    fpc : str or list of str, optional
        Columns of finite population corrections of each stage, in the stratum of each respondent:
        the number of units in the population or, if all values are in (0, 1], the sampled
        fraction of them. May have a stage more than `clusters`, at which respondents were sampled.
        Stages after the first add to a variance only if all up to them have a correction; others
        need not be named, and are not read.
    na : sequence of str
        Text that means an empty field of a CSV file, for example ("NA",).
    table : str, optional
        Which table of a database file; may be left out where there is one.
    engine : {"duckdb", "spark", "polars"}, optional
        What reads Parquet files; DuckDB by default.
    on_error : {"raise", "report"}
        With "report", Parquet files that are damaged or of other columns are left out, with a
        warning for each; every other file is counted exactly once.
    nested : bool
        Whether units in different strata are different ones, even if their labels agree. With
        False labels must be unique in the whole table, and a unit in two strata is refused.
    single_unit : {"fail", "certainty", "centered", "average"}
        What a stratum with a single sampled unit adds to a variance: "fail" refuses and names such
        strata; "certainty" takes nothing, "centered" the squared deviation from zero, "average" the
        mean of the other strata. Only "centered" keeps the level of intervals, unless such strata
        are certain, or like the others.
    replicate_weights : ReplicateWeights, optional
        Columns of replicate weights, in place of strata, clusters and fpc.
    changes : tuple
        Set by `calibrate`, `poststratify` and `trim`.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.
    questionnaire : Questionnaire
    design : SampleDesign or None
        The columns that describe the sample.
    calibration : CalibrationReport or None
        How far `calibrate`, `poststratify` and `trim` moved weights.
    lost : tuple of two int
        Persons who are in the first or the second wave only, see `matched`; (0, 0) otherwise.

    Raises
    ------
    InvalidArgument
        If the data are no table, or the column of a question is not there; for columns of the
        design that are missing, private or named twice, and values in them that cannot be: weights
        that are not positive and finite, missing strata and units, units in two strata, and
        corrections that vary within a stratum or are below the sample. On an engine values are
        checked by the first analysis, in the query that it makes.
    MechanismMismatch
        If fingerprints in the table are of other mechanisms.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> people = pd.DataFrame({"ill": rng.choice(["no", "yes"], 4000, p=[0.8, 0.2]),
    ...                        "region": rng.choice(["n", "s"], 4000)})
    >>> sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=1.0)})
    >>> survey = Survey(sheet.privatize(people, rng), sheet)
    >>> survey
    Survey(4000 rows; private: ill; public: region)
    >>> survey.frequencies("ill").params.round(2)
    no     0.77
    yes    0.23
    Name: params, dtype: float64
    >>> survey.where("region == 'n'").frequencies("ill").nobs
    2019
    """

    def matched(self, other: Survey, id: str, suffixes: Sequence[str] = ("_1", "_2")) -> Survey:
        """The persons who are in this survey and in another one, with the columns of both.

        Parameters
        ----------
        other : Survey
            The second wave, perhaps with another questionnaire.
        id : str
            The public column that identifies persons in both.
        suffixes : two str
            What is added to the names of the columns, and questions, of each wave.

        Returns
        -------
        Survey
            A row a person, in this survey's order. `lost` says how many are in one wave only. Its
            questionnaire has the questions of both, and its epsilon is what both waves spent, as
            if every person had been asked every question.

        Raises
        ------
        InvalidArgument
            If identifiers are missing, repeat or are of different types, or nobody is in both.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> ill = {"ill": ldp.Warner(1.0)}
        >>> first = Survey(pd.DataFrame({"who": [1, 2, 3], "ill": ["no", "no", "yes"]}), ill)
        >>> second = Survey(pd.DataFrame({"who": [3, 1, 4], "ill": ["no", "yes", "no"]}), ill)
        >>> first.matched(second, id="who")
        Survey(2 rows; private: ill_1, ill_2; public: who; 1 and 1 in one wave only)
        """
        if not isinstance(other, Survey):
            raise InvalidArgument(
                "other", type(other).__name__, "must be a Survey, the second wave"
            )
        for wave in (self, other):
            wave._refuse_design("matched", "match surveys that are made without weights=")
        remedy = 'must be two different texts, such as ("_1", "_2")'
        given = [] if isinstance(suffixes, str) else listed("suffixes", suffixes, remedy)
        pair = [str.__str__(s) for s in given if isinstance(s, str) and s.isprintable()]
        if len(given) != 2 or len(set(pair)) != 2:
            raise InvalidArgument("suffixes", suffixes, remedy)
        waves = matched(self.data, other.data, column_name("id", id), (pair[0], pair[1]))
        return Survey(waves, waves.questionnaire)

    # -- one variable --------------------------------------------------------------------------

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
        >>> survey = Survey(pd.DataFrame({"ill": ["no", None, "yes"]}), {"ill": ldp.Warner(1.0)})
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

        Raises
        ------
        InvalidArgument
            If nobody answered, or a column of `by` is private or is no grouping.
        NotAvailable
            For dictionary and PUM questions: use `dictionary` and `personalized`.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no"] * 60 + ["yes"] * 40, "region": ["n", "s"] * 50})
        >>> survey = Survey(table, {"ill": ldp.Warner(1.0)})
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
        >>> survey = Survey(table, {"ill": ldp.Warner(1.0)})
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

    # -- several variables ---------------------------------------------------------------------

    def joint_counts(self, *names: str) -> JointCounts:
        """The reports of respondents who answered several questions, for models of one's own.

        They are without weights, whatever the design.

        Parameters
        ----------
        *names : str
            As for `association`.

        Returns
        -------
        JointCounts
            `n_missing` counts the respondents who lack one of the answers, `lacking` those who lack
            each.
        """
        return joint(self.data, self._different(names))

    def association(
        self,
        *names: str,
        candidates: Any = None,
        other: Any = False,
        method: Any = None,
        **how: Any,
    ) -> AssociationResults | WeightedTable:
        """Joint distribution of the true answers to two or more questions.

        Respondents who lack one of the answers are left out; `n_missing` counts them, and the
        summary says so.

        Parameters
        ----------
        *names : str
            Questions; or public columns of text, booleans or categories, which join without noise.
        candidates, other
            As for `AssociationModel`.
        method, **how
            As for `AssociationModel.fit`: `method`, `cov_type`. With a design only "inversion".

        Returns
        -------
        AssociationResults; of a survey with a design WeightedTable, of two questions

        Raises
        ------
        InvalidArgument
            If nobody answered all questions, or a public column holds numbers.
            With a design also for estimators without a weighted form, and for candidates that are
            some of the categories without ``other=True``.
        NotAvailable
            With a design for variables that share cohorts, and for tables that are too large.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no"] * 60 + ["yes"] * 40, "region": ["n", "s"] * 50})
        >>> survey = Survey(table, {"ill": ldp.Warner(1.0)})
        >>> survey.association("ill", "region").names
        ('ill', 'region')
        """
        check_options(how, AssociationModel.fit)
        if self.design is not None:
            refuse_uncrossed({"method": method} | how)
            return self._crossed(names, candidates, other)
        counts = self.joint_counts(*names)
        if not counts.nobs:
            remedy = (
                f"nobody of {len(self)} answered all of them{self._why(names)}: associate fewer"
            )
            raise InvalidArgument("names", names, remedy)
        model = AssociationModel(counts, candidates=candidates, other=other, names=names)
        return model.fit(method, **how)

    def associations(
        self,
        names: Sequence[str],
        candidates: Mapping[str, Any] | None = None,
        other: Any = False,
        **how: Any,
    ) -> AssociationMatrix:
        """Association of every pair of several questions, see `ldpstats.associations`.

        Each pair rests on the respondents who answered both.

        Parameters
        ----------
        names : sequence of str
            As for `association`.
        candidates, other, **how
            As for `ldpstats.associations`: `method`, `alpha`.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no"] * 60 + ["yes"] * 40, "region": ["n", "s"] * 50,
        ...                       "sex": ["f", "m", "m", "f"] * 25})
        >>> matrix = Survey(table, {"ill": ldp.Warner(2.0)}).associations(["ill", "region", "sex"])
        >>> matrix.nobs.loc["ill", "sex"]
        np.int64(100)
        """
        self._refuse_design("associations", "use survey.association(first, second) for each pair")
        asked = (
            listed("names", names, "must be a list of questions")
            if not isinstance(names, str)
            else [names]
        )
        names = self._different(asked)
        return pairwise(names, *pairs(self.data, names), candidates, other, **how)

    def change(self, first: str, second: str, name: str | None = None, **how: Any) -> ChangeResults:
        """Change of the frequencies between two questions about the same, see `ldpstats.change`.

        Respondents who lack one of the answers are left out; `n_missing` counts them.

        Parameters
        ----------
        first, second : str
            Questions over the same categories, such as those of two waves (see `matched`).
        name : str, optional
            Name of the variable; that of the question in both waves by default.
        **how
            As for `ldpstats.change`: `waves`, `candidates`, `method`.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill_1": ["no", "yes"] * 50, "ill_2": ["no", "no"] * 25
        ...                       + ["yes", "no"] * 25})
        >>> survey = Survey(table, {"ill_1": ldp.Warner(2.0), "ill_2": ldp.Warner(2.0)})
        >>> survey.change("ill_1", "ill_2").nobs
        100
        """
        self._refuse_design("change")
        names = self._different((first, second))
        counts = joint(self.data, names)
        if not counts.nobs:
            remedy = f"nobody of {len(self)} answered both{self._why(names)}"
            raise InvalidArgument("names", names, remedy)
        origins = {self.data.origin(question) for question in names}
        if name is None and len(origins) == 1:
            name = origins.pop()
        return change_between(counts.tally(), name, **how)

    def regression(
        self,
        formula: str,
        model: str | None = None,
        marginal: str | None = None,
        scores: Mapping[str, Any] | None = None,
        offset: str | None = None,
        candidates: Mapping[str, Any] | None = None,
    ) -> Any:
        """A regression of or on the true answers to questions, see `ldpstats.regression`.

        Respondents who lack a value that the formula needs are left out, and counted. Of a survey
        with a design the coefficients are those of the population, and their covariance is the
        design's.

        Parameters
        ----------
        formula : str
            As for statsmodels; its names are questions and public columns.
        model, marginal, scores, candidates
            As for `ldpstats.regression`.
        offset : str, optional
            A public column of numbers.

        Returns
        -------
        A model, whose `fit()` estimates

        Raises
        ------
        InvalidArgument
            As for `ldpstats.regression`.
        NotAvailable
            For PUM and dictionary questions.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes", "no"] * 40, "age": range(120)})
        >>> model = Survey(table, {"ill": ldp.Warner(1.0)}).regression("ill ~ age")
        >>> type(model).__name__, model.exog_names
        ('PrivatizedLogit', ['Intercept', 'age'])
        """
        from ldpstats.models.regression.formulas.formula import caller_names
        from ldpstats.models.regression.front import model_of
        from ldpstats.survey.regression import survey_design

        how = model, marginal, scores, offset, candidates
        return model_of(survey_design(self, formula, *how, outside=caller_names(1)))

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
            raise NotAvailable(
                f"by={by}: {unknown}, estimated from all cohorts together; take one group at a "
                f'time: survey.where("{by[0]} == ...").frequencies({name!r}) (--where)'
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

    def _crossed(self, names: Sequence[str], candidates: Any, other: Any) -> WeightedTable:
        """The weighted table of two questions."""
        assert self.design is not None
        asked = self._different(names)
        model = weighted_crossing(self.data, self.design, asked, candidates, other)
        if not model.nobs:
            remedy = f"nobody of {len(self)} answered both{self._why(names)}"
            raise InvalidArgument("names", names, remedy)
        return model.fit()

    def _why(self, names: Sequence[str]) -> str:
        """Why nobody can have answered all of these questions, in words."""
        ask = self.questionnaire.ask
        private = [name for name in names if name in self.questionnaire.private]
        if ask is None or len(private) <= ask:
            return ""
        return f" (ask={ask}: nobody was asked {len(private)} private questions)"

    def _check_there(self, name: str) -> None:
        """Refuse the name of neither a question nor a column."""
        if name not in self.questionnaire:
            self.data.unasked(name)

    def _different(self, names: Sequence[str]) -> list[str]:
        """Two questions or more, which are not about strings."""
        asked = [column_name("names", name) for name in names]
        if len(asked) < 2 or len(set(asked)) < len(asked):
            raise InvalidArgument("names", asked, "must be two different questions, or more")
        for name in asked:
            self._refuse_dictionary(name, "association")
        return asked


def _grouping(by: object) -> list[Any]:
    """The columns that make groups; none for None."""
    remedy = "must be the name of a public column, or a list of names"
    if isinstance(by, pd.Series | pd.Index | np.ndarray):
        raise InvalidArgument("by", type(by).__name__, remedy)
    return [by] if isinstance(by, str) else [] if by is None else listed("by", by, remedy)
