"""An effect size with its confidence set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.arguments.markup import html_table

__all__ = ["Effect", "Kind", "beside"]

Kind = Literal["bounded", "unbounded", "complement", "not given"]


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect size and its confidence set.

    Parameters
    ----------
    name : str
        The effect in words.
    estimate : float
        From the unconstrained table, so a probability may lie outside [0, 1]; `ml` if a denominator
        is not positive, or nan without it.
    lower, upper : float
        Ends of the set, within the possible values of the effect.
    alpha : float
        One minus the confidence level.
    kind : {"bounded", "unbounded", "complement", "not given"}
        "bounded": [lower, upper]. "unbounded": also [lower, upper], but a denominator does not
        differ significantly from 0, and at most the range of possible values bounds the set.
        "complement": all possible values outside the open interval (lower, upper). "not given":
        only a message, in effects of version 0.1.
    message : str
        Remarks on the set.
    ml : float or None
        The effect in the maximum likelihood estimate of the table; None if that was not fitted or
        does not determine it. The message says so if the set does not hold it.

    Examples
    --------
    >>> effect = Effect("risk ratio", 1.5, 1.1, 2.2)
    >>> print(effect)
    risk ratio: 1.5, 95% interval [1.1, 2.2]
    >>> 1.0 in effect, Effect.from_dict(effect.to_dict()) == effect
    (False, True)
    """

    name: str
    estimate: float
    lower: float
    upper: float
    alpha: float = 0.05
    kind: Kind = "bounded"
    message: str = ""
    ml: float | None = None

    @property
    def given(self) -> bool:
        """Whether there is a confidence set."""
        return self.kind != "not given"

    def __contains__(self, value: float) -> bool:
        """Whether `value` is in the set."""
        if self.kind == "complement":
            return value <= self.lower or value >= self.upper
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        if not self.given:
            return f"{self.name}: not given, because {self.message}"
        note = f" ({self.message})" if self.message else ""
        return f"{self.name}: {self._estimate_text()}, {' '.join(self._set_text())}{note}"

    def _repr_html_(self) -> str:
        """The effect, in a notebook."""
        rows = [("estimate", self._estimate_text()), self._set_text()] if self.given else []
        return html_table(self.name, [*rows, ("note", self.message)] if self.message else rows)

    def _estimate_text(self) -> str:
        estimate = "no estimate" if math.isnan(self.estimate) else f"{self.estimate:.4g}"
        if self.ml is not None and f"{self.ml:.2g}" != f"{self.estimate:.2g}":
            estimate += f" (maximum likelihood {self.ml:.4g})"
        return estimate

    def _set_text(self) -> tuple[str, str]:
        """What the confidence set is, and its ends."""
        what, ends = "interval", f"[{self.lower:.4g}, {self.upper:.4g}]"
        if self.kind == "complement":
            what, ends = "set", f"below {self.lower:.4g} or above {self.upper:.4g}"
        return f"{100 * (1 - self.alpha):.4g}% {what}", ends

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; nan and infinity become their names."""
        numbers = {n: number_to_json(getattr(self, n)) for n in ("estimate", "lower", "upper")}
        words = {"alpha": self.alpha, "kind": self.kind, "message": self.message}
        ml = None if self.ml is None else number_to_json(self.ml)
        return {"name": self.name} | numbers | words | {"ml": ml}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Effect:
        """The effect that `to_dict` wrote."""
        fields = dict(document)
        for name in ("estimate", "lower", "upper"):
            fields[name] = number_from_json(fields[name])
        if fields.get("ml") is not None:
            fields["ml"] = number_from_json(fields["ml"])
        return cls(**fields)


def beside(effect: Effect, ml: float) -> Effect:
    """The effect with its value `ml` in the maximum likelihood table, nan if undefined there."""
    if math.isnan(ml):
        return effect
    message = effect.message
    if effect.given and ml not in effect:
        outside = f"the set does not hold the maximum likelihood estimate {ml:.4g}"
        message = f"{message}; {outside}" if message else outside
    estimate = ml if math.isnan(effect.estimate) else effect.estimate
    return replace(effect, estimate=estimate, message=message, ml=ml)
