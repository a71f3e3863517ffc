"""The distribution of each variable alone, from a joint fit and the variable's own."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pandas as pd

from ldpstats.models.association.record import Variables
from ldpstats.models.frequency.results import FrequencyResults

__all__ = ["margin_frames"]


def margin_frames(
    variables: Variables, estimate: npt.NDArray[Any], alpha: float
) -> dict[str, pd.DataFrame]:
    """Sums of the joint estimate, (k,), beside the own estimates of each variable."""
    found, joint = {}, estimate.reshape(variables.sizes)
    each = zip(variables.names, variables.labels, variables.margin_fits, strict=True)
    for v, (name, labels, fit) in enumerate(each):
        frame = fit.summary_frame(alpha)[["linear", "linear_se", "lower", "upper"]]
        if len(labels) == len(frame) + 1:
            frame.loc["Other"] = _rest(fit, alpha)
        frame = frame.iloc[: len(labels)].set_axis(labels.rename(name))
        others = tuple(axis for axis in range(joint.ndim) if axis != v)
        frame.insert(0, "params", joint.sum(axis=others))
        found[name] = frame
    return found


def _rest(fit: FrequencyResults, alpha: float) -> list[float]:
    """Estimate, standard error and interval of the answers that are not among the candidates."""
    assert fit.unexplained is not None
    return [fit.unexplained.estimate, fit.unexplained.bse, *fit.unexplained.conf_int(alpha)]
