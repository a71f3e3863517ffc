"""The design of a complex sample, as the columns of a table that describe it.

Strata and sampling units of each stage with corrections for finite populations, or replicate
weights: in columns, or made from the design.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    boolean,
    did_you_mean,
    listed,
    numbers,
    one_of,
    positive_integer,
    real_number,
    record,
)
from ldpstats.engines.query import LEAST_WEIGHT, MOST_WEIGHT
from ldpstats.errors import InvalidArgument, LDPWarning
from ldpstats.inference.designs.linearisation import SINGLE_UNIT, Replication, Sample, Stage
from ldpstats.inference.designs.replicates import (
    KINDS,
    GivenWeights,
    bootstrap,
    jackknife,
    scales_of,
)
from ldpstats.io.tables import columns_shown
from ldpstats.labels import Codes, Mask
from ldpstats.models.layout import count_of
from ldpstats.survey.data import Held

_BY_STAGE = "must be the name of a column, or a list of names, one for each stage"


@dataclass(frozen=True, repr=False)
class SampleDesign:
    """How the respondents of a survey were sampled.

    Attributes
    ----------
    weights : str or None
        Column of weights; None where they follow from `fpc`.
    strata : tuple of (str or None)
        Column of strata of each stage, None where a stage has none.
    clusters : tuple of str
        Column of sampling units of each stage; without any, respondents were sampled.
    fpc : tuple of str
        Column of finite population corrections of each stage.
    nested : bool or None
        Whether labels of units are unique within strata only; None: they are, with a warning.
    single_unit : {"fail", "certainty", "centered", "average"}
        What a stratum with a single unit adds to a variance.
    replicates : ReplicateWeights, MadeReplicates or None
        Given in columns, or made from the design.
    changes : tuple of WeightChange
        Calibrations and trimmings of the weights, in order.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> table = pd.DataFrame({"ill": ["no", "yes"] * 2, "w": [1.5] * 4, "town": [1, 1, 2, 2]})
    >>> ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)}, weights="w", clusters="town").design
    SampleDesign(weights: w; clusters: town)
    """

    weights: str | None = None
    strata: tuple[str | None, ...] = ()
    clusters: tuple[str, ...] = ()
    fpc: tuple[str, ...] = ()
    nested: bool | None = True
    single_unit: str = "fail"
    replicates: Replicates | None = None
    changes: tuple[Any, ...] = ()

    @classmethod
    def of(cls, given: Any) -> SampleDesign | None:
        """Check the arguments of a survey, which `given` has; None if they describe no design."""
        weights, fpc, replicates = given.weights, given.fpc, given.replicate_weights
        if weights is not None and not (isinstance(weights, str) and weights):
            remedy = "must be text, the name of a column, or a Series with the table's index"
            raise InvalidArgument("weights", weights, remedy)
        if not isinstance(replicates, Replicates | None):
            remedy = 'must be ldp.ReplicateWeights, for example ReplicateWeights("rep_*", "BRR")'
            raise InvalidArgument("replicate_weights", replicates, remedy)
        units: Any = _by_stage("clusters", given.clusters)
        strata = _by_stage("strata", given.strata)
        if isinstance(fpc, str) and not fpc:
            raise InvalidArgument("fpc", fpc, _BY_STAGE)
        corrections: Any = _by_stage("fpc", fpc)
        if None in corrections:
            remedy = f"has none for stage {corrections.index(None) + 1}, where all later ones are "
            remedy += "without effect: give it, or leave the later ones out"
            raise InvalidArgument("fpc", fpc, remedy)
        made = cls(
            None if weights is None else str.__str__(weights),
            strata,
            units,
            corrections,
            None if given.nested is None else boolean("nested", given.nested),
            one_of("single_unit", given.single_unit, SINGLE_UNIT),
            replicates,
        )
        columns = list(made._columns())
        if not columns:
            return None
        most = len(made.clusters) + 1
        if len(made.fpc) > most:
            remedy = f"has {len(made.fpc)} stages, but clusters= has {len(made.clusters)}: it may "
            remedy += "have one more, at which respondents were sampled"
            raise InvalidArgument("fpc", list(made.fpc), remedy)
        n_stages = max(len(made.clusters), len(made.fpc), 1)
        if len(made.strata) > n_stages:
            remedy = f"has {len(made.strata)} stages, but units were sampled in {n_stages}: name "
            remedy += "their columns in clusters="
            raise InvalidArgument("strata", list(made.strata), remedy)
        held = bool(made.replicate_columns)
        if held and (made.strata or made.clusters or made.fpc):
            remedy = "hold the design already: leave strata=, clusters= and fpc= out"
            raise InvalidArgument("replicate_weights", made.replicates, remedy)
        every = len(made.fpc) >= max(1, len(made.clusters)) and not held
        if made.weights is None and not every:
            remedy = "name the column of weights, of ones if all respondents count the same"
            if not held:
                remedy += "; or give fpc= for every stage, from which weights follow"
            raise InvalidArgument("weights", None, remedy)
        known: dict[str, str] = {}
        for argument, name in columns:
            if name in known:
                raise InvalidArgument(argument, name, f"is the column that {known[name]}= names")
            known[name] = argument
        return made

    @property
    def stages(self) -> list[tuple[str | None, str | None, str | None]]:
        """Columns of strata, units and fpc of the stages that a variance needs, None for none.

        That is the first, and all that are corrected; without units respondents are these.
        """
        every: Any = zip_longest(self.strata, self.clusters, self.fpc)
        return list(every)[: max(1, len(self.fpc))] or [(None, None, None)]

    @property
    def replicate_columns(self) -> tuple[str, ...]:
        """Columns of replicates that are given, in place of strata and units."""
        return () if self.replicates is None else tuple(self.replicates.columns)

    @property
    def summed(self) -> dict[str, str]:
        """The columns that are added up, weights first, each with the argument that names it."""
        of_weights = {} if self.weights is None else {self.weights: "weights"}
        return of_weights | dict.fromkeys(self.replicate_columns, "replicate_weights")

    @property
    def factors(self) -> bool:
        """Whether columns of replicates are factors of the weights."""
        return self.replicates is not None and not self.replicates.combined

    @property
    def in_words(self) -> str:
        """What was sampled, for a summary: "strata region; clusters school, pupil; fpc"."""
        strata = ", ".join(filter(None, self.strata))
        parts = [f"strata {strata}"] * bool(strata)
        parts += [f"clusters {', '.join(self.clusters)}"] * bool(self.clusters)
        parts += ["fpc"] * bool(self.fpc)
        return "; ".join(parts) or "weights"

    def check(self, held: Held) -> None:
        """Refuse columns that a table does not have, or that hold reports."""
        public = {*held.public_columns}
        for argument, name in self._columns():
            if name not in held.columns:
                hint = did_you_mean(name, held.columns)
                remedy = f"no such column; the table has {columns_shown(held.columns)}{hint}"
                raise InvalidArgument(argument, name, remedy)
            labels = argument in ("strata", "clusters")
            if name not in public and not (labels and name in held.questionnaire.observed):
                remedy = "holds what a question reported: the design needs a public column"
                raise InvalidArgument(argument, name, remedy)

    # -- parts ---------------------------------------------------------------------------------

    def _columns(self) -> Iterator[tuple[str, str]]:
        """All columns, each with the argument that names it."""
        given = self._stated() | {"replicate_weights": self.replicate_columns}
        for argument, names in given.items():
            for name in filter(None, names):
                yield argument, name

    def _stated(self, no_weights: str | None = None) -> dict[str, tuple[str | None, ...]]:
        own = {"weights": (self.weights or no_weights,), "strata": self.strata}
        return own | {"clusters": self.clusters, "fpc": self.fpc}

    def __repr__(self) -> str:
        parts = [
            f"{what}: {', '.join(str(name or 'none') for name in names)}"
            for what, names in self._stated("from fpc").items()
            if names
        ]
        if self.replicates is not None:
            parts.append(str(self.replicates))
        parts += [str(change) for change in self.changes]
        return f"SampleDesign({'; '.join(parts)})"


def _by_stage(argument: str, given: object) -> tuple[str | None, ...]:
    """Names of columns by stage, None where a stage has none."""
    if given is None:
        return ()
    names = []
    for name in [given] if isinstance(given, str) else listed(argument, given, _BY_STAGE):
        if not (name is None or isinstance(name, str)):
            raise InvalidArgument(argument, given, _BY_STAGE)
        names.append(str.__str__(name) if name else None)
    if argument == "clusters" and None in names:
        raise InvalidArgument(argument, given, "every stage needs a column of units")
    while names and names[-1] is None:  # stages at the end that have none
        names.pop()
    return tuple(names)


# -- The stages of a sample, from the columns of a table that describe them -----------------------


_LABELS = "units and strata need text, whole numbers, booleans or categories as labels"
_WHOLE = "the whole sample"


@record
class _Groups(Sequence[str]):
    """Groups of cells, with names that are only written when somebody reads them."""

    at: Codes  # the group of each cell, (c,)
    above: Sequence[str]  # names of larger groups
    of: Codes  # the larger group that each is in, (g,)
    labels: Array  # of the groups within those, (g,); empty where each is alone

    def __len__(self) -> int:
        return len(self.of)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(len(self))[i]]
        parts = (self.above[self.of[i]], str(self.labels[i]))
        return " / ".join(part for part in parts if part not in ("", _WHOLE)) or _WHOLE


def stages_of(cells: Held, n: Array | None, design: SampleDesign) -> tuple[Stage, ...]:
    """The stages of the whole sample; `n`, (c,): respondents of each cell, None: cells are rows."""
    c = len(cells)
    number = np.ones(c) if n is None else n
    nothing = np.zeros(c, dtype=np.int64)
    units = _Groups(nothing, [_WHOLE], nothing[:1], np.array([""], dtype=object))
    found = []
    for stage, (strata_column, unit_column, fpc) in enumerate(design.stages, 1):
        strata = _split(units, cells, "strata", strata_column, n)
        if unit_column is None:
            sampled = np.bincount(strata.at, number, len(strata))
            unit, of = None, strata.at
        else:
            units = _split(strata, cells, "clusters", unit_column, n)
            doubted = design.nested is None and stage == 1 and strata_column is not None
            if doubted or design.nested is False:
                codes, labels = pd.factorize(units.labels)
                often = np.flatnonzero(np.bincount(codes) > 1)
                if often.size:
                    label = labels[often[0]]
                    first, second = (strata[h] for h in units.of[codes == often[0]][:2])
                    more = f" ({often.size} such units)" if often.size > 1 else ""
                    found_in = f"unit {label!r} is in {first!r} and in {second!r}{more}: "
                    if design.nested is False:
                        remedy = "correct it; or pass nested=True if labels are unique only within "
                        remedy += "strata, and name other units"
                        raise InvalidArgument("clusters", unit_column, found_in + remedy)
                    words = (
                        f"clusters={unit_column!r}: {found_in}they are taken for different units. "
                    )
                    words += "Pass nested=True if they are; else correct the strata or the units"
                    warnings.warn(words, LDPWarning, stacklevel=2)
            sampled = np.bincount(units.of, minlength=len(strata)).astype(float)
            unit, of = units.at, units.of
        N = np.full(len(strata), np.inf)
        if fpc is not None:
            N = _population(cells, n, stage, fpc, strata, sampled)
        found.append(Stage(unit, of, sampled, N, strata.of, strata))
    return tuple(found)


def _split(
    groups: _Groups, cells: Held, argument: str, name: str | None, n: Array | None
) -> _Groups:
    """Groups within groups: those of equal labels in a column, of which none may be missing."""
    if name is None:
        one = np.arange(len(groups))
        return _Groups(groups.at, groups, one, np.full(len(groups), "", dtype=object))
    try:
        column = cells.public(name).categories(_LABELS)
    except InvalidArgument as error:
        raise InvalidArgument(argument, name, error.remedy) from None
    remedy = "is missing: every respondent of a sample is in a stratum and in a unit"
    refuse_rows(argument, name, column.missing, None, remedy, n)
    k = len(column.values)
    at, keys = pd.factorize(groups.at * k + column.codes, sort=True)
    of, label = np.divmod(keys, k)
    return _Groups(at.astype(np.int64), groups, of, column.values[label])


def _population(
    cells: Held, n: Array | None, stage: int, name: str, strata: _Groups, sampled: Array
) -> Array:
    """Units in the population by stratum, (H,), from a column of corrections."""
    given = cells.numbers("fpc", name)
    remedy = "must be the number of units in the population, or the sampled fraction of them"
    refuse_rows("fpc", name, np.isnan(given), given, f"is missing: it {remedy}", n)
    beyond = ~((given >= LEAST_WEIGHT) & (given <= MOST_WEIGHT))
    refuse_rows("fpc", name, beyond, given, remedy, n)
    if np.any(given > 1.0):
        words = "is a fraction, but other rows hold numbers of units: use one of them throughout"
        refuse_rows("fpc", name, given < 1.0, given, words, n)
    found = np.empty(len(strata))  # the last of each stratum
    found[strata.at] = given
    other = np.flatnonzero(given != found[strata.at])
    if other.size:
        h = strata.at[other[0]]
        remedy = f"holds {given[other[0]]:g} and {found[h]:g} in stratum {strata[h]!r} of stage "
        remedy += f"{stage}: it must be one number in each"
        raise InvalidArgument("fpc", name, remedy)
    if np.all(found <= 1.0):
        return np.asarray(sampled / found)
    short = np.flatnonzero(found < sampled)
    if short.size:
        h = short[0]
        more = f" (and so {short.size - 1} more)" if short.size > 1 else ""
        remedy = f"stratum {strata[h]!r} of stage {stage} has {found[h]:g} units in the "
        remedy += f"population, but {sampled[h]:.0f} in the sample{more}: count units, not persons"
        raise InvalidArgument("fpc", name, f"{remedy}, of that stage")
    return found


def refuse_rows(
    argument: str, name: str, bad: Mask, values: Array | None, remedy: str, n: Array | None
) -> None:
    """Refuse a column of which some cells are `bad`, (c,); `n` respondents each, None: rows."""
    rows = np.flatnonzero(bad)
    if not rows.size:
        return
    value = None if values is None or np.isnan(values[rows[0]]) else float(values[rows[0]])
    if n is None:
        more = f" ({rows.size} such rows)" if rows.size > 1 else ""
        where = f", row {rows[0] + 1}"
    else:
        more, where = f" (in {count_of(int(n[rows].sum()), 'row')})", ""
    first, colon, rest = remedy.partition(":")
    raise InvalidArgument(f"{argument} {name!r}{where}", value, f"{first}{more}{colon}{rest}")


# -- Replicate weights of a survey: columns of its table, or made from its design -----------------


_COLUMNS = 'must be names of columns, or a pattern with one asterisk such as "rep_*"'
_SCALED = ("JK1", "JKn", "bootstrap", "other")
_MOST_MADE = 100_000
_DEFAULT_MADE = 500


@dataclass(frozen=True)
class ReplicateWeights:
    """Columns of replicate weights, and how variances follow from them.

    The variance of an estimate t is ``sum_r scale rscales_r (t_r - mean of all t_r)^2``, where t_r
    is the estimate by replicate r, as of `svrepdesign` in R's package survey. Replicates of
    randomised reports vary by the sampling and by the randomisation, so that nothing is added. But
    replicates that are corrected for a finite population lack the sampled share of the variance of
    the randomisation: name strata, clusters and fpc instead.

    Parameters
    ----------
    columns : sequence of str, or str
        Names of the columns, or a pattern with one asterisk, "rep_*", for all that match.
    kind : str
        How the replicates were made, of which the scale follows (R replicates): "BRR", balanced
        repeated replication, 1 / R; "Fay", 1 / (R (1 - rho)^2); "JK1", a jackknife without strata,
        (R - 1) / R; "JK2", pairs of units, of which one is left out, 1; "JKn", a jackknife in
        strata, of `rscales`; "bootstrap", 1 / (R - 1); "successive-difference" or "ACS", 4 / R;
        "other", of `scale` and `rscales`.
    rho : float, optional
        Fay's factor, in [0, 1); for "Fay" alone.
    scale : float, optional
        In place of the scale of "JK1", "JKn" and "bootstrap"; needed for "other".
    rscales : sequence of float, optional
        A factor of the squared deviation of each replicate; needed for "JKn": (n - 1) / n of the
        stratum whose unit is left out.
    mse : bool
        Whether deviations are from the estimate of the sample, not from the mean of the replicates.
    combined : bool
        Whether the columns hold weights; if not, factors by which the weights are multiplied. Sums
        of another size than those of the weights are warned of.
    df : float, optional
        Degrees of freedom; by default the rank of the replicate weights of a domain less one. Of a
        table on an engine they must be given.

    Raises
    ------
    InvalidArgument
        For an unknown kind, numbers out of range, and arguments that do not go with the kind.

    References
    ----------
    Wolter, K. M. (2007). Introduction to Variance Estimation. Springer, 2nd edition, chapters 3-5.
    Fay, R. E. and Train, G. F. (1995). Aspects of survey and model-based postcensal estimation of
    income and poverty characteristics for states and counties. Proceedings of the Section on
    Government Statistics, ASA, 154-159.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.ReplicateWeights("rep_*", "Fay", rho=0.3)
    ReplicateWeights(columns='rep_*', kind='Fay', rho=0.3)
    """

    columns: Any
    kind: Any
    rho: Any = None
    scale: Any = None
    rscales: Any = None
    mse: Any = False
    combined: Any = True
    df: Any = None

    def __post_init__(self) -> None:
        kind = one_of("kind", self.kind, KINDS)
        columns = _named(self.columns)
        rho, scale = self.rho, self.scale
        if kind == "Fay":
            remedy = "must be Fay's factor, in [0, 1), for example 0.3"
            rho = real_number("rho", rho, remedy)
            if not 0.0 <= rho < 1.0:
                raise InvalidArgument("rho", self.rho, remedy)
        elif rho is not None:
            raise InvalidArgument("rho", rho, f"goes with kind 'Fay', not {kind!r}")
        if scale is not None:
            if kind not in _SCALED:
                remedy = f"follows from the kind {kind!r}: leave it out"
                raise InvalidArgument("scale", scale, remedy)
            scale = positive("scale", scale)
        elif kind == "other":
            remedy = "of kind 'other' what squared deviations count must be given, a number"
            raise InvalidArgument("scale", None, remedy)
        checked = {
            "columns": columns,
            "kind": kind,
            "rho": rho,
            "scale": scale,
            "rscales": _checked_rscales(self.rscales, kind),
            "mse": boolean("mse", self.mse),
            "combined": boolean("combined", self.combined),
            "df": None if self.df is None else positive("df", self.df),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if isinstance(self.columns, tuple):
            n = len(self.columns)
            if n < 2:
                raise InvalidArgument("columns", self.columns, "must be two replicates or more")
            if self.rscales is not None and len(self.rscales) != n:
                remedy = f"must be {n} numbers, one for each replicate, not {len(self.rscales)}"
                raise InvalidArgument("rscales", self.rscales, remedy)

    def on(self, columns: Sequence[str], summed: bool = False) -> ReplicateWeights:
        """The same, with the names of columns of a table in place of a pattern.

        Raises
        ------
        InvalidArgument
            If fewer than two columns match it, or `rscales` are of another number; without `df` if
            rows are `summed` by an engine, as sums do not have the rank of the columns.
        """
        if summed and self.df is None:
            remedy = "must be given for a table on an engine, which sums the columns: in most "
            remedy += "surveys the number of sampling units less that of strata"
            raise InvalidArgument("df", None, remedy)
        if not isinstance(self.columns, str):
            return self
        pattern = re.escape(self.columns).replace(r"\*", ".*")
        found = [name for name in columns if re.fullmatch(pattern, name, re.DOTALL)]
        if not found:
            raise InvalidArgument("columns", self.columns, "no column of the table is named so")
        return replace(self, columns=found)

    def replication(self, sample: Sample, sums: Array | None) -> Replication:
        """What variances follow from sums of the replicate weights by cell, shape (c, R)."""
        assert sums is not None
        rscales = None if self.rscales is None else np.array(self.rscales)
        scales = scales_of(self.kind, len(self.columns), self.rho, self.scale, rscales)
        return GivenWeights(sums, scales, self.mse, self.df)

    def __str__(self) -> str:
        return f"{len(self.columns)} replicate weights ({self.kind})"

    def __repr__(self) -> str:
        columns = self.columns
        shown = repr(columns)
        if not isinstance(columns, str) and len(columns) > 3:
            shown = f"{columns[0]!r} to {columns[-1]!r} ({len(columns)})"
        of = [f"columns={shown}", f"kind={self.kind!r}"]
        for item in fields(self)[2:]:
            value = getattr(self, item.name)
            if item.name != "rscales" and value != item.default:
                of.append(f"{item.name}={value!r}")
        if self.rscales is not None:
            of.append(f"rscales={len(self.rscales)} numbers")
        return f"ReplicateWeights({', '.join(of)})"


@dataclass(frozen=True)
class MadeReplicates:
    """Replicates that are made from a design when its sample is known: of a kind, n, from a seed.

    Every analysis draws from the same seed, so that the same units are drawn the same times.
    """

    kind: str
    n: int = 0
    seed: int = 0

    columns: ClassVar[tuple[str, ...]] = ()
    combined: ClassVar[bool] = True

    @classmethod
    def of(cls, kind: object, rng: object, n: object) -> MadeReplicates:
        """Check the arguments of `Survey.replicates`."""
        name = one_of("kind", kind, ("jackknife", "bootstrap"))
        if name == "jackknife":
            for argument, value in (("rng", rng), ("n", n)):
                if value is not None:
                    remedy = "goes with 'bootstrap': a jackknife leaves out each unit once"
                    raise InvalidArgument(argument, value, remedy)
            return cls(name)
        if not isinstance(rng, np.random.Generator):
            raise InvalidArgument("rng", rng, "pass a generator, np.random.default_rng(seed)")
        number = _DEFAULT_MADE if n is None else positive_integer("n", n, 2)
        if number > _MOST_MADE:
            raise InvalidArgument("n", n, f"must be at most {_MOST_MADE} replicates")
        return cls(name, number, int(rng.integers(2**63)))

    def replication(self, sample: Sample, sums: Array | None) -> Replication:
        """Replicates of a sample; refuse strata of a single unit, and too many units."""
        if self.kind == "bootstrap":
            return bootstrap(sample, self.n, np.random.default_rng(self.seed))
        made = jackknife(sample)
        made.scales(sample)
        return made

    def __str__(self) -> str:
        return self.kind if self.kind == "jackknife" else f"{self.kind} of {self.n} replicates"


Replicates = ReplicateWeights | MadeReplicates


def _named(columns: object) -> str | tuple[str, ...]:
    """A pattern, or names of columns."""
    if isinstance(columns, str):
        text = str.__str__(columns)
        if text.count("*") == 1:
            return text
        raise InvalidArgument("columns", columns, _COLUMNS)
    names = listed("columns", columns, _COLUMNS)
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgument("columns", columns, _COLUMNS)
    found = tuple(str.__str__(name) for name in names)
    twice = [name for name in dict.fromkeys(found) if found.count(name) > 1]
    if twice:
        raise InvalidArgument("columns", columns, f"{twice[0]!r} is there twice")
    return found


def positive(name: str, value: object, what: str = "") -> float:
    """Return a positive finite number; `what` it is, in an error."""
    remedy = f"must be a positive finite number{what}"
    number = real_number(name, value, remedy)
    if not 0.0 < number < np.inf:
        raise InvalidArgument(name, value, remedy)
    return number


def _checked_rscales(rscales: object, kind: str) -> tuple[float, ...] | None:
    if rscales is None:
        if kind == "JKn":
            remedy = "kind 'JKn' needs one for each replicate: (n - 1) / n, n being the units of "
            remedy += "the stratum from which it leaves one out"
            raise InvalidArgument("rscales", None, remedy)
        return None
    if kind not in _SCALED:
        raise InvalidArgument("rscales", rscales, f"follow from the kind {kind!r}: leave them out")
    remedy = "must be a list of numbers, zero or more, one for each replicate"
    found = numbers("rscales", rscales, remedy)
    if found.ndim != 1 or not np.isfinite(found).all() or np.any(found < 0.0):
        raise InvalidArgument("rscales", rscales, remedy)
    if not found.any():
        raise InvalidArgument("rscales", rscales, "must not all be zero")
    return tuple(found.tolist())
