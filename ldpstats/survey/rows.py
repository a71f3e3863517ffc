"""The rows of a survey: a table with private columns, the design of its sample, domains of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, Self

from ldpstats.engines.query import Query
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.survey.conditions import And, Condition, parse, words
from ldpstats.survey.held import Held, Selected
from ldpstats.survey.masks import masked
from ldpstats.survey.opening import held_on, questionnaire_of, rows_of
from ldpstats.survey.sample.cells import weigh, whole_of
from ldpstats.survey.sample.design import SampleDesign
from ldpstats.survey.sample.replicates import ReplicateWeights
from ldpstats.survey.sample.reweighting import check_changes
from ldpstats.survey.selecting import columns_in

__all__ = ["SurveyRows", "column_name"]


@dataclass(frozen=True, eq=False, repr=False)
class SurveyRows:
    """Rows of reports and public columns, and how their respondents were sampled: see `Survey`."""

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
    nested: Any = True
    single_unit: Any = "fail"
    replicate_weights: Any = None
    changes: Any = ()

    def __post_init__(self) -> None:
        check_changes(self.changes)
        if isinstance(self.data, Held):  # rows of another survey
            return
        sheet = questionnaire_of(self.questionnaire, self.data)
        rows = rows_of(self.data, "data", self.na, self.table, self.engine, self.on_error)
        held = held_on(rows, sheet)
        object.__setattr__(self, "questionnaire", sheet)
        object.__setattr__(self, "data", held)
        if isinstance(self.replicate_weights, ReplicateWeights):
            found = self.replicate_weights.on(held.columns, isinstance(rows, Query))
            object.__setattr__(self, "replicate_weights", found)
        if self.design is not None:
            self.design.check(held)
            if not isinstance(rows, Query):
                weigh(held, self.design, [])  # for its errors

    @cached_property
    def design(self) -> SampleDesign | None:
        """The columns that describe the sample; None without any."""
        found = SampleDesign.of(
            self.weights,
            self.strata,
            self.clusters,
            self.fpc,
            self.nested,
            self.single_unit,
            self.replicate_weights,
        )
        return found and replace(found, changes=tuple(one.change for one in self.changes))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        names: tuple[str, ...] = self.data.columns
        return names

    @property
    def lost(self) -> tuple[int, int]:
        """Persons who were left out by `matched`: in the first wave only, in the second only."""
        found: tuple[int, int] = self.data.lost
        return found

    def __len__(self) -> int:
        return len(self.data)

    def where(self, condition: str) -> Self:
        """The respondents for whom a condition on public columns is true.

        Of a survey with a design they are a domain: variances count the units and strata of the
        whole sample.

        Parameters
        ----------
        condition : str
            Comparisons (== != < <= > >=, also 18 <= age < 65), ``in [...]``, ``not in [...]``,
            ``is missing``, ``is not missing``, columns of booleans; joined by ``and``, ``or``,
            ``not`` and parentheses. Text is quoted, dates as '2024-12-31'; names that are not one
            word stand in `backquotes`. A missing cell makes a comparison neither true nor false.
            Text has no order; ordered categoricals and the answers to `Observed` questions have
            that of their categories.

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
        tree = parse(condition)
        self.data.prepare(columns_in(tree))
        chosen = self.data.where(tree)
        if not len(chosen):
            raise InvalidArgument("where", condition, f"is true for nobody{self._counted(tree)}")
        return replace(self, data=chosen)

    def _counted(self, tree: Condition) -> str:
        """How many rows the parts of a condition select, in words."""
        if not isinstance(tree, And):
            return f": none of {len(self)} rows"
        sizes = [f"{words(part)}: {len(self.data.where(part))}" for part in tree.parts]
        return f"; of {len(self)} rows alone: {', '.join(sizes)}"

    def __getitem__(self, mask: object) -> Self:
        """The respondents whom a mask, True or False for each row, or a slice chooses.

        A mask that is a Series has the index of the table's rows, in their order. Of a survey with
        a design the respondents are a domain, see `where`.
        """
        if isinstance(mask, str):
            remedy = f"reports of a question are survey.reports({mask!r})"
            raise InvalidArgument("mask", mask, f"must be True or False for each row; {remedy}")
        if not self.data.ordered:
            raise NotAvailable("rows of this table have no order: select them by where(condition)")
        rows = masked(mask, self.data.index)
        if not rows.size:
            raise InvalidArgument("mask", mask, "chooses nobody")
        chosen = Selected(self.data.read(self.columns), rows)
        if self.design is not None:
            whole_of(chosen)  # refuses rows of which the rest of the sample is not known
        return replace(self, data=chosen)

    def __contains__(self, name: object) -> bool:
        """Whether the table has a column of this name."""
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        """The names of the columns, in order."""
        return iter(self.columns)

    def __repr__(self) -> str:
        kinds = [f"{kind}: {names}" for kind, names in self._kinds().items() if names]
        lost = [f"{self.lost[0]} and {self.lost[1]} in one wave only"] if any(self.lost) else []
        design = [str(self.design)] if self.design is not None else []
        return f"Survey({'; '.join([f'{len(self)} rows', *kinds, *lost, *design])})"

    def _repr_html_(self) -> str:
        lost = f"; in one wave only: {self.lost[0]} and {self.lost[1]}" if any(self.lost) else ""
        public = escape(self._kinds()["public"] or "none")
        head = f"<p>Survey of {len(self)} rows{lost}; public columns: {public}</p>"
        return head + str(self.questionnaire._repr_html_())

    def _kinds(self) -> dict[str, str]:
        """Names of private and observed questions and of public columns, as text."""
        sheet = self.questionnaire
        kinds = {
            "private": sheet.private,
            "observed": sheet.observed,
            "public": self.data.public_columns,
        }
        return {
            kind: ", ".join(names[:20]) + ", ..." * (len(names) > 20)
            for kind, names in kinds.items()
        }

    # -- questions ---------------------------------------------------------------------------

    def _made_by(self, name: str) -> Any:
        """The mechanism of a question; None of a public column."""
        name = column_name("name", name)
        return self.questionnaire[name] if name in self.questionnaire else None

    def _refuse_dictionary(self, name: str, what: str) -> None:
        """Refuse a question about strings that nobody listed."""
        if isinstance(self._made_by(name), DictionarySurvey):
            raise NotAvailable(
                f"{what} of {name!r}: it asks for strings that nobody listed; use "
                f"survey.dictionary({name!r})"
            )


def column_name(argument: str, name: object) -> str:
    if not isinstance(name, str):
        raise InvalidArgument(argument, name, "must be text, the name of a column")
    return str.__str__(name)
