"""The best grams, mechanisms and split of epsilon for a survey of unknown strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    EPSILON_RANGE,
    Array,
    Printed,
    level,
    positive_epsilon,
    positive_integer,
    positive_number,
    probability,
    record,
)
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import set_fields
from ldpstats.models.dictionary.search import (
    STAGES,
    Stage,
    critical_z,
    detectable,
    gram_stage,
    pair_stage,
    string_stage,
)
from ldpstats.models.dictionary.survey import (
    GRAM_MECHANISMS,
    MOST_BITS,
    STRING_MECHANISMS,
    DictionarySurvey,
    GramLayout,
    gram_mechanism,
    string_mechanism,
)
from ldpstats.planning.losses import Rates, krappor_rates, several, several_names, urr_rates
from ldpstats.planning.power_of_tests import report_bits

__all__ = ["DictionaryPlan", "plan_dictionary"]

_CLOSE = 1.02  # the closed forms are no more accurate than this ratio of frequencies


@record
class DictionaryPlan(Printed):
    """Surveys that were compared, and the recommended one; made by `plan_dictionary`.

    Parameters
    ----------
    setting : Setting
        `length`, `alphabet`, `epsilon`, `n`, `pad`, `alpha`, `power`, `false_grams` and
        `max_candidates`.
    table : DataFrame
        The best split for each size of grams and mechanisms, by increasing `found`. Columns:
        `gram`, `gram_mechanism`, `string_mechanism`; `share` of epsilon for the string (each of the
        two grams has half of the rest); the frequency from which a string passes each stage,
        `grams`, `pairs` and `test`, and all stages, `found`; the stage that sets the `limit`;
        `sharing`, how many strings of that frequency there could be for each gram; `n_grams` to
        scan at each position; and `bits` that a respondent sends. A frequency above one is out of
        reach.
    row : int
        The recommended row: among sizes of grams that at most one other string shares (or the size
        with the least sharing), and within 2 per cent of the least `found`, the one with the fewest
        grams to scan, then the fewest bits.
    curve : DataFrame
        `grams`, `pairs`, `test` and `found` of the recommended design by share.
    comparison : DataFrame
        From the paper's survey to the recommended one, with the columns of `table`: "paper"
        (bigrams, or single characters if length is odd; RAPPOR; a third of epsilon each); "paper,
        best split"; "thirds" (recommended grams and mechanisms); "recommended".
    left_out : dict
        Sizes of grams that divide the length but were not compared, with the reason.

    Examples
    --------
    >>> plan = plan_dictionary(length=6, alphabet="abcdefgh", epsilon=6.0, n=50_000)
    >>> plan.survey()
    DictionarySurvey(length=6, 3-grams, alphabet of 8, epsilon=6)
    """

    setting: Setting
    table: pd.DataFrame
    row: int
    curve: pd.DataFrame
    comparison: pd.DataFrame
    left_out: dict[int, str]

    @property
    def best(self) -> pd.Series[Any]:
        """The recommended row of the table."""
        return self.table.iloc[self.row]

    def survey(self, replace: str | None = None) -> DictionarySurvey:
        """The recommended survey; `replace` as in `DictionarySurvey`."""
        best, s = self.best, self.setting
        share = float(best["share"])
        return DictionarySurvey(
            s.length,
            int(best["gram"]),
            s.alphabet,
            s.epsilon,
            split=(share, (1.0 - share) / 2.0, (1.0 - share) / 2.0),
            gram_mechanism=str(best["gram_mechanism"]),
            string_mechanism=str(best["string_mechanism"]),
            pad=s.pad,
            replace=replace,
        )

    @property
    def gain(self) -> float:
        """How many times as many respondents the paper's survey needs to find the same strings."""
        return float((self.comparison["found"]["paper"] / self.best["found"]) ** 2)

    def __str__(self) -> str:
        s, best = self.setting, self.best
        share, found = float(best["share"]), float(best["found"])
        shares = f"{share:.3g}, {(1 - share) / 2:.3g}, {(1 - share) / 2:.3g}"
        lines = [
            f"Surveys of unknown strings of {s.length} characters, alphabet of "
            f"{len(s.alphabet)}, {s.n} respondents, epsilon {s.epsilon:.6g}",
            f"recommended: {best['gram']}-grams by {best['gram_mechanism']}, strings by "
            f"{best['string_mechanism']}, split {shares} (string, gram, gram)",
            f"strings are found with probability {s.power:g} from a frequency of {found:.2g}, "
            f"limited by {STAGES[best['limit']]}",
        ]
        if found > 1.0:
            lines.append(
                "WARNING: too few respondents: no string is that frequent; "
                f"{found**2:.2g} times as many would find one that all respondents hold"
            )
        lines += [
            f"the paper's survey needs {self.gain:.2g} times as many respondents to find the same",
            f"\n{_shown(self.comparison.drop(columns='sharing'))}",
            f"\nBest split of each:\n{_shown(self.table.head(6), index=False)}",
        ]
        lines += [""] * bool(self.left_out)
        lines += [f"{gram}-grams were left out: {why}" for gram, why in self.left_out.items()]
        return "\n".join(lines)

    __repr__ = __str__


