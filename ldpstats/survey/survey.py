"""What the analyst holds: a table with privatised columns, and the questionnaire they answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from inspect import signature
from itertools import filterfalse
from numbers import Number
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, Self, overload

import numpy as np
import pandas as pd

from ldpstats.arguments import boolean, listed, page_text
from ldpstats.cells import Structure
from ldpstats.engines.query import Query
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable
from ldpstats.hints import HINTS, Hinted, guided
from ldpstats.mechanisms import PUM, Mechanism, Panel, product
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.cells import CellModel, formulas_of
from ldpstats.models.change import ChangeResults, change, change_between
from ldpstats.models.dictionary.model import DictionaryModel
from ldpstats.models.dictionary.results import DictionaryResults
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.grouped import GroupedModel, GroupedResults
from ldpstats.models.layout import in_turn
from ldpstats.models.matrix import AssociationMatrix, pairwise
from ldpstats.models.personalized import PersonalizedModel, PersonalizedResults
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.regression.formulas import caller_names
from ldpstats.models.regression.front import Extras, Given, Request
from ldpstats.models.results import group_columns
from ldpstats.models.trend import TrendResults
from ldpstats.models.weighted.calibration import CalibrationReport
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.models.weighted.tables import WeightedTable
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports
from ldpstats.survey.analyses import (
    grouped,
    grouped_rows,
    joint,
    joint_groups,
    matched,
    pairs,
    refuse_kept,
    refuse_unanswered,
    sums_suffice,
    tally,
)
from ldpstats.survey.conditions import Condition, is_mask, read
from ldpstats.survey.data import (
    Held,
    held_on,
    identifiers,
    questionnaire_of,
    rows_of,
    with_series,
)
from ldpstats.survey.design import MadeReplicates, ReplicateWeights, SampleDesign
from ldpstats.survey.questions import maker_of
from ldpstats.survey.weighing import (
    Reweighting,
    calibrated,
    cell_data,
    poststratified,
    sample_facts,
    svy_sample,
    trimmed,
    weigh,
    weighted_change,
    weighted_crossing,
    weighted_model,
    weighted_pairs,
    whole_of,
)

_QUESTIONS = "must be the name of a question, or a list of names"
_MOST_NUMBERS = 20  # different numbers that make groups without a warning


@guided
@dataclass(frozen=True, eq=False, repr=False)
class Survey(Hinted):
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
        (``"part-*.parquet"``). Files of Stata, SPSS, SAS and Excel are read by pandas, value labels
        as categories.
    questionnaire : Questionnaire, or mapping from column to mechanism, optional
        What the private columns hold; `by_column` where they hold reports of several designs. May
        be left out where `data` is the folder of a collector, which has it in questionnaire.json,
        or a list of those of several waves.
    weights : str or Series, optional
        Public column of sampling weights, positive numbers: how many persons of the population a
        respondent stands for. A Series (also for `strata`, `clusters` and `fpc`) is matched to a
        table of pandas by its index. May be left out where `fpc` is given for every stage, as
        weights then follow from it. `reports`, `joint_counts` and their kin are without weights.
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
    na : list, or mapping from column to list
        Codes that mean missing in a CSV file or a table in memory: text or numbers, as people write
        them, so that 9 is also 9.0 and "9". A list is for every column; where 9 is an answer to
        another question, a mapping names columns, ``na={"Q7": [8, 9]}``. Not for engines.
    table : str, optional
        Which table of a database file; may be left out where there is one.
    engine : {"duckdb", "spark", "polars"}, optional
        What reads Parquet files; DuckDB by default.
    on_error : {"raise", "report"}
        With "report", Parquet files that are damaged or of other columns are left out, with a
        warning for each; every other file is counted exactly once.
    nested : bool, optional
        Whether units in different strata are different ones, even if their labels agree. With
        False labels must be unique in the whole table, and a unit in two strata is refused. By
        default such units are taken for different ones, with a warning.
    single_unit : {"fail", "certainty", "centered", "average"}
        What a stratum with a single sampled unit adds to a variance: "fail" refuses and names such
        strata; "certainty" takes nothing, "centered" the squared deviation from zero, "average" the
        mean of the other strata. Only "centered" keeps the level of intervals, unless such strata
        are certain, or like the others.
    replicate_weights : ReplicateWeights, optional
        Columns of replicate weights, in place of strata, clusters and fpc.
    sep : str
        What is between the fields of a CSV file, such as ";".
    changes : tuple
        Set by `calibrate`, `poststratify` and `trim`.

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
    >>> import numpy as np, pandas as pd, ldpstats as ldp
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

    data: Any
    questionnaire: Any = None
    weights: Any = None
    strata: Any = None
    clusters: Any = None
    fpc: Any = None
    na: Any = ()
    table: Any = None
    engine: Any = None
    on_error: Any = "raise"
    nested: Any = None
    single_unit: Any = "fail"
    replicate_weights: Any = None
    sep: Any = ","
    changes: Any = ()

    def __post_init__(self) -> None:
        changes = self.changes
        if not (isinstance(changes, tuple) and all(isinstance(c, Reweighting) for c in changes)):
            remedy = "is set by calibrate, poststratify and trim: leave it out"
            raise InvalidArgument("changes", changes, remedy)
        if isinstance(self.data, Held):  # rows of another survey
            return
        how = (self.table, self.engine, self.on_error, self.sep)
        rows = rows_of(self.data, "data", self.na, *how)
        for argument in ("weights", "strata", "clusters", "fpc"):
            if isinstance(given := getattr(self, argument), pd.Series):
                rows, name = with_series(rows, argument, given)
                object.__setattr__(self, argument, name)
        sheet = questionnaire_of(self.questionnaire, self.data, rows)
        held = held_on(rows, sheet)
        object.__setattr__(self, "questionnaire", sheet)
        object.__setattr__(self, "data", held)
        if isinstance(self.replicate_weights, ReplicateWeights):
            found = self.replicate_weights.on(held.columns, isinstance(rows, Query))
            object.__setattr__(self, "replicate_weights", found)
        self._check_design()

    def _check_design(self) -> None:
        """Refuse columns of a design that are not there, and in memory values that cannot be."""
        if self.design is not None:
            self.design.check(self.data)
            if not self.data.remote:
                weigh(self.data, self.design, [])

    @cached_property
    def design(self) -> SampleDesign | None:
        """The columns that describe the sample; None without any."""
        found = SampleDesign.of(self)
        return found and replace(found, changes=tuple(map(attrgetter("change"), self.changes)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        names: tuple[str, ...] = self.data.columns
        return names

    @property
    def lost(self) -> tuple[int, int]:
        """Persons who were left out by `matched`: in the first wave only, in the second only."""
        lost: tuple[int, int] = self.data.lost
        return lost

    def __len__(self) -> int:
        return len(self.data)

    @guided
    def where(self, condition: Any) -> Self:
        """The respondents for whom a condition on public columns is true.

        Of a survey with a design they are a domain: variances count the units and strata of the
        whole sample.

        Parameters
        ----------
        condition : str, expression of Narwhals, or mask
            As text: comparisons (== != < <= > >=, also 18 <= age < 65), ``in [...]``, ``not in
            [...]``, ``is missing``, ``is not missing``, columns of booleans; joined by ``and``,
            ``or``, ``not`` and parentheses. Text is quoted, dates as '2024-12-31'; names that are
            not one word stand in `backquotes`. A missing cell makes a comparison neither true nor
            false. Text has no order; ordered categoricals and the answers to `Observed` questions
            have that of their categories. An expression, such as ``narwhals.col("age") > 18``, is
            evaluated by Narwhals where the rows are; a mask is that of ``survey[mask]``.

        Raises
        ------
        InvalidArgument
            For anything else, private columns, values of another type than the column's, text and
            categories that no row of the table has, and if the condition is true for nobody.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes", "no"], "age": [17, 40, 81]})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
        >>> len(survey.where("18 <= age and not age > 80"))
        1
        """
        if is_mask(condition):
            return self._chosen(self.data.where(condition))
        tree = read(condition)
        chosen = self.data.where(tree)
        if not len(chosen):
            counted = f": none of {len(self)} rows"
            if isinstance(tree, Condition) and tree.sign == "and":
                sizes = [f"{part.text}: {len(self.data.where(part))}" for part in tree.parts]
                counted = f"; of {len(self)} rows alone: {', '.join(sizes)}"
            raise InvalidArgument("where", condition, f"is true for nobody{counted}")
        return replace(self, data=chosen)

    def __getitem__(self, mask: object) -> Self:
        """The respondents whom a mask, True or False for each row, or a slice chooses.

        A mask that is a Series has the index of the table's rows, in their order. Of a survey with
        a design the respondents are a domain, see `where`.
        """
        if isinstance(mask, str):
            remedy = f"reports of a question are survey.reports({mask!r})"
            raise InvalidArgument("mask", mask, f"must be True or False for each row; {remedy}")
        return self._chosen(self.data.masked(mask))

    def _chosen(self, selected: Held) -> Self:
        if self.design is not None:
            whole_of(selected)  # refuses rows of which the rest of the sample is not known
        return replace(self, data=selected)

    def __contains__(self, name: object) -> bool:
        """Whether the table has a column of this name."""
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        """The names of the columns, in order."""
        return iter(self.columns)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name in getattr(self.__dict__.get("data"), "columns", ()):
                raise AttributeError(
                    f"the column {name!r} is no attribute: survey.frequencies({name!r}) estimates "
                    f"its shares, survey.reports({name!r}) are its reports"
                )
            super().__getattr__(name)

    def __repr__(self) -> str:
        kinds = [f"{kind}: {names}" for kind, names in self._kinds().items() if names]
        lost = ["{} and {} in one wave only".format(*self.lost)] if any(self.lost) else []
        design = [str(self.design)] if self.design is not None else []
        text = f"Survey({'; '.join([f'{len(self)} rows', *kinds, *lost, *design])})"
        return page_text(text, len("Survey("))

    def _repr_html_(self) -> str:
        lost = "; in one wave only: {} and {}".format(*self.lost) if any(self.lost) else ""
        public = escape(self._kinds()["public"] or "none")
        head = f"<p>Survey of {len(self)} rows{lost}; public columns: {public}</p>"
        return head + str(self.questionnaire._repr_html_())

    def _kinds(self) -> dict[str, str]:
        """Names of private and observed questions and of public columns, as text."""
        sheet = self.questionnaire
        kinds = {"private": sheet.private, "observed": sheet.observed}
        kinds["public"] = self.data.public_columns
        return {
            kind: ", ".join(names[:20]) + ", ..." * (len(names) > 20)
            for kind, names in kinds.items()
        }

    def matched(
        self, other: Survey, id: str, suffixes: Sequence[str] = ("_1", "_2"), **design: Any
    ) -> Survey:
        """The persons who are in this survey and in another one, with the columns of both.

        Parameters
        ----------
        other : Survey
            The second wave, perhaps with another questionnaire.
        id : str
            The public column that identifies persons in both.
        suffixes : two str
            What is added to the names of the columns, and questions, of each wave.
        **design
            `weights`, `strata`, `clusters`, `fpc`, `nested`, `single_unit` of those who are in
            both, as for `Survey`: columns of the result, such as "weight_1".

        Returns
        -------
        Survey
            A row a person, in this survey's order. `lost` says how many are in one wave only. Its
            questionnaire has the questions of both, and its epsilon is what both waves spent, as
            if every person had been asked every question.

        Raises
        ------
        InvalidArgument
            If identifiers are missing, repeat or are of different types, or nobody is in both; and
            for columns of a design as `Survey`.
        NotAvailable
            For waves that have designs of their own: those of both waves have another.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> ill = {"ill": ldp.Warner(epsilon=1.0)}
        >>> first = Survey(pd.DataFrame({"who": [1, 2, 3], "ill": ["no", "no", "yes"]}), ill)
        >>> second = Survey(pd.DataFrame({"who": [3, 1, 4], "ill": ["no", "yes", "no"]}), ill)
        >>> first.matched(second, id="who")
        Survey(2 rows; private: ill_1, ill_2; public: who; 1 and 1 in one wave only)
        """
        if not isinstance(other, Survey):
            remedy = "must be a Survey, the second wave"
            raise InvalidArgument("other", type(other).__name__, remedy)
        remedy = "match surveys that are made without weights=, and name those of the persons in "
        remedy += "both, matched(..., weights='weight_1')"
        for wave in (self, other):
            wave._refuse_design("matched", remedy)
        known = ("weights", "strata", "clusters", "fpc", "nested", "single_unit")
        for name in filterfalse(known.__contains__, design):
            remedy = f"is no argument of matched(): {in_turn(known)}"
            raise InvalidArgument(name, design[name], remedy)
        remedy = 'must be two different texts, such as ("_1", "_2")'
        given = [] if isinstance(suffixes, str) else listed("suffixes", suffixes, remedy)
        pair = [str.__str__(s) for s in given if isinstance(s, str) and s.isprintable()]
        if len(given) != 2 or len(set(pair)) != 2:
            raise InvalidArgument("suffixes", suffixes, remedy)
        waves = matched(self.data, other.data, column_name("id", id), (pair[0], pair[1]))
        made = Survey(waves, waves.questionnaire, **design)
        made._check_design()
        return made

    # -- weights, and how variances are estimated ------------------------------------------------

    @property
    def calibration(self) -> CalibrationReport | None:
        """What `calibrate`, `poststratify` and `trim` did to the weights; None without."""
        if not self.changes:
            return None
        categories = [c.categories for c in self.changes if c.categories is not None]
        return CalibrationReport(
            tuple(change.step for change in self.changes),
            self.changes[-1].nobs,
            pd.concat(categories) if categories else None,
        )

    def calibrate(
        self,
        margins: Mapping[Any, Any],
        method: str = "raking",
        bounds: Sequence[float | None] | None = None,
        total: float | None = None,
    ) -> Self:
        """The same survey with weights that reproduce known population totals.

        The factors of the weights are the nearest to one with which they do. Estimates that go with
        the margins become more precise: variances are those of residuals (Deville and Saerndal
        1992), of replicates each calibrated anew. All numbers equal those of `calibrate` in R's
        package survey; only where weights are calibrated twice do variances differ, as residuals
        are taken here in the order that linearisation gives, the last calibration first. (Those of
        its `rake` differ, whose residuals are from means without weights.)

        Parameters
        ----------
        margins : mapping from column to totals
            Keys are public columns of text, booleans, categories or whole numbers, or tuples of
            them, which are crossed. Values map each category (of crossed columns a tuple) to the
            number of persons in the population: a dict or a Series. Categories are matched as
            people write them. All categories in the sample need a total, and all margins must sum
            to the same population.
        method : {"raking", "linear", "logit"}
            "raking": positive factors, products of one for each category, as iterative
            proportional fitting finds. "linear": the generalised regression estimator; factors
            may be negative, which is warned of. "logit": factors strictly between `bounds`.
        bounds : pair of float, optional
            What factors lie between, such as (0.3, 3); None for an end that is open. Factors of
            "raking" and "linear" are cut there; "logit" needs bounds on both sides of one.
        total : float, optional
            The size of the population, where all margins are shares that sum to one.

        Returns
        -------
        Survey
            Its `calibration` reports how far weights moved.

        Raises
        ------
        InvalidArgument
            For private columns (their totals are ``constraints=`` of an estimate), missing values,
            categories without respondents or without a total, margins that contradict each other,
            and bounds within which no weights reach the totals.
        NotAvailable
            For a survey without weights, and for a domain: calibrate the whole sample.
        NotConverged
            If a relative deviation above 1e-12 from a total remains.

        References
        ----------
        Deville, J.-C. and Saerndal, C.-E. (1992). Calibration estimators in survey sampling.
        Journal of the American Statistical Association, 87, 376-382.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes"] * 4, "w": 10.0, "sex": list("ffmfmfff")})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)}, weights="w")
        >>> made = survey.calibrate({"sex": {"f": 45, "m": 55}})
        >>> made.calibration.categories.ratio.to_list()
        [0.75, 2.75]
        """
        made = calibrated(self.data, self.design, margins, method, bounds, total)
        return replace(self, changes=(*self.changes, made))

    def poststratify(self, totals: Mapping[Any, Any]) -> Self:
        """The same survey with weights that reproduce the totals of one margin.

        Parameters
        ----------
        totals : mapping with one key
            A public column, or a tuple of columns, to the population totals of its categories, as
            for `calibrate`.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes"] * 4, "w": 10.0, "sex": list("ffmfmfff")})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)}, weights="w")
        >>> survey.poststratify({"sex": {"f": 45, "m": 55}}).calibration.steps[0].method
        'post-stratification'
        """
        made = poststratified(self.data, self.design, totals)
        return replace(self, changes=(*self.changes, made))

    def trim(
        self, lower: float | None = None, upper: float | None = None, strict: bool = False
    ) -> Self:
        """The same survey with weights cut at bounds, what is cut being spread over the others.

        The sum of all weights stays the same; each of the others gets an equal share, as of
        `trimWeights` in R's package survey. Variances take the new weights for given, and those of
        replicates change by the same factors. Calibrate after trimming, not before.

        Parameters
        ----------
        lower, upper : float, optional
            Least and largest weight, on both sides of the mean.
        strict : bool
            Whether to repeat this until no weight is outside; else others may move out when they
            get their share, which `calibration` counts.

        Raises
        ------
        InvalidArgument
            For bounds that are not on both sides of the mean weight.
        NotAvailable
            For a survey without a column of weights, a domain, and calibrated weights.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes"] * 2, "w": [1.0, 2.0, 3.0, 10.0]})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)}, weights="w")
        >>> survey.trim(upper=7).calibration.steps[0].n_trimmed
        1
        """
        made = trimmed(self.data, self.design, lower, upper, strict)
        return replace(self, changes=(*self.changes, made))

    def replicates(self, kind: str, rng: Any = None, n: Any = None) -> Self:
        """The same survey, whose variances are estimated from replicates of the sample.

        Replicates are made from the units of the first stage; what later stages with corrections
        for finite populations add is linearised. Estimates stay what they are.

        Parameters
        ----------
        kind : {"jackknife", "bootstrap"}
            "jackknife": each unit is left out once and the others of its stratum share its weight,
            at most 20,000. "bootstrap": of n units of each stratum n - 1 are drawn with replacement
            and weights rescaled, also for finite populations (Rao and Wu 1988).
        rng : numpy.random.Generator, optional
            Of the bootstrap: one number is drawn of it, by which every analysis draws the same.
        n : int, optional
            Replicates of the bootstrap, 500 by default. They are also the most degrees of freedom,
            and variances have a relative standard error of sqrt(2 / n) from the draws.

        Raises
        ------
        InvalidArgument
            For arguments that do not go with the kind, and strata of a single unit.
        NotAvailable
            If the survey has no design, or columns of replicate weights, or too many units.

        References
        ----------
        Rao, J. N. K. and Wu, C. F. J. (1988). Resampling inference with complex survey data.
        Journal of the American Statistical Association 83, 231-241.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(3)
        >>> table = pd.DataFrame({"ill": rng.choice(["no", "yes"], 400), "w": 1.5,
        ...                       "school": np.arange(400) // 20})
        >>> asked = {"ill": ldp.Warner(epsilon=2.0)}
        >>> survey = ldp.Survey(table, asked, weights="w", clusters="school")
        >>> survey.replicates("jackknife").frequencies("ill").bse.round(3)
        no     0.031
        yes    0.031
        Name: bse, dtype: float64
        """
        made = MadeReplicates.of(kind, rng, n)
        if self.design is None:
            raise NotAvailable(
                "replicates of a survey without a design: make the survey with weights=, and with "
                "the strata= and clusters= of the sample"
            )
        if self.design.replicate_columns:
            raise NotAvailable("replicates: the survey has columns of replicate weights already")
        found = replace(self, replicate_weights=made)
        if found.design is not None and not self.data.remote:
            weigh(self.data, found.design, [])  # for its errors
        return found

    def to_svy(self, names: str | Sequence[str]) -> Any:
        """The rows with their design as a `svy.Sample`, for what the package svy estimates.

        For each category of the questions it has a column, such as "job_nurse": an unbiased
        estimate of whether it is the true answer, which for a privatised question is below zero or
        above one. By svy's `mean`, `total` and `ratio` of them follow the estimates and standard
        errors that `frequencies` has, for the spread of reports holds the randomisation (but for
        totals with single units "centered", which svy takes from the mean of all units, not from
        zero). Other columns are those without noise: public ones, and answers to `Observed`
        questions. Given replicate weights are columns "replicate_1" and so on: pass svy
        ``method="replication"``, and ``variance_center="estimate"`` where `mse` is true.

        Parameters
        ----------
        names : str or sequence of str
            The questions. A missing report is a missing value: pass ``drop_nulls=True`` to svy.

        Returns
        -------
        svy.Sample

        Raises
        ------
        InvalidArgument
            If the table has a column of such a name.
        NotAvailable
            If svy is not installed, which the extra "svy" brings; for a survey without a design, of
            some rows, of rows that an engine holds, with corrections for finite populations or
            strata of a certain unit (svy would shrink the variance of the randomisation, too), with
            calibrated or trimmed weights, or replicates that were made here; for questions of
            strings, of cohorts and of PUM.

        References
        ----------
        https://svylab.com/docs/svy
        """
        questions = [names] if isinstance(names, str) else listed("names", names, _QUESTIONS)
        asked = [column_name("names", name) for name in questions]
        for name in asked:
            self._refuse_dictionary(name, "to_svy")
        return svy_sample(self.data, self.design, asked)

    # -- analyses of one question ----------------------------------------------------------------

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
            If a column of whole numbers makes more than 20 groups, as ages do, and for waves of a
            questionnaire with ``link=True``, which may be of the same persons.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no"] * 60 + ["yes"] * 40, "region": ["n", "s"] * 50})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
        >>> survey.frequencies("ill", by="region").nobs
        100
        """
        check_options(how, FrequencyModel.fit)
        name, columns = self._single("name", name, by, "frequencies")
        if self.design is not None:
            cov_type = how.get("cov_type", "default")
            if not (isinstance(cov_type, str) and str.__str__(cov_type) == "default"):
                remedy = "leave it out: with weights the covariance is that of the design"
                raise InvalidArgument("cov_type", cov_type, remedy)
            asked = name, columns, candidates, incomplete
            weighted = weighted_model(self.data, self.design, *asked)
            return weighted.fit(method, how.get("constraints"))
        sums = sums_suffice(self._made_by(name), candidates, method, how.get("constraints"))
        model = self._model(name, None if by is None else columns, sums, candidates, incomplete)
        if self.questionnaire.link and "wave" in columns:
            warnings.warn(
                "by='wave': a person may be in several waves of linked sheets, and groups are "
                "taken as independent: compare them by change() or trend(), or with weights= of "
                "ones and clusters='token'",
                LDPWarning,
                stacklevel=2,
            )
        labels = model.labels if isinstance(model, GroupedModel) else ()
        each = [label if isinstance(label, tuple) else (label,) for label in labels]
        for column, *values in zip(columns, *each, strict=True):
            found = set(values)
            if len(found) > _MOST_NUMBERS and all(isinstance(value, Number) for value in found):
                warnings.warn(
                    f"by={column!r}: {len(found)} different numbers make as many groups, with few "
                    f"respondents each: pandas.cut(table[{column!r}], ..., labels=[...]) makes "
                    "bands",
                    LDPWarning,
                    stacklevel=2,
                )
        return model.fit(method, **how)

    def trend(
        self,
        name: str,
        time: str,
        candidates: Any = None,
        incomplete: bool = False,
        method: Any = None,
        **how: Any,
    ) -> TrendResults:
        """Frequencies of the true answers to a question in waves, and their course over time.

        Waves may be of fresh respondents or of the same persons again. If persons answered in
        several waves, make the survey with ``clusters=`` the column that identifies them (and
        ``weights=``, a column of ones if all count the same): standard errors and tests then know
        that their answers and, where devices memoise, their reports go together.

        Parameters
        ----------
        name : str
            The question.
        time : str
            A public column that makes the waves: whole numbers, dates, years, months ("2024-05",
            202405), quarters ("2024-Q2"), or ordered categories, which are taken to be evenly
            spaced. Waves in which nobody answered are gaps.
        candidates, incomplete, method, **how
            As for `frequencies`.

        Returns
        -------
        TrendResults

        Raises
        ------
        InvalidArgument
            If the order of the waves is not known, or there is one only.
        NotAvailable
            As for `frequencies`; for more than 2,000 frequencies in all waves, and for waves
            without standard errors.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes"] * 150 + ["yes"] * 100,
        ...                       "year": [2021] * 100 + [2022] * 100 + [2024] * 200})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=3.0)})
        >>> print(survey.trend("ill", time="year").test_no_change())
        Pearson chi-square of the privatised reports
          H0: all 3 waves have the same distribution
          statistic 26.67, df 2, p-value 1.62e-06
        """
        check_options(how, FrequencyModel.fit)
        time = column_name("time", time)
        with warnings.catch_warnings():  # many numbers are no mistake here
            warnings.filterwarnings("ignore", "by=.* different numbers", LDPWarning)
            waves = self.frequencies(name, [time], candidates, incomplete, method, **how)
        column = self.data.cells([time])[0].public(time).categories("", True)
        return TrendResults.of(waves, column.values if column.ordered else None)

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
            As for `frequencies`; groups are pooled partially, see `GroupedModel.fit_posterior`.
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
            As for `frequencies`, and for other priors.
        NotAvailable
            As for `frequencies`, and with a design: weighted reports have no likelihood.

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
        name, columns = self._single("column", column, by, "posterior")
        self._refuse_design("posterior", "a likelihood has no weights: use survey.frequencies")
        model = self._model(name, None if by is None else columns)
        return model.fit_posterior(rng, prior, draws, engine)

    def personalized(
        self,
        name: str,
        background: Mapping[Any, Any] | None = None,
        exact: bool = False,
        method: Any = None,
    ) -> PersonalizedResults:
        """Frequencies of the true answers to a PUM question, see `PersonalizedModel`.

        Of a survey with a design they are shares of the population, with its standard errors.

        Raises
        ------
        NotAvailable
            For questions of another kind: use `frequencies`.
        """
        pum = self._of_kind(name, PUM, "PUM")
        name, design = str.__str__(name), self.design
        data = weighted_model(self.data, design, name, ()) if design else tally(self.data, name)
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
        self._of_kind(name, DictionarySurvey, "dictionary")
        self._refuse_design("dictionary")
        name = str.__str__(name)
        return DictionaryModel(self.data.read([name]).coded(name).reports, keep).fit(**how)

    # -- analyses of several questions -----------------------------------------------------------

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
        memoised: bool | None = None,
        **how: Any,
    ) -> AssociationResults | WeightedTable:
        """Joint distribution of the true answers to two or more questions.

        Respondents whom ``ask=`` asked only some of the questions contribute the answers that they
        gave: the likelihood is that of all these answers, and `answered` and the summary count
        them. They are recognised by a full sheet, with as many private answers as were drawn. Other
        respondents without one of the answers may have refused it because of what it is: they are
        left out, `n_missing` counts them, and the summary says so. (The estimate assumes that
        whether a sheet is full does not depend on these answers.) With a design, over candidates
        without ``other=True`` and of matched waves, everybody without one of the answers is left
        out. `cells` uses every answer, and offers laws with fewer parameters.

        Parameters
        ----------
        *names : str
            Questions; or public columns of text, booleans or categories, which join without noise.
        candidates, other, memoised
            As for `AssociationModel`. Questions that two matched waves share are of one name.
        method, **how
            As for `AssociationModel.fit`: `method`, `cov_type`. With a design only "inversion".

        Returns
        -------
        AssociationResults; of a survey with a design WeightedTable

        Raises
        ------
        InvalidArgument
            If nobody answered all questions, or a public column holds numbers.
            With a design also for estimators without a weighted form, and for candidates that are
            some of the categories without ``other=True``.
        NotAvailable
            Where two reports of a person may come from one permanent response. With a design also
            for variables that share cohorts, and for tables that are too large.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no"] * 60 + ["yes"] * 40, "region": ["n", "s"] * 50})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
        >>> survey.association("ill", "region").names
        ('ill', 'region')
        """
        check_options(how, AssociationModel.fit)
        self._refuse_joint(names)
        asked = self._different(names)
        refuse_kept(self.data, asked, memoised, "association")
        if self.design is not None:
            _check_weighted({"method": method} | how)
            crossing = weighted_crossing(self.data, self.design, asked, candidates, other)
            if not crossing.inside.any():
                raise self._nobody(names)
            return crossing.fit_table()
        groups = joint_groups(self.data, asked)
        if not groups[0].nobs:
            raise self._nobody(names)
        return AssociationModel(
            groups, memoised=False, candidates=candidates, other=other, names=names
        ).fit(method, **how)

    def associations(
        self,
        names: Sequence[str],
        candidates: Mapping[str, Any] | None = None,
        other: Any = False,
        memoised: bool | None = None,
        **how: Any,
    ) -> AssociationMatrix:
        """Association of every pair of several questions, see `ldpstats.associations`.

        Each pair rests on the respondents of its `association`. Of a survey with a design tests
        have F laws, of which "df" is the first number.

        Parameters
        ----------
        names : sequence of str
            As for `association`.
        candidates, other, memoised, **how
            As for `ldpstats.associations`: `method`, `alpha`.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no"] * 60 + ["yes"] * 40, "region": ["n", "s"] * 50,
        ...                       "sex": ["f", "m", "m", "f"] * 25})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)})
        >>> matrix = survey.associations(["ill", "region", "sex"])
        >>> matrix.nobs.loc["ill", "sex"]
        np.int64(100)
        """
        remedy = "must be a list of questions"
        given = [names] if isinstance(names, str) else listed("names", names, remedy)
        names = self._different(given)
        self._refuse_joint(names)
        if self.design is not None:
            _check_weighted({"method": how.get("method")})
            known, fits, epsilon = weighted_pairs(self.data, self.design, names, memoised)
            return pairwise(names, known, fits, candidates, other, epsilon=epsilon, **how)
        how |= {"memoised": memoised, "origins": {one: self.data.origin(one) for one in names}}
        return pairwise(names, *pairs(self.data, names), candidates, other, **how)

    def cells(
        self,
        names: Sequence[str],
        structure: Structure,
        candidates: Mapping[str, Any] | None = None,
        memoised: bool | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> CellModel:
        """A joint model of the true answers to several questions, see `ldpstats.CellModel`.

        A respondent counts with all that she was asked: a question that ``ask=`` passed over, or
        that she did not answer, is no reason to leave her out. (A refusal may depend on the answer,
        and the model does not know that.) Of a survey with a design the estimates are those of the
        population, and their covariance is the design's.

        Parameters
        ----------
        names : sequence of str
            Questions, also of devices with unknown parameters; or public columns of text, booleans
            or categories, which join without noise.
        structure : Structure
            What `ldpstats.cells` makes; its covariates are public columns, without missing values.
        candidates, memoised, parameters
            As for `CellModel`; formulas are of public columns.

        Returns
        -------
        CellModel
            Its `fit()` estimates.

        Raises
        ------
        InvalidArgument
            For names and covariates that are not there, covariates that are missing, and structures
            that do not fit the questions.
        NotAvailable
            For PUM and dictionary questions, and where two reports of a person may come from one
            permanent response.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(5)
        >>> uses = rng.random(6000) < 0.4
        >>> people = pd.DataFrame({name: np.where(rng.random(6000) < np.where(uses, 0.8, 0.1),
        ...                                       "yes", "no") for name in ("a", "b", "c")})
        >>> sheet = ldp.Questionnaire({name: ldp.Warner(epsilon=2.0) for name in people}, ask=2)
        >>> survey = ldp.Survey(sheet.privatize(people, rng), sheet)
        >>> results = survey.cells(["a", "b", "c"], ldp.cells.saturated()).fit()
        >>> results.nobs, results.margin("a")["estimate"].round(1).tolist()
        (6000, [0.6, 0.4])
        """
        names = [column_name("names", one) for one in listed("names", names, _QUESTIONS)]
        if len(set(names)) < len(names) or not names:
            raise InvalidArgument("names", names, "must be different questions")
        for name in names:
            self._refuse_dictionary(name, "cells")
            if isinstance(self._made_by(name), PUM):
                raise NotAvailable(f"cells of {name!r}: it is a PUM question")
        memoised = self._memoised(names, memoised)
        if not memoised:
            refuse_kept(self.data, names, memoised, "a joint model")
        data = cell_data(self.data, self.design, names, formulas_of(structure, parameters))
        how: dict[str, Any] = {"memoised": bool(memoised), "parameters": parameters}
        return CellModel(data, structure, names, candidates=candidates, **how)

    def paths(self, names: Sequence[str], name: str, memoised: bool | None = None) -> Survey:
        """The survey with the waves of one question as one, whose answers are paths.

        All that is done with one question is then done with paths: frequencies by groups, with
        weights, strata and clusters, means of scores and tests of sums of paths, regressions. A
        person without a report in some wave has no path; `cells` uses such persons, too.

        Parameters
        ----------
        names : sequence of str
            The question in each wave, in order (see `matched`), over the same categories.
        name : str
            What the question of paths is called; "no, yes" is the path from no to yes.
        memoised : bool, optional
            True: devices kept their response to each answer (`Mechanism.joint_law`), the default
            of waves with ``Questionnaire(keep=True)``. False: they drew each report afresh. By
            default other waves that may share responses are refused.

        Returns
        -------
        Survey
            In memory, with the public columns of this one and its design.

        Raises
        ------
        NotAvailable
            For reports that cannot be listed, too many paths, and a part of a sample with a design.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill_1": ["no", "yes"] * 50, "w": np.arange(100) % 3 + 1.0,
        ...                       "ill_2": ["no", "yes", "yes", "yes"] * 25})
        >>> asked = dict.fromkeys(("ill_1", "ill_2"), ldp.Warner(epsilon=2.0))
        >>> paths = ldp.Survey(table, asked, weights="w").paths(["ill_1", "ill_2"], "ill")
        >>> results = paths.frequencies("ill")
        >>> moved = {"no, yes": 1, "yes, no": 1, "no, no": 0, "yes, yes": 0}
        >>> results.mean(moved).round(2)[["estimate", "se"]].tolist()
        [0.08, 0.08]
        """
        asked, name = self._different(listed("names", names, _QUESTIONS)), column_name("name", name)
        memoised = self._memoised(asked, memoised)
        if not memoised:
            refuse_kept(self.data, asked, memoised, "paths")
        if self.design is not None and self.data.rows is not None:
            raise NotAvailable("paths of a domain: make them of the survey, and choose then")
        public = [one for one in self.data.public_columns if one not in asked]
        if name in public:
            raise InvalidArgument("name", name, "is a public column: use another name")
        rows = self.data.read([*asked, *public])
        coded, waves = [rows.coded(question) for question in asked], []
        there = np.all([one.present for one in coded], axis=0)
        if not there.any():
            raise self._nobody(asked)
        for one in coded:
            parts = one.reports.mechanism.as_labels(one.reports[there[one.present]])
            if len(parts) > 1:
                words = "each cohort of which has a law of its own: use change(...)"
                raise NotAvailable(f"paths of {one.reports.mechanism}, {words}")
            waves.append(parts[0][1])
        made = [wave.mechanism for wave in waves]
        panel = Panel.of(made) if memoised else product(dict(zip(asked, made, strict=True)))
        y = np.ravel_multi_index([wave.y for wave in waves], [one.n_outputs for one in made])
        frame = pd.DataFrame({one: rows.public(one).plain() for one in public}, range(len(rows)))
        frame[name] = pd.Series(index=frame.index, dtype=object)
        frame.loc[there, name] = panel.outputs.to_numpy(dtype=object)[y]
        return replace(self, data=frame, questionnaire={name: panel}, table=None, engine=None)

    def change(
        self,
        first: str | Survey,
        second: str,
        name: str | None = None,
        memoised: bool | None = None,
        id: str | None = None,
        partial: bool = False,
        by: str | Sequence[str] | None = None,
        **how: Any,
    ) -> ChangeResults | WeightedResults | dict[Any, ChangeResults | WeightedResults]:
        """Change of the frequencies between two waves of the same persons, see `ldpstats.change`.

        ``change("ill_1", "ill_2")`` of two questions of one table, or ``change(later, "ill",
        id="person")`` of one question in two surveys. Respondents are those who answered both. Of
        waves that were `matched`, `lost` counts persons who were in one only. Of a survey with a
        design the weights are those of the table's rows, each a person with both waves; the
        `differences` of the results are the changes, whose standard errors know that they are of
        the same persons; turnover and transitions with a design are those of `paths`. (Waves of
        independent samples are domains: ``frequencies(name, by="wave")``.)

        Parameters
        ----------
        first, second : str
            Questions over the same categories, such as those of two waves (see `matched`). Or the
            survey of the second wave, and the question.
        name : str, optional
            Name of the variable; that of the question in both waves by default.
        id : str, optional
            The public column that identifies persons in both surveys.
        partial : bool
            As for `ldpstats.change`: persons in one wave only count too. Not with a design.
        by : str or sequence of str, optional
            Public columns of groups, here those of the first survey: a change for each.
        memoised : bool, optional
            As for `ldpstats.change`; by default True for waves, in two surveys or `matched`, whose
            questionnaires say that devices keep their responses, ``Questionnaire(keep=True)``.
        **how
            As for `ldpstats.change`: `waves`, `candidates`, `method`, with a design "inversion".

        Returns
        -------
        ChangeResults; of a survey with a design WeightedResults
            With `by` a dictionary from groups to these.

        Raises
        ------
        MechanismMismatch, NotAvailable
            As `ldpstats.change`; with a design for waves of different mechanisms and other
            estimators.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill_1": ["no", "yes"] * 50, "ill_2": ["no", "no"] * 25
        ...                       + ["yes", "no"] * 25})
        >>> asked = dict.fromkeys(("ill_1", "ill_2"), ldp.Warner(epsilon=2.0))
        >>> survey = ldp.Survey(table, asked)
        >>> survey.change("ill_1", "ill_2").nobs
        100
        >>> weighted = ldp.Survey(table.assign(w=1.5), asked, weights="w")
        >>> weighted.change("ill_1", "ill_2").differences()["estimate"].round(2).to_list()
        [0.33, -0.33]
        """
        check_options(how, change)
        partial = boolean("partial", partial)
        if isinstance(first, Survey):
            question = column_name("second", second)
            if id is None:
                raise InvalidArgument("id", None, "is needed: the column of persons in both waves")
            if not partial:
                both = self.matched(first, id)
                of = None if by is None else [f"{one}_1" for one in group_columns(by)]
                asked = f"{question}_1", f"{question}_2"
                return both.change(*asked, name or question, memoised, by=of, **how)
            if by is not None or self.design is not None or first.design is not None:
                raise NotAvailable("partial=True goes without groups and without a design")
            before, after = self.reports(question, id), first.reports(question, id)
            if memoised is None and self.questionnaire.keep and first.questionnaire.keep:
                memoised = True
            how |= {"memoised": memoised}
            return change(before, after, name or question, partial=True, **how)
        if partial or id is not None:
            raise InvalidArgument("id", id, "goes with partial=, and with the survey of a wave")
        if by is not None:
            columns, survey = group_columns(by), self
            if self.data.remote:
                self._refuse_design("change by groups", "read the table into memory first")
                survey = replace(self, data=self.data.read([first, second, *columns]))
            groups, rows, _ = grouped_rows(survey.data, columns, first)
            parts = [survey._chosen(survey.data.taken(own)) for own in rows]
            found: dict[Any, Any] = {}
            for label, part in zip(groups, parts, strict=True):
                if not joint(part.data, (first, second)).nobs:
                    remedy = f"nobody in {label!r} answered both: leave the group out, where(...)"
                    raise InvalidArgument("by", columns, remedy)
                found[label] = part.change(first, second, name, memoised, **how)
            return found
        names = self._different((first, second))
        self._refuse_joint(names)
        memoised = self._memoised(names, memoised)
        origins = {self.data.origin(question) for question in names}
        if name is None and len(origins) == 1:
            name = origins.pop()
        if self.design is not None:
            if memoised is not True:  # the margins need no law of both reports
                refuse_kept(self.data, names, memoised, "change")
            return weighted_change(self.data, self.design, names, name, **how)
        counts = joint(self.data, names)
        if not counts.nobs:
            raise self._nobody(names)
        return change_between(counts.tally(), name, **how, memoised=memoised, lost=self.data.lost)

    @guided
    def regression(
        self,
        formula: str,
        model: str | None = None,
        marginal: str | None = None,
        scores: Mapping[str, Any] | None = None,
        offset: str | None = None,
        candidates: Mapping[str, Any] | None = None,
        memoised: bool | None = None,
        unsafe: bool = False,
    ) -> Any:
        """A regression of or on the true answers to questions, see `ldpstats.regression`.

        Respondents who lack a value that the formula needs are left out, and counted. Of a survey
        with a design the coefficients are those of the population, and their covariance is the
        design's.

        Parameters
        ----------
        formula : str
            As for statsmodels; its names are questions and public columns.
        model, marginal, scores, candidates, memoised, unsafe
            As for `ldpstats.regression`.
        offset : str, optional
            A public column of numbers.

        Returns
        -------
        A model, whose `fit()` estimates

        Raises
        ------
        NotAvailable
            For PUM and dictionary questions, and where two reports of a person may come from one
            permanent response.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes", "no"] * 40, "age": range(120)})
        >>> model = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)}).regression("ill ~ age")
        >>> type(model).__name__, model.exog_names
        ('PrivatizedLogit', ['Intercept', 'age'])
        """
        # rows are respondents, on an engine with a design distinct combinations of their columns
        held, sheet, given = self.data, self.questionnaire, caller_names(2)
        public = [name for name in held.public_columns if name not in sheet]
        how = model, marginal, scores, candidates, unsafe
        asked = Request.of(formula, sheet.questions, public, given, *how)
        for name in asked.questions:
            made_by = sheet[name]
            if isinstance(made_by, PUM):
                remedy = (
                    f"its categories differ by respondent; survey.personalized({name!r}) has them"
                )
                raise NotAvailable(f"regression with {name!r}: it is a PUM question; {remedy}")
            if isinstance(made_by, DictionarySurvey):
                remedy = f"find them by survey.dictionary({name!r}), and ask a question about these"
                raise NotAvailable(f"regression with {name!r}: nobody listed its answers; {remedy}")
        refuse_kept(held, asked.questions, memoised, "regression")
        beside = []
        if offset is not None:
            beside = [column_name("offset", offset, "the name of a public column of numbers")]
            held.refuse_private(beside[0])
        names = [*asked.questions, *asked.columns, *beside]
        if self.design is None:
            rows = held.read(names)
            extras = Extras()
        else:
            weighed = weigh(held, self.design, names)
            rows, sample, design = weighed.cells, weighed.sample, self.design
            alone = bool((sample.n == 1.0).all())
            extras = Extras(
                weights=sample.w / sample.n,
                counts=None if alone else sample.n,
                inside=weighed.inside,
                sample=sample,
                facts=lambda used: sample_facts(replace(weighed, inside=used), design),
            )
        rows.table.prepare(names)
        if beside:
            extras = replace(extras, offset=rows.numbers("offset", beside[0]))
        frame = pd.DataFrame(
            {name: rows.unasked(name).plain() for name in asked.columns}, index=rows.index
        )
        reports = {}
        for name in asked.questions:
            coded = rows.coded(name)
            taken: Any = lambda rows, coded=coded: [coded.taken(rows).reports]  # noqa: E731
            reports[name] = Given((coded.reports.mechanism,), coded.present, taken)
        return asked.model_of(frame, reports, extras)

    def _model(
        self,
        name: str,
        by: Sequence[Any] | None,
        sums: bool = False,
        candidates: Any = None,
        incomplete: bool = False,
    ) -> FrequencyModel | GroupedModel:
        """The model of a question, in all or in groups, without weights."""
        if by is None:
            data = tally(self.data, name, sums)
            refuse_unanswered(name, [data], self.data)
            return FrequencyModel(data, candidates, incomplete, name)
        groups, ungrouped = grouped(self.data, name, by, sums)
        refuse_unanswered(name, groups.values(), self.data)
        return GroupedModel(groups, by, candidates, incomplete, name, ungrouped)

    # -- what analyses refuse --------------------------------------------------------------------

    def _memoised(self, names: Sequence[str], memoised: object) -> bool | None:
        """Whether devices kept their responses; None where neither caller nor waves say so."""
        if memoised is not None:
            return boolean("memoised", memoised)
        sheet = self.questionnaire
        makers = [maker_of(sheet[name]) for name in names if name in sheet]
        return any(one.permanent is not None for one in makers) if self.data.kept else None

    def _made_by(self, name: str) -> Any:
        """The mechanism of a question; None of a public column."""
        name = column_name("name", name)
        return self.questionnaire[name] if name in self.questionnaire else None

    def _of_kind(self, name: str, kind: type, what: str) -> Any:
        """What makes the reports of a question of this kind; refuse others."""
        made_by = self._made_by(name)
        if not isinstance(made_by, kind):
            if name not in self.questionnaire:
                self.data.unasked(name)  # which refuses one that is not there
            raise NotAvailable(f"{name!r} is no {what} question: use survey.frequencies({name!r})")
        return made_by

    def _refuse_dictionary(self, name: str, what: str) -> None:
        """Refuse a question about strings that nobody listed."""
        if isinstance(self._made_by(name), DictionarySurvey):
            raise NotAvailable(
                f"{what} of {name!r}: it asks for strings that nobody listed; use "
                f"survey.dictionary({name!r})"
            )

    def _refuse_design(self, what: str, instead: str = "") -> None:
        """Refuse an analysis that would ignore the design."""
        if self.design is not None:
            remedy = instead or "make the survey without weights= for an unweighted one"
            raise NotAvailable(f"{what} of a survey with a design has no weighted form: {remedy}")

    def _single(self, argument: str, name: str, by: Any, what: str) -> tuple[str, list[Any]]:
        """A question and the columns of its groups; refuse those without categories of their own.

        Groups and weights are refused where its device has unknown parameters.
        """
        name = column_name(argument, name)
        made_by = self._made_by(name)
        if isinstance(made_by, PUM):
            remedy = f"use survey.personalized({name!r}), which spreads what was sent to tags"
            raise NotAvailable(f"{what} of {name!r}: it is a PUM question; {remedy}")
        self._refuse_dictionary(name, what)
        remedy = "must be the name of a public column, or a list of names"
        if isinstance(by, pd.Series | pd.Index | np.ndarray):
            raise InvalidArgument("by", type(by).__name__, remedy)
        by = [by] if isinstance(by, str) else [] if by is None else listed("by", by, remedy)
        if not isinstance(made_by, Mechanism) or not made_by.unknown:
            return name, by
        unknown = f"{name!r} has the unknown {in_turn(made_by.unknown)}"
        if by:
            chosen = f'survey.where("{by[0]} == ...").frequencies({name!r})'
            raise NotAvailable(
                f"by={by}: {unknown}, estimated from all cohorts together; take one group at a "
                f"time: {chosen} (--where), or known values: mechanism.at(...)"
            )
        if self.design is not None:
            raise NotAvailable(
                f"a design: {unknown}: survey.cells([{name!r}], ldpstats.cells.saturated()) "
                "estimates both, with weights, strata and clusters"
            )
        return name, by

    def _refuse_joint(self, names: Sequence[Any]) -> None:
        """Refuse joint tables of devices with unknown parameters."""
        for name in names:
            made_by = self._made_by(name) if isinstance(name, str) else None
            if isinstance(made_by, Mechanism) and made_by.unknown:
                raise NotAvailable(
                    f"association of {name!r}: its device has the unknown "
                    f"{in_turn(made_by.unknown)}, and a joint table needs known ones, "
                    f"mechanism.at(...); survey.cells(names, ldpstats.cells.saturated()) "
                    f"estimates both, and it may be the response of a regression or a predictor: "
                    f"survey.regression('{name} ~ ...')"
                )

    def _nobody(self, names: Sequence[str]) -> InvalidArgument:
        """The error that nobody answered all of these questions, and the reason if `ask` is one."""
        ask, what = self.questionnaire.ask, "both" if len(names) == 2 else "all of them"
        private = [name for name in names if name in self.questionnaire.private]
        remedy = f"nobody of {len(self)} answered {what}"
        if ask is not None and len(private) > ask:
            remedy += (
                f" (ask={ask}: nobody was asked {len(private)} private questions): associate "
                "fewer, or fit survey.cells(names, ldpstats.cells.latent_class(2)), which needs no "
                "such respondent; ldpstats.cells.saturated() shows what is known without "
                "assumptions"
            )
        return InvalidArgument("names", names, remedy)

    def _different(self, names: Sequence[str]) -> list[str]:
        """Two questions or more, which are not about strings."""
        asked = [column_name("names", name) for name in names]
        if len(asked) < 2 or len(set(asked)) < len(asked):
            raise InvalidArgument("names", asked, "must be two different questions, or more")
        for name in asked:
            self._refuse_dictionary(name, "association")
        return asked


def _check_weighted(how: Mapping[str, Any]) -> None:
    """Refuse options of a table that have no weighted form."""
    usual = {"method": ("inversion",), "cov_type": ("default", "linear")}
    for name, value in how.items():
        known = isinstance(value, str) and str.__str__(value) in usual.get(name, ())
        if value is not None and value is not False and not known:
            remedy = "leave it out: with weights a table is estimated by 'inversion' only"
            raise InvalidArgument(name, value, remedy)


def column_name(argument: str, name: object, what: str = "") -> str:
    if not isinstance(name, str):
        raise InvalidArgument(argument, name, f"must be {what or 'text, the name of a column'}")
    return str.__str__(name)


def check_options(how: Mapping[str, Any], fit: Callable[..., Any]) -> None:
    """Refuse keywords that a fit does not have."""
    known = list(signature(fit).parameters)[1:]  # without self
    for name, value in how.items():
        if name not in known:
            remedy = f"is no option of the fit, which has {', '.join(known)}"
            remedy += f"; {HINTS['arguments'][name]}" if name in HINTS["arguments"] else ""
            raise InvalidArgument(name, value, remedy)
