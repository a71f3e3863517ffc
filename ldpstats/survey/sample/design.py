"""The design of a complex sample, as the columns of a table that describe it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ldpstats.arguments.checks import boolean, listed, one_of
from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument
from ldpstats.inference.designs.sample import SINGLE_UNIT
from ldpstats.survey.held import Held
from ldpstats.survey.sample.replicates import Replicates

__all__ = ["SampleDesign", "StageColumns"]

_BY_STAGE = "must be the name of a column, or a list of names, one for each stage"


@dataclass(frozen=True)
class StageColumns:
    """The columns of one stage; None where there is none, and where respondents are the units."""

    number: int
    strata: str | None
    units: str | None
    fpc: str | None


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
    nested : bool
        Whether labels of units are unique within strata only.
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
    nested: bool = True
    single_unit: str = "fail"
    replicates: Replicates | None = None
    changes: tuple[Any, ...] = ()

    @classmethod
    def of(
        cls,
        weights: object,
        strata: object,
        clusters: object,
        fpc: object,
        nested: object,
        single_unit: object,
        replicates: object,
    ) -> SampleDesign | None:
        """Check the arguments of a survey; None if they describe no design."""
        if weights is not None and not (isinstance(weights, str) and weights):
            raise InvalidArgument("weights", weights, "must be text, the name of a column")
        if not isinstance(replicates, Replicates | None):
            remedy = 'must be ldp.ReplicateWeights, for example ReplicateWeights("rep_*", "BRR")'
            raise InvalidArgument("replicate_weights", replicates, remedy)
        units = _by_stage("clusters", clusters)
        if None in units:
            raise InvalidArgument("clusters", clusters, "every stage needs a column of units")
        made = cls(
            None if weights is None else str.__str__(weights),
            _without_last(_by_stage("strata", strata)),
            tuple(name for name in units if name is not None),
            _corrections(fpc),
            boolean("nested", nested),
            one_of("single_unit", single_unit, SINGLE_UNIT),
            replicates,
        )
        if not any(name for _, name in made._columns()):
            return None
        made._check_stages()
        made._check_weights()
        made._check_twice()
        return made

    @property
    def stages(self) -> tuple[StageColumns, ...]:
        """The stages that a variance needs: the first, and all that are corrected."""
        return tuple(
            StageColumns(
                s + 1,
                self.strata[s] if s < len(self.strata) else None,
                self.clusters[s] if s < len(self.clusters) else None,
                self.fpc[s] if s < len(self.fpc) else None,
            )
            for s in range(max(1, len(self.fpc)))
        )

    @property
    def keys(self) -> list[str]:
        """The columns by which respondents are told apart, other than their weights."""
        found = [(stage.strata, stage.units, stage.fpc) for stage in self.stages]
        return [name for columns in found for name in columns if name is not None]

    @property
    def summed(self) -> list[str]:
        """The columns that are added up: the weights, then those of replicates."""
        return [name for name in (self.weights, *self._replicate_columns) if name is not None]

    @property
    def has_columns_of_replicates(self) -> bool:
        """Whether replicates are given, in place of strata and units."""
        return bool(self._replicate_columns)

    @property
    def factors(self) -> bool:
        """Whether columns of replicates are factors of the weights."""
        return self.replicates is not None and not self.replicates.combined

    def argument(self, name: str) -> str:
        """The argument that names a column."""
        return next(argument for argument, column in self._columns() if column == name)

    @property
    def in_words(self) -> str:
        """What was sampled, for a summary: "strata region; clusters school, pupil; fpc"."""
        strata = [name for name in self.strata if name]
        parts = [f"strata {', '.join(strata)}"] * bool(strata)
        parts += [f"clusters {', '.join(self.clusters)}"] * bool(self.clusters)
        parts += ["fpc"] * bool(self.fpc)
        return "; ".join(parts) or "weights"

    @property
    def change_columns(self) -> list[str]:
        """The columns that changes of the weights need."""
        return [name for change in self.changes for name in change.columns]

    def check(self, held: Held) -> None:
        """Refuse columns that a table does not have, or that hold reports."""
        public = {*held.public_columns}
        for argument, name in self._columns():
            if name not in held.columns:
                hint = did_you_mean(name, held.columns)
                shown = ", ".join(map(repr, held.columns[:20])) + ", ..." * (len(held.columns) > 20)
                remedy = f"no such column; the table has {shown}{hint}"
                raise InvalidArgument(argument, name, remedy)
            labels = argument in ("strata", "clusters")
            if name not in public and not (labels and name in held.questionnaire.observed):
                remedy = "holds what a question reported: the design needs a public column"
                raise InvalidArgument(argument, name, remedy)

    # -- parts ---------------------------------------------------------------------------------

    @property
    def _replicate_columns(self) -> tuple[str, ...]:
        return () if self.replicates is None else tuple(self.replicates.columns)

    def _columns(self) -> Iterator[tuple[str, str]]:
        """All columns, each with the argument that names it."""
        given = {
            "weights": (self.weights,),
            "strata": self.strata,
            "clusters": self.clusters,
            "fpc": self.fpc,
            "replicate_weights": self._replicate_columns,
        }
        for argument, names in given.items():
            yield from ((argument, name) for name in names if name is not None)

    def _check_stages(self) -> None:
        most = len(self.clusters) + 1
        if len(self.fpc) > most:
            remedy = f"has {len(self.fpc)} stages, but clusters= has {len(self.clusters)}: it may "
            remedy += "have one more, at which respondents were sampled"
            raise InvalidArgument("fpc", list(self.fpc), remedy)
        units = max(len(self.clusters), len(self.fpc), 1)
        if len(self.strata) > units:
            remedy = f"has {len(self.strata)} stages, but units were sampled in {units}: name "
            remedy += "their columns in clusters="
            raise InvalidArgument("strata", list(self.strata), remedy)
        if self.has_columns_of_replicates and (self.strata or self.clusters or self.fpc):
            remedy = "hold the design already: leave strata=, clusters= and fpc= out"
            raise InvalidArgument("replicate_weights", self.replicates, remedy)

    def _check_weights(self) -> None:
        given = self.has_columns_of_replicates
        every = len(self.fpc) >= max(1, len(self.clusters)) and not given
        if self.weights is None and not every:
            remedy = "name the column of weights, of ones if all respondents count the same"
            if not given:
                remedy += "; or give fpc= for every stage, from which weights follow"
            raise InvalidArgument("weights", None, remedy)

    def _check_twice(self) -> None:
        known: dict[str, str] = {}
        for argument, name in self._columns():
            if name in known:
                raise InvalidArgument(argument, name, f"is the column that {known[name]}= names")
            known[name] = argument

    def __repr__(self) -> str:
        given = {"weights": (self.weights or "from fpc",), "strata": self.strata}
        given |= {"clusters": self.clusters, "fpc": self.fpc}
        parts = [
            f"{what}: {', '.join(str(name or 'none') for name in names)}"
            for what, names in given.items()
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
    names = [given] if isinstance(given, str) else listed(argument, given, _BY_STAGE)
    if not all(name is None or isinstance(name, str) for name in names):
        raise InvalidArgument(argument, given, _BY_STAGE)
    return tuple(str.__str__(name) if name else None for name in names)


def _without_last(names: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Without the stages at the end that have none."""
    while names and names[-1] is None:
        names = names[:-1]
    return names


def _corrections(given: object) -> tuple[str, ...]:
    """Columns of corrections; refuse one of a stage that follows one without."""
    if isinstance(given, str) and not given:
        raise InvalidArgument("fpc", given, _BY_STAGE)
    names = _without_last(_by_stage("fpc", given))
    if None in names:
        stage = names.index(None) + 1
        remedy = f"has none for stage {stage}, where all later ones are without effect: give it, "
        remedy += "or leave the later ones out"
        raise InvalidArgument("fpc", given, remedy)
    return tuple(name for name in names if name is not None)
