"""Odds ratios of a fitted regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, numbers
from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.regression.summary import model_name
from ldpstats.problems.regression.outcomes import Binary, Multinomial, Ordered

__all__ = ["odds_ratios"]


def odds_ratios(results: Any, alpha: Any, per: Any) -> pd.DataFrame:
    """Odds ratios with intervals; see `RegressionResults.odds_ratios`."""
    alpha = level(alpha)
    model = results.model
    outcome = model.data.outcome
    is_logit = isinstance(outcome, Binary) and outcome.link == "logit"
    if not is_logit and not isinstance(outcome, Multinomial | Ordered):
        raise NotAvailable(
            f"odds_ratios: {model_name(outcome)} regressions have none: use get_margeff(), or fit "
            "model='logit'"
        )
    names = model.exog_names
    units = _units(names, model.constant, per)
    p, equations = len(names), len(model.equations)
    slopes = [j for j in range(p) if j != model.constant]
    at = [e * p + j for e in range(equations) for j in slopes]
    table = results._tidy(alpha).iloc[at]
    by = np.tile(units[slopes], equations)[:, None]
    with np.errstate(over="ignore"):
        ratios = np.exp(table[["estimate", "lower", "upper"]].to_numpy() * by)
    found = pd.DataFrame(ratios, index=table.index, columns=["odds_ratio", "lower", "upper"])
    return found.assign(p_value=table["p_value"])


def _units(names: list[str], constant: int | None, per: Any) -> npt.NDArray[np.float64]:
    """How far each covariate moves."""
    units = np.ones(len(names))
    known = [name for j, name in enumerate(names) if j != constant]
    if per is None:
        return units
    if not isinstance(per, Mapping):
        example = f"{{{known[0]!r}: 10}}" if known else "{'age': 10}"
        remedy = f"must be a mapping of coefficients to units, such as {example}"
        raise InvalidArgument("per", per, remedy)
    for name, value in per.items():
        if not isinstance(name, str) or name not in known:
            remedy = f"is no coefficient, which are {', '.join(known[:10])}"
            hint = did_you_mean(name, tuple(known)) if isinstance(name, str) else ""
            raise InvalidArgument("per", name, remedy + hint)
        argument, remedy = f"per[{name!r}]", "must be a positive finite number, such as 10"
        found = numbers(argument, value, remedy)
        if found.shape != () or not np.isfinite(found) or found <= 0.0:
            raise InvalidArgument(argument, value, remedy)
        units[names.index(name)] = float(found)
    return units
