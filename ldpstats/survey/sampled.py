"""What changes the weights of a survey, or how its variances are estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from ldpstats.arguments.checks import listed
from ldpstats.errors import NotAvailable
from ldpstats.models.weighted.calibration_report import CalibrationReport
from ldpstats.survey.remote import Remote
from ldpstats.survey.rows import SurveyRows, column_name
from ldpstats.survey.sample.cells import weigh, whole_of
from ldpstats.survey.sample.replicates import MadeReplicates
from ldpstats.survey.sample.reweighting import (
    calibrated,
    poststratified,
    report_of,
    trimmed,
)

__all__ = ["SampledRows"]

_QUESTIONS = "must be the name of a question, or a list of names"


class SampledRows(SurveyRows):
    """Rows of respondents whose weights may be calibrated, trimmed and replicated: see `Survey`."""

    @property
    def calibration(self) -> CalibrationReport | None:
        """What `calibrate`, `poststratify` and `trim` did to the weights; None without."""
        return report_of(self.changes) if self.changes else None

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
        if self.design.has_columns_of_replicates:
            raise NotAvailable("replicates: the survey has columns of replicate weights already")
        found = replace(self, replicate_weights=made)
        if found.design is not None and not isinstance(whole_of(self.data), Remote):
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
        from ldpstats.survey.sample.svy import svy_sample

        questions = [names] if isinstance(names, str) else listed("names", names, _QUESTIONS)
        asked = [column_name("names", name) for name in questions]
        for name in asked:
            self._refuse_dictionary(name, "to_svy")
        return svy_sample(self.data, self.design, asked)