def _shown(frame: pd.DataFrame, index: bool = True) -> str:
    names = {"gram_mechanism": "by", "string_mechanism": "string by", "n_grams": "scan"}
    return str(frame.rename(columns=names).to_string(index=index, float_format="{:.3g}".format))


def plan_dictionary(
    length: int,
    alphabet: str,
    epsilon: float,
    n: int,
    *,
    grams: Iterable[int] | int | None = None,
    shares: Iterable[float] | None = None,
    gram_mechanisms: Sequence[str] = GRAM_MECHANISMS,
    string_mechanisms: Sequence[str] = STRING_MECHANISMS,
    alpha: float = 0.05,
    power: float = 0.8,
    false_grams: float = 50.0,
    max_candidates: int = 500,
    most_grams: int = 1 << 24,
    pad: str = " ",
) -> DictionaryPlan:
    """Compare surveys of unknown strings by the rarest strings that they find.

    Parameters
    ----------
    length : int
        Characters of a string.
    alphabet : str
        Its characters.
    epsilon : float
        Privacy of everything that a respondent sends, in nats.
    n : int
        Respondents.
    grams : int or sequence of int, optional
        Sizes of grams. Default: all that divide `length`.
    shares : sequence of float, optional
        Shares of epsilon for the string. Default: .05 to .9 in steps of .01.
    gram_mechanisms : sequence of {"krr", "oue", "orr", "rappor"}
        How grams are privatised, see `ldpstats.models.dictionary.survey.gram_mechanism`.
    string_mechanisms : sequence of {"orr", "rappor"}
    alpha : float
        Probability of accepting even one string that nobody holds.
    power : float
        Probability in (0, 1) of finding a string.
    false_grams : float
        Expected number of absent grams kept at a position, as in `DictionaryModel.fit`.
    max_candidates : int
        Number of strings to test.
    most_grams : int
        Most grams to scan at a position; sizes with more are left out.
    pad : str
        The character that fills short strings.

    Raises
    ------
    InvalidArgument
        If an argument is out of range, or no survey is left to compare.

    Notes
    -----
    A string is found if all its grams are kept, its pairs score above chance, and its own reports
    reject a frequency of zero (see `models.dictionary.search`). With K positions a gram
    has 2n/K reports and a pair n / (K (K - 1) / 2); the standard error of a pair is the product of
    those of one report about its grams, over the root of its reports. The mean over all pairs then
    has the standard error of n reports for every K. Long grams are better, because fewer
    combinations compete; the number to scan limits them. All frequencies decrease as the root of n.

    The grams of the string are taken to be of average frequency. Grams that other strings share are
    kept sooner but are less informative, because mixtures of frequent strings look like a rare one:
    with a hundred strings of 12 letters, single letters find a third fewer than stated. Sizes whose
    grams more than one string as frequent as `found` would share are therefore listed but not
    recommended. A position is taken to keep twice `false_grams` grams, or all if they are fewer.

    Only normal noise from privacy is counted. At large epsilon, where `found` is a handful of
    respondents, sampling error adds to it. k-RR over many grams leaves few reports to a pair, whose
    skewness can cost a third of the strings.

    Examples
    --------
    >>> plan = plan_dictionary(6, "abcdefgh", epsilon=6.0, n=50_000, gram_mechanisms="orr")
    >>> print(plan)
    Surveys of unknown strings of 6 characters, alphabet of 8, 50000 respondents, epsilon 6
    recommended: 3-grams by orr, strings by orr, split 0.41, 0.295, 0.295 (string, gram, gram)
    strings are found with probability 0.8 from a frequency of 0.014, limited by the test
    the paper's survey needs 5 times as many respondents to find the same
    <BLANKLINE>
                       gram      by string by  share  grams   pairs   test  found  limit  scan  bits
    paper                 2  rappor    rappor  0.333 0.0112  0.0299 0.0292 0.0324  pairs    73   404
    paper, best split     2  rappor    rappor   0.33 0.0111  0.0295 0.0295 0.0324   test    73   404
    thirds                3     orr       orr  0.333   0.01 0.00821 0.0175 0.0175   test   585    41
    recommended           3     orr       orr   0.41 0.0117  0.0112 0.0131 0.0145   test   585    42
    <BLANKLINE>
    Best split of each:
     gram  by string by  share   grams  pairs   test  found limit  sharing  scan  bits
        3 orr       orr   0.41  0.0117 0.0112 0.0131 0.0145  test    0.118   585    42
        2 orr       orr   0.37 0.00747 0.0151 0.0152 0.0166  test    0.823    73    44
        1 orr       orr   0.34  0.0135 0.0168  0.017 0.0189  test     5.87     9    46
        3 orr    rappor   0.49  0.0139 0.0161 0.0193 0.0204  test   0.0836   585   160
        2 orr    rappor   0.44 0.00861 0.0202 0.0216  0.023  test    0.595    73   162
        1 orr    rappor   0.41  0.0152 0.0213 0.0233 0.0247  test     4.49     9   164
    """
    s = Setting(length, alphabet, epsilon, n, pad, alpha, power, false_grams, max_candidates)
    layouts, left_out = _layouts(s, grams, positive_integer("most_grams", most_grams))
    if shares is None:
        grid = np.arange(5, 91) / 100.0
    else:
        remedy = "must be shares of the string in (0, 1), such as [0.25]"
        inside = partial(probability, zero=False, one=False)
        grid = np.array(sorted(several("shares", shares, remedy, inside)))
    least = epsilon * min(float(grid[0]), (1.0 - float(grid[-1])) / 2.0)
    if least < EPSILON_RANGE[0]:
        remedy = f"leaves {least:.3g} for one of the three reports: raise epsilon, or set shares"
        raise InvalidArgument("epsilon", epsilon, remedy)
    grams_by = several_names("gram_mechanisms", gram_mechanisms, GRAM_MECHANISMS)
    strings_by = several_names("string_mechanisms", string_mechanisms, STRING_MECHANISMS)
    designs = [
        GramDesign(s, layout, gram, string)
        for layout in layouts
        for gram in grams_by
        if gram != "oue" or layout.n_grams <= MOST_BITS
        for string in strings_by
    ]
    if not designs:
        remedy = f"would report more than {MOST_BITS} bits: include 'orr', of similar variance"
        raise InvalidArgument("gram_mechanisms", gram_mechanisms, remedy)
    rows = [(design.row(grid), design) for design in designs]
    rows.sort(key=lambda one: (one[0]["found"], one[0]["bits"]))
    table = pd.DataFrame([row for row, _ in rows])
    sharing = table.drop_duplicates("gram").set_index("gram")["sharing"]  # of the best of each size
    apart = table[table["gram"].map(sharing) <= max(1.0, sharing.min())]
    close = apart[apart["found"] <= _CLOSE * apart["found"].min()]
    row = int(close.sort_values(["n_grams", "bits"], kind="stable").index[0])
    best = rows[row][1]
    # From the survey of FPE16 to the recommended one
    third = np.array([1.0 / 3.0])
    bigrams = s.layout(2 if s.length % 2 == 0 and s.length > 2 else 1)
    paper = GramDesign(s, bigrams, "rappor", "rappor")
    steps = {
        "paper": paper.row(third),
        "paper, best split": paper.row(grid),
        "thirds": best.row(third),
        "recommended": best.row(grid),
    }
    comparison = pd.DataFrame(steps.values(), index=list(steps))
    return DictionaryPlan(s, table, row, best.curve(grid), comparison, left_out)


