"""The frequencies that a survey of unknown strings can detect, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import (
    level,
    positive_epsilon,
    positive_integer,
    positive_number,
    probability,
)
from ldpstats.errors import InvalidArgument
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.mechanisms import gram_mechanism, string_mechanism
from ldpstats.models.dictionary.search.detection import (
    Stage,
    critical_z,
    detectable,
    gram_stage,
    pair_stage,
    string_stage,
)
from ldpstats.planning.rare import hashed_rates, report_variances
from ldpstats.planning.rates import krappor_rates, krr_rates

__all__ = ["GramDesign", "Setting"]

Array = npt.NDArray[Any]

_MOST_TESTED, _MOST_KEPT = 4000, 500  # below the number of cohorts: hashes tell them apart


@dataclass(frozen=True)
class Setting:
    """What all designs of a survey share; see `plan_dictionary`."""

    length: int
    alphabet: str
    epsilon: float
    n: int
    pad: str
    alpha: float
    power: float
    false_grams: float
    max_candidates: int

    def __post_init__(self) -> None:
        self.layout(1)
        numbers = {
            "epsilon": positive_epsilon("epsilon", self.epsilon),
            "n": positive_integer("n", self.n),
            "alpha": level(self.alpha),
            "power": probability("power", self.power, zero=False, one=False),
            "false_grams": positive_number("false_grams", self.false_grams, (1e-9, _MOST_KEPT)),
        }
        for name, number in numbers.items():
            object.__setattr__(self, name, number)
        if positive_integer("max_candidates", self.max_candidates) > _MOST_TESTED:
            remedy = f"must be at most {_MOST_TESTED}: hashes do not tell more strings apart"
            raise InvalidArgument("max_candidates", self.max_candidates, remedy)

    def layout(self, gram: int) -> GramLayout:
        """Strings cut into grams of this size, side by side."""
        return GramLayout(self.length, gram, self.alphabet, self.pad, gram)


@dataclass(frozen=True)
class GramDesign:
    """Grams of one size, and the names of the mechanisms for grams and whole strings."""

    setting: Setting
    layout: GramLayout
    gram: str
    string: str

    def stages(self, shares: Array) -> dict[str, Stage]:
        """The stages of the search, for shares (s,) of epsilon given to the string."""
        s, layout = self.setting, self.layout
        K = layout.n_positions
        n_pairs = K * (K - 1) // 2
        # as many present grams as absent ones
        kept = max(min(2.0 * s.false_grams, layout.n_grams), 1.0)
        alone, jointly = self._gram_variances((1.0 - shares) / 2.0 * s.epsilon, kept)
        own = (shares * s.epsilon).tolist()
        strings: list[Any] = [string_mechanism(self.string, epsilon) for epsilon in own]
        whole = report_variances(hashed_rates(strings), 0.0, strings[0].n_owned)
        whole *= _together(strings, s.max_candidates)
        # a respondent reports two grams, one pair and one string
        gram_se, pair_se = np.sqrt(alone * K / (2.0 * s.n)), jointly * np.sqrt(n_pairs / s.n)
        combinations = K * float(np.log(kept))
        return {
            "grams": gram_stage(gram_se, critical_z(s.false_grams, layout.n_grams), K),
            "pairs": pair_stage(pair_se, n_pairs, combinations, s.max_candidates),
            "test": string_stage(np.sqrt(whole / s.n), s.alpha, s.max_candidates),
        }

    def _gram_variances(self, epsilon: Array, kept: float) -> tuple[Array, Array]:
        """Variance of one report about an average gram: alone, and with all kept grams."""
        size = self.layout.n_grams
        if self.gram in ("krr", "oue"):
            rates = krr_rates(size, epsilon) if self.gram == "krr" else krappor_rates(epsilon, 0.5)
            same = report_variances(rates, 1.0 / size)
            return same, same
        made = [self._mechanism(e) for e in epsilon.tolist()]
        rates, h = hashed_rates(made), made[0].n_owned
        alone = report_variances(rates, 1.0 / size, h)
        jointly = report_variances(rates, 1.0 / size, h, likelihood=True)
        return alone, jointly * _together(made, kept)

    def _mechanism(self, epsilon: float) -> Any:
        return gram_mechanism(self.gram, epsilon, self.layout)

    def curve(self, shares: Array) -> pd.DataFrame:
        """Frequencies that pass each stage, and all stages, one row a share."""
        found = detectable(self.stages(shares), self.setting.power)
        return pd.DataFrame(found, index=pd.Index(shares, name="share"))

    def row(self, shares: Array) -> dict[str, Any]:
        """The best of these shares, as a row of a table."""
        curve = self.curve(shares)
        best = int(curve["found"].argmin())
        share, found = float(curve.index[best]), curve.iloc[best]
        return {
            "gram": self.layout.gram,
            "gram_mechanism": self.gram,
            "string_mechanism": self.string,
            "share": share,
            **{str(name): float(value) for name, value in found.items()},
            "limit": str(found.drop("found").idxmax()),
            "sharing": 1.0 / (float(found["found"]) * self.layout.n_grams),
            "n_grams": self.layout.n_grams,
            "bits": self.bits(share),
        }

    def bits(self, share: float) -> int:
        """Bits that a respondent sends: the pair of positions, two grams and the string."""
        epsilon, size, K = self.setting.epsilon, self.layout.n_grams, self.layout.n_positions
        if self.gram in ("krr", "oue"):
            gram = size if self.gram == "oue" else _width(size)
        else:
            gram = _report_bits(self._mechanism((1.0 - share) / 2.0 * epsilon))
        string = _report_bits(string_mechanism(self.string, share * epsilon))
        return _width(K * (K - 1) // 2) + 2 * gram + string


def _together(mechanisms: list[Any], size: float) -> Array:
    """Variance inflation 1/(1 - size/cells) of joint estimates (Marchenko-Pastur)."""
    cells = np.array([mechanism.n_cohorts * (mechanism.n_cells - 1) for mechanism in mechanisms])
    return 1.0 / (1.0 - size / cells)


def _width(size: int) -> int:
    """Bits of an integer below `size`."""
    return (size - 1).bit_length()


def _report_bits(mechanism: Any) -> int:
    """Bits of a hashed report: the cohort, and its bits or label."""
    return _width(mechanism.n_cohorts) + (mechanism.n_bits or _width(mechanism.n_outputs))
