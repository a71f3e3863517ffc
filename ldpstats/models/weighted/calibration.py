"""What calibration and trimming did to the weights of a survey."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, record
from ldpstats.inference.designs.linearisation import Sample
from ldpstats.models.layout import LONGEST_LABEL, SummaryTable, count_of, header, one_line

_SEVERAL = {  # columns of fields with several numbers
    "factors": ("factor_min", "factor_q1", "factor_median", "factor_q3", "factor_max"),
    "weight_sum": ("sum_before", "sum_after"),
    "kish": ("kish_before", "kish_after"),
}


@dataclass(frozen=True)
class WeightStep:
    """One change of weights: how, within what, and what it did to them."""

    method: str  # "raking", "linear", "logit", "post-stratification" or "trimming"
    margins: str  # the columns whose totals are met; of trimming the bounds
    bounds: str  # what factors lie between; "" without
    iterations: int  # of Newton's method; passes of trimming are not counted
    deviation: float  # largest relative deviation from a total
    factors: tuple[float, ...]  # least factor of a weight, quartiles, largest, over respondents
    weight_sum: tuple[float, float]  # before and after
    kish: tuple[float, float]  # n sum(w^2) / sum(w)^2 before and after (Kish 1965)
    n_trimmed: int = 0  # respondents whose weights were cut
    n_beyond: int = 0  # whose weights are beyond the bounds of trimming still
    n_negative: int = 0

    def __str__(self) -> str:
        return f"{self.method}: {self.margins}"


@record
class CalibrationReport:
    """How the weights of a survey were changed, see `Survey.calibration`.

    Attributes
    ----------
    steps : tuple of WeightStep
        In the order in which they were made.
    nobs : int
        Respondents of the whole sample.
    categories : DataFrame or None
        For every category of every margin the population total (`target`), the sum of the weights
        before that step (`before`) and their ratio (`ratio`). None where weights were trimmed only.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> table = pd.DataFrame({"ill": ["no", "yes"] * 4, "w": 10.0, "sex": list("ffmfmfff")})
    >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)}, weights="w")
    >>> survey.poststratify({"sex": {"f": 45, "m": 55}}).calibration.categories
                     target  before  ratio
    margin category
    sex    f           45.0    60.0   0.75
           m           55.0    20.0   2.75
    """

    steps: tuple[WeightStep, ...]
    nobs: int
    categories: pd.DataFrame | None

    def to_frame(self) -> pd.DataFrame:
        """A row for each step."""
        rows = [asdict(step) for step in self.steps]
        for row in rows:
            for name, columns in _SEVERAL.items():
                row |= dict(zip(columns, row.pop(name), strict=True))
        return pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="step"))

    def summary(self) -> Any:
        """The steps, how far weights moved, and what that costs, as a statsmodels Summary."""
        body, notes = [], []
        for step in self.steps:
            trimming = step.method == "trimming"
            deviation = "-" if trimming else f"{step.deviation:.1g}"
            factors, kish = (f"{one:.4g}" for one in step.factors), (f"{k:.3f}" for k in step.kish)
            body.append([*factors, deviation, *kish])
            if trimming:
                cut = count_of(step.n_trimmed, "weight")
                notes.append(f"Trimming cut {cut}; the sum stays the same.")
            else:
                within = f", factors {step.bounds}" if step.bounds else ""
                iterations = count_of(step.iterations, "iteration")
                notes.append(f"{step.method.capitalize()}: {iterations}{within}.")
            if step.n_beyond:
                notes.append(
                    f"NOTE: {count_of(step.n_beyond, 'weight')} moved out of the bounds when they "
                    "took their part of what was cut: strict=True repeats the trimming until none "
                    "is."
                )
            if step.n_negative:
                notes.append(
                    f"WARNING: the weights of {count_of(step.n_negative, 'respondent')} are "
                    'negative: give bounds=(0, None), or use method="raking".'
                )
        if self.categories is not None:
            ratio = self.categories["ratio"]
            at = int(np.abs(np.log(ratio.to_numpy())).argmax())
            words = f"{' '.join(ratio.index[at])}, whose total is {ratio.iloc[at]:.3g}"
            notes.append(f"Farthest from its total before: {words} times the sum of its weights.")
        first, last = self.steps[0], self.steps[-1]
        left = [("Last step:", last.method), ("Respondents:", f"{self.nobs:,}")]
        right = [
            ("Sum of weights before:", f"{first.weight_sum[0]:,.6g}"),
            ("Sum of weights after:", f"{last.weight_sum[1]:,.6g}"),
        ]
        return SummaryTable(
            title="Calibration of weights",
            header=header(left, right),
            columns=["min", "25%", "50%", "75%", "max", "dev.", "Kish", "Kish after"],
            stubs=[one_line(str(step), LONGEST_LABEL) for step in self.steps],
            body=body,
            notes=[
                "min to max: factors of the weights, their quartiles over respondents; dev.: "
                "largest relative deviation from a total; Kish: n sum(w^2) / sum(w)^2, before and "
                "after.",
                *notes,
            ],
        ).layout()

    def __repr__(self) -> str:
        return f"CalibrationReport({'; '.join(map(str, self.steps))})"

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        return str(self.summary().as_html())


def weight_step(before: Sample, after: Sample, factors: Array, **what: Any) -> WeightStep:
    """Describe a change of weights by its factors of the weights of cells, (c,)."""
    kish = [float(s.n.sum() * s.w2.sum() / s.w.sum() ** 2) for s in (before, after)]
    places = np.argsort(factors, kind="stable")
    seen = np.cumsum(before.n[places])
    levels = np.searchsorted(seen, np.linspace(0.0, 1.0, 5) * seen[-1])
    return WeightStep(
        factors=tuple(float(one) for one in factors[places][np.minimum(levels, len(places) - 1)]),
        weight_sum=(float(before.w.sum()), float(after.w.sum())),
        kish=(kish[0], kish[1]),
        n_negative=int(after.n[after.w < 0.0].sum()),
        **what,
    )