def _layouts(s: Setting, grams: Any, most_grams: int) -> tuple[list[GramLayout], dict[int, str]]:
    """The layout of each size of grams, and why some sizes are left out."""
    if grams is None:
        grams = [size for size in range(1, s.length // 2 + 1) if s.length % size == 0]
    remedy = "must be a size of grams, or several, for example [2, 4]"
    layouts, left_out = [], {}
    of_size = several("grams", grams, remedy, lambda *size: s.layout(positive_integer(*size)))
    for layout in of_size:
        if layout.n_grams > most_grams:
            scan = f"{len(s.alphabet)}^{layout.gram}"  # which may be beyond floats
            left_out[layout.gram] = f"{scan} to scan exceed most_grams={most_grams}"
        elif layout.too_large:
            left_out[layout.gram] = layout.too_large
        else:
            layouts.append(layout)
    if not layouts:
        if any(s.layout(gram).n_grams > most_grams for gram in left_out):
            remedy = f"leaves no size of grams: the shortest are {min(left_out)} long"
            raise InvalidArgument("most_grams", most_grams, remedy)
        gram = min(left_out)
        raise InvalidArgument("length", s.length, f"with {gram}-grams {left_out[gram]}")
    return layouts, left_out


# -- The frequencies that a survey of unknown strings can detect, in closed form ------------------


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
        set_fields(
            self,
            epsilon=positive_epsilon("epsilon", self.epsilon),
            n=positive_integer("n", self.n),
            alpha=level(self.alpha),
            power=probability("power", self.power, zero=False, one=False),
            false_grams=positive_number("false_grams", self.false_grams, (1e-9, _MOST_KEPT)),
        )
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
        # variance of one report about an average gram: alone, and with all kept grams
        epsilon, size = (1.0 - shares) / 2.0 * s.epsilon, layout.n_grams
        if self.gram in ("krr", "oue"):
            krr, odds = self.gram == "krr", 1.0 / np.expm1(epsilon)[:, None]
            rates = urr_rates(odds, size) if krr else krappor_rates(epsilon, 0.5)
            alone = jointly = report_variances(rates, 1.0 / size)
        else:
            made: list[Any] = [gram_mechanism(self.gram, e, layout) for e in epsilon.tolist()]
            rates, h = hashed_rates(made), made[0].n_owned
            alone = report_variances(rates, 1.0 / size, h)
            jointly = report_variances(rates, 1.0 / size, h, likelihood=True)
            jointly = jointly * _together(made, kept)
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

    def curve(self, shares: Array) -> pd.DataFrame:
        """Frequencies that pass each stage, and all stages, one row a share."""
        frequencies = detectable(self.stages(shares), self.setting.power)
        return pd.DataFrame(frequencies, index=pd.Index(shares, name="share"))

    def row(self, shares: Array) -> dict[str, Any]:
        """The best of these shares, as a row of a table."""
        curve = self.curve(shares)
        best = int(curve["found"].argmin())
        share, found = float(curve.index[best]), curve.iloc[best]
        # a respondent sends the pair of positions, two grams and the string
        epsilon, size, K = self.setting.epsilon, self.layout.n_grams, self.layout.n_positions
        if self.gram in ("krr", "oue"):
            gram = size if self.gram == "oue" else _width(size)
        else:
            own = gram_mechanism(self.gram, (1.0 - share) / 2.0 * epsilon, self.layout)
            gram = report_bits(own)
        string = report_bits(string_mechanism(self.string, share * epsilon))
        return {
            "gram": self.layout.gram,
            "gram_mechanism": self.gram,
            "string_mechanism": self.string,
            "share": share,
            **{str(name): float(value) for name, value in found.items()},
            "limit": str(found.drop("found").idxmax()),
            "sharing": 1.0 / (float(found["found"]) * self.layout.n_grams),
            "n_grams": self.layout.n_grams,
            "bits": _width(K * (K - 1) // 2) + 2 * gram + string,
        }


def _together(mechanisms: list[Any], size: float) -> Array:
    """Variance inflation 1/(1 - size/cells) of joint estimates (Marchenko-Pastur)."""
    cells = np.array([mechanism.n_cohorts * (mechanism.n_cells - 1) for mechanism in mechanisms])
    return 1.0 / (1.0 - size / cells)


def _width(size: int) -> int:
    """Bits of an integer below `size`."""
    return (size - 1).bit_length()


# -- Variance of the frequency of one answer, per report, whatever the mechanism ------------------
# Every mechanism here says of an answer whether a report supports it: it is the answer (k-RR), its
# bit is set (unary), or the cell that it owns is reported or set (hashed). With the chance `own`
# that an answer supports itself, and `other` that another one does (over random hashes, where it
# may own the same cell), an answer of frequency f is supported by the share ``u = other + (own -
# other) f`` of the reports, and the variance of its estimate from one report is
#
#     u (1 - u) / (own - other)^2.
#
# An answer that owns h bits has h times the information if they are added up, as least squares
# does; as a likelihood they have ``(1 + 1/v)^h - 1``, with v the variance from one bit.


def hashed_rates(mechanisms: Sequence[Any]) -> Rates:
    """Rates of e hashed mechanisms of an open alphabet (ORR, ORAPPOR, RAPPOR), of shape (e, 1)."""
    laws = [mechanism.cell_law for mechanism in mechanisms]
    high, other = np.array([[law.high] for law in laws]), np.array([[law.mean] for law in laws])
    return Rates(high, 1.0 - high, other, high - other)


def report_variances(
    rates: Rates, frequency: float = 0.0, n_hashes: int = 1, likelihood: bool = False
) -> Array:
    """Variance from one report of the frequency of an answer, shape (e,)."""
    single = rates.deviations(np.array([frequency]), np.ones(1))[..., 0] ** 2
    if likelihood:
        return np.asarray(1.0 / np.expm1(n_hashes * np.log1p(1.0 / single)))
    return single / n_hashes
