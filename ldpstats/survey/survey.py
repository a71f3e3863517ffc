"""What the analyst holds: a table with privatised columns, and the questionnaire they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ldpstats.arguments.checks import listed
from ldpstats.errors import InvalidArgument
from ldpstats.survey.joining import matched
from ldpstats.survey.rows import column_name
from ldpstats.survey.several_questions import SeveralQuestions

__all__ = ["Survey"]


@dataclass(frozen=True, eq=False, repr=False)
class Survey(SeveralQuestions):
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
        (``"part-*.parquet"``).
    questionnaire : Questionnaire, or mapping from column to mechanism, optional
        What the private columns hold. May be left out where `data` is the folder of a collector,
        which has it in questionnaire.json.
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
        >>> ill = {"ill": ldp.Warner(epsilon=1.0)}
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
