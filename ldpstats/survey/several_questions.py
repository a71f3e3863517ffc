"""Analyses of several questions of a survey together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ldpstats.arguments.checks import listed
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms import Mechanism
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.change.model import change_between
from ldpstats.models.change.results import ChangeResults
from ldpstats.models.matrix.model import pairwise
from ldpstats.models.matrix.results import AssociationMatrix
from ldpstats.models.shared.spelling import in_turn
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.models.weighted.table_results import WeightedTable
from ldpstats.reports.joint import JointCounts
from ldpstats.survey.options import check_options
from ldpstats.survey.rows import column_name
from ldpstats.survey.sample.models import (
    refuse_uncrossed,
    weighted_crossing,
)
from ldpstats.survey.single_questions import SingleQuestions
from ldpstats.survey.tallying import (
    joint,
    pairs,
    refuse_kept,
)

__all__ = ["SeveralQuestions"]


class SeveralQuestions(SingleQuestions):
    """Rows of respondents, and analyses of several questions: see `Survey`."""

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

        Respondents who lack one of the answers are left out; `n_missing` counts them, and the
        summary says so.

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
        AssociationResults; of a survey with a design WeightedTable, of two questions

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
        refuse_kept(self.data, self._different(names), memoised, "association")
        if self.design is not None:
            refuse_uncrossed({"method": method} | how)
            return self._crossed(names, candidates, other)
        counts = self.joint_counts(*names)
        if not counts.nobs:
            remedy = (
                f"nobody of {len(self)} answered all of them{self._why(names)}: associate fewer"
            )
            raise InvalidArgument("names", names, remedy)
        model = AssociationModel(
            counts, candidates=candidates, other=other, names=names, memoised=False
        )
        return model.fit(method, **how)

    def associations(
        self,
        names: Sequence[str],
        candidates: Mapping[str, Any] | None = None,
        other: Any = False,
        memoised: bool | None = None,
        **how: Any,
    ) -> AssociationMatrix:
        """Association of every pair of several questions, see `ldpstats.associations`.

        Each pair rests on the respondents who answered both.

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
        self._refuse_design("associations", "use survey.association(first, second) for each pair")
        asked = (
            listed("names", names, "must be a list of questions")
            if not isinstance(names, str)
            else [names]
        )
        names = self._different(asked)
        self._refuse_joint(names)
        origins = {name: self.data.origin(name) for name in names}
        how |= {"memoised": memoised, "origins": origins}
        return pairwise(names, *pairs(self.data, names), candidates, other, **how)

    def change(
        self,
        first: str,
        second: str,
        name: str | None = None,
        memoised: bool | None = None,
        **how: Any,
    ) -> ChangeResults | WeightedResults:
        """Change of the frequencies between two questions about the same, see `ldpstats.change`.

        Respondents who lack one of the answers are left out; `n_missing` counts them. Of waves that
        were `matched`, `lost` counts those who were in one only.

        Parameters
        ----------
        first, second : str
            Questions over the same categories, such as those of two waves (see `matched`).
        name : str, optional
            Name of the variable; that of the question in both waves by default.
        memoised, **how
            As for `ldpstats.change`: `waves`, `candidates`, `method`.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill_1": ["no", "yes"] * 50, "ill_2": ["no", "no"] * 25
        ...                       + ["yes", "no"] * 25})
        >>> asked = dict.fromkeys(("ill_1", "ill_2"), ldp.Warner(epsilon=2.0))
        >>> survey = ldp.Survey(table, asked)
        >>> survey.change("ill_1", "ill_2").nobs
        100
        """
        self._refuse_design("change")
        names = self._different((first, second))
        self._refuse_joint(names)
        counts = joint(self.data, names)
        if not counts.nobs:
            remedy = f"nobody of {len(self)} answered both{self._why(names)}"
            raise InvalidArgument("names", names, remedy)
        origins = {self.data.origin(question) for question in names}
        if name is None and len(origins) == 1:
            name = origins.pop()
        return change_between(counts.tally(), name, **how, memoised=memoised, lost=self.data.lost)

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
        InvalidArgument
            As for `ldpstats.regression`.
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
        from ldpstats.models.regression.formulas.formula import caller_names
        from ldpstats.models.regression.front import model_of
        from ldpstats.survey.regression import survey_design

        how = model, marginal, scores, offset, candidates, memoised, unsafe
        return model_of(survey_design(self, formula, *how, outside=caller_names(1)))

    # -- inside --------------------------------------------------------------------------------

    def _refuse_joint(self, names: Sequence[Any]) -> None:
        """Refuse joint tables of devices with unknown parameters."""
        for name in names:
            made_by = self._made_by(name) if isinstance(name, str) else None
            if isinstance(made_by, Mechanism) and made_by.unknown:
                raise NotAvailable(
                    f"association of {name!r}: its device has the unknown "
                    f"{in_turn(made_by.unknown)}, and a joint table needs known ones, "
                    f"mechanism.at(...); it may be the response of a regression: "
                    f"survey.regression('{name} ~ ...')"
                )

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

    def _different(self, names: Sequence[str]) -> list[str]:
        """Two questions or more, which are not about strings."""
        asked = [column_name("names", name) for name in names]
        if len(asked) < 2 or len(set(asked)) < len(asked):
            raise InvalidArgument("names", asked, "must be two different questions, or more")
        for name in asked:
            self._refuse_dictionary(name, "association")
        return asked
