"""Joint models of several privatised answers: cells of questions behind their channels.

The log-likelihood is ``sum_i w_i log (L_i p(theta))``: L_i the likelihood of what was collected of
a respondent, one for what was not asked, p a law of `ldpstats.cells`. It is not concave but for the
saturated law: the best of several starts is taken, and the number of maxima is reported. Standard
errors are those of the observed information, or a sandwich of the scores. Intervals are profiles:
of a function g of the parameters, the maximum under g = t is found in coordinates in which the
information is the identity, and t from the signed root of twice the fall, which is nearly linear in
it; with a sandwich the fall is scaled to its variance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.exceptions import ComplexWarning

from ldpstats.arguments import (
    Array,
    as_array,
    boolean,
    did_you_mean,
    level,
    listed,
    numbers,
    one_of,
    positive_integer,
    record,
    replicates,
)
from ldpstats.cells import (
    CellLaw,
    CellReports,
    ItemLaw,
    LatentClassLaw,
    Law,
    Questions,
    Simplex,
    Structure,
    WithDevices,
    read_structure,
)
from ldpstats.documents import Document, array_from_json, array_to_json, written
from ldpstats.errors import (
    ConvergenceWarning,
    InvalidArgument,
    NotAvailable,
    NotIdentified,
)
from ldpstats.hints import Model
from ldpstats.inference.designs.linearisation import Sample
from ldpstats.inference.profiles import Bounds, Surface, function_interval, slopes_of
from ldpstats.inference.regression import design_meat
from ldpstats.inference.tables.ratio import Effect
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.inference.tests import TestResult, pvalue_text
from ldpstats.labels import Labels
from ldpstats.likelihood.parametric import PolynomialMatrix
from ldpstats.likelihood.regression import alike as kinds_of
from ldpstats.likelihood.rows import Likelihood
from ldpstats.mechanisms import Mechanism, Observed, mechanism_from_dict
from ldpstats.models.association.groups import refuse_shared
from ldpstats.models.layout import (
    DOUBTFUL,
    LONGEST_LABEL,
    Pair,
    Table,
    distinct_lines,
    figures,
    in_turn,
    interval_columns,
    is_partial,
    names_alpha,
    one_line,
)
from ldpstats.models.parameters import polynomial_matrix
from ldpstats.models.plots import (
    plot_cells,
    plot_class_lines,
    plot_curves,
    title_text,
)
from ldpstats.models.regression.formulas import (
    Formula,
    Spec,
    as_frame,
    known_names,
    names_of,
    one_sided,
)
from ldpstats.models.regression.hypotheses import Degrees, WaldResults, t_quantile
from ldpstats.models.regression.plots import draw_estimates
from ldpstats.models.storage import Stored
from ldpstats.models.weighted.base import SampleFacts
from ldpstats.priors import checked_generator
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import (
    Counts,
    Reports,
    numbered_reports,
    possible_reports,
    report_numbers,
)

Part = tuple[Reports, npt.NDArray[np.bool_]]  # reports of one mechanism, and the rows that have one

_LISTED = 1 << 20  # different reports up to which equal ones are merged
_SAME = 1e-5  # nats between two maxima that are one
_CURVED = 1e-5  # of coordinates, for second derivatives
_ZERO = 1e-9  # probability of a cell that counts as none
_NONE = 1e-12  # what it is taken for
_EVERY = 1 << 14  # combinations of reports up to which all are listed
_EDGE = 1e-6  # from a probability to a bound that it is on
_FLAT = 1e-7  # singular value, relative to the largest, that counts as zero
_SCORED = 1 << 24  # scores up to which a climb begins with their spread
_MANY = 100  # parameters above which scores stand in for second derivatives
_MOST_PROFILES = 60  # parameters up to which intervals are profiles by default
_EACH = 25  # respondents for each pair of reports that is compared with the law
_MOST_REPORTS = 64  # different ones of a question, up to which pairs are compared with the law
_TOGETHER = 1 << 14  # reports whose scores are computed at a time


# -- What was collected ----------------------------------------------------------------------------


@record
class CellData:
    """Rows of a table: for each question the reports of its mechanisms, and which rows have one.

    `n`, (N,), is how many respondents a row stands for, `w` the sum of their sampling weights;
    `sample` the cells of the design that they are of, `inside` which of them are rows, and `facts`
    its words. `public` has the columns of covariates, `origins` the questions that waves are of.
    """

    rows: Sequence[Sequence[Part]]
    n: Array | None = None
    w: Array | None = None
    sample: Sample | None = None
    inside: Array | None = None
    facts: SampleFacts | None = None
    public: Any = None
    origins: Sequence[str] = ()


def _cell_data(data: Any, covariates: Any) -> CellData:
    """The rows of what a caller passes."""
    if isinstance(data, JointCounts):
        rows = [[(part, np.ones(len(part), dtype=bool))] for part in data.reports]
        return CellData(rows, data.n, public=covariates)
    rows, size = [], None
    persons: dict[int, Any] = {}  # identifiers of rows
    for j, given in enumerate(listed("data", data, "must be a list of Reports, one a question")):
        several = isinstance(given, list) and given and all(isinstance(one, tuple) for one in given)
        parts: list[Part] = []
        for one in given if several else [given]:
            part, mask = one if isinstance(one, tuple | list) and len(one) == 2 else (one, None)
            if not isinstance(part, Reports):
                remedy = "must be Reports, or a pair of them and a mask of respondents"
                raise InvalidArgument(f"data[{j}]", part, remedy)
            there = np.ones(len(part), dtype=bool) if mask is None else np.asarray(mask)
            if there.dtype != bool or there.ndim != 1 or int(there.sum()) != len(part):
                remedy = f"must be true for the {len(part)} respondents who have a report"
                raise InvalidArgument("mask", mask, remedy)
            if size is not None and there.size != size:
                remedy = f"must be {size}, as of other questions: of respondents without a report "
                remedy += "pass pairs (reports, mask)"
                raise InvalidArgument(f"data[{j}]", f"{there.size} respondents", remedy)
            size = there.size
            known = part.ids if part.ids is not None else []
            for row, one in zip(np.flatnonzero(there).tolist(), known, strict=False):
                if persons.setdefault(row, one) != one:
                    remedy = f"must be row {row} of every question: {persons[row]!r} is there"
                    raise InvalidArgument(f"data[{j}].ids", one, remedy)
            parts.append((replace(part, ids=None), there))
        if np.sum([there for _, there in parts], axis=0).max(initial=0) > 1:
            raise InvalidArgument(f"data[{j}]", "masks", "must not have respondents in common")
        rows.append(parts)
    if not rows:
        raise InvalidArgument("data", data, "has no question")
    return CellData(rows, public=covariates)


def _named(names: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    remedy = f"must be {len(known)} different names, one for each question"
    if names is None:
        unique = all(known) and len(set(known)) == len(known)
        return tuple(known) if unique else tuple(f"q{j}" for j in range(len(known)))
    given = tuple(listed("names", names, remedy))
    texts = all(isinstance(name, str) and name for name in given)
    if len(given) != len(known) or not texts or len(set(given)) < len(given):
        raise InvalidArgument("names", names, remedy)
    return given


def _waves(
    data: CellData, names: Sequence[str], candidates: Mapping[str, Any], keep: Any
) -> tuple[list[Sequence[Part]], tuple[tuple[int, ...], ...], list[float]]:
    """Questions by devices that keep their response to each answer, as labels; which are waves.

    And the epsilon of the waves of each device.

    Two reports of a person that may come from one permanent response are refused unless it is said
    whether they do.
    """
    rows, origins = data.rows, data.origins
    made, by_device, epsilon = [*rows], dict[Any, list[int]](), list[float]()
    if keep is None:
        for (v, one), (w, other) in combinations(enumerate(rows), 2):
            for (first, a), (second, b) in product(one, other):
                kept, both = first.mechanism.permanent, a & b
                if kept is not None and kept == second.mechanism.permanent and both.any():
                    joint = JointCounts([first[both[a]], second[both[b]]])
                    called = [names[v], names[w]]
                    refuse_shared([joint], called, None, "a joint model")
    elif boolean("memoised", keep):
        several = len(set(origins)) < len(origins)  # waves of more than one question, perhaps
        for j, own in enumerate(rows):
            devices = frozenset(part.mechanism.permanent for part, _ in own)
            if None not in devices:
                of = origins[j] if several else ""
                by_device.setdefault((devices, of), []).append(j)
    waves = tuple(tuple(places) for places in by_device.values() if len(places) > 1)
    for places in waves:
        if places[-1] - places[0] >= len(places):
            called = [names[j] for j in places]
            remedy = "must have the waves of one device one after the other, in order"
            raise InvalidArgument("names", called, remedy)
        combined = product(*([part.mechanism for part, _ in rows[j]] for j in places))
        listed = candidates.get(names[places[0]])
        epsilon.append(max(some[0].joint_epsilon(some, listed) for some in combined))
        begin: Any = None
        for j in places:
            labelled: list[Part] = []
            for part, there in rows[j]:
                for at, labels in part.mechanism.as_labels(part, candidates.get(names[j])):
                    mask = there.copy()
                    mask[there] = np.isin(np.arange(len(part)), at)
                    labelled.append((labels, mask))
            made[j] = labelled
            for labels, _ in labelled:
                steps = labels.mechanism.steps
                begin = steps[0] if begin is None and steps else begin
                if not steps or steps[0].shape != begin.shape or (steps[0] != begin).any():
                    raise NotAvailable(
                        f"waves of {names[j]!r}: {labels.mechanism} keeps a response of each "
                        "cohort, and a joint model takes one: compare two waves by change(..., "
                        "memoised=True); for more, collect with one cohort or first >> second"
                    )
    return made, waves, epsilon


@record
class Seen(Document):
    """Distinct reports of a question: likelihoods, (d + 1, k), the last of ones, their kinds."""

    labels: pd.Index[Any]
    W: Array
    group: npt.NDArray[np.int64]  # (d + 1,) the mechanism of each report, -1 for none
    shown: tuple[Any, ...]  # (d + 1,) reports as a person reads them; None for none
    Q: PolynomialMatrix | None = None  # of devices with unknown parameters, (k, d + 1)
    # of waves whose devices keep their response b, P(b | answer) and P(report | b): `CellReports`
    kept: tuple[Array, Array] | None = field(default=None, metadata={"later": True})


def _seen(
    parts: Sequence[Part], candidates: Any, unknown: Sequence[str], is_wave: bool = False
) -> tuple[Seen, npt.NDArray[np.intp], Array]:
    """Distinct reports, which of them each row has, (N,), and logs of what W was divided by."""
    W, matrices, kept = [], [], []
    shown: list[Any] = []
    group: list[int] = []
    size, first = len(parts[0][1]), parts[0][0].mechanism
    at, logs = np.full(size, -1, dtype=np.intp), np.zeros(size)
    if candidates is not None and not first.is_open:
        remedy = "are known to the mechanism: leave them out"
        raise InvalidArgument("candidates", candidates, remedy)
    labels = first.labels(candidates)
    for g, (part, there) in enumerate(parts):
        mech = part.mechanism
        if not mech.labels(candidates).equals(labels):
            remedy = f"must have the answers {labels.tolist()}, as others of the question"
            raise InvalidArgument("data", str(mech), remedy)
        some, own = part, np.arange(len(part))
        if (most := possible_reports(mech)) <= _LISTED:
            codes, own = np.unique(report_numbers(part), return_inverse=True)
            if most <= _MOST_REPORTS and not mech.n_bits:  # those that nobody made, too
                codes, own = np.arange(most), codes[own]
            some = numbered_reports(part, codes)
        at[there] = own.reshape(-1) + len(group)
        if unknown:
            matrices.append(polynomial_matrix(mech, unknown).take(some.y))
            W.append(np.full((len(some.y), len(labels)), np.nan))
        else:
            ones = np.ones(len(some.y), np.int64)
            counts = Counts(some.y, ones, mech, 0, some.cohort)
            rows = mech.likelihood(counts, candidates if first.is_open else None).W
            likelihoods, scale = rows.take(0, rows.shape[0]), rows.log_scale
            if most <= _LISTED:  # probabilities, which goodness of fit compares
                likelihoods, scale = likelihoods * np.exp(scale)[:, None], np.zeros(len(scale))
            W.append(likelihoods)
            logs[there] = scale[own.reshape(-1)]
        if is_wave:
            kept.append(mech.steps[1][:, some.y].T)
        group += [g] * len(some.y)
        words = None if mech.n_bits or mech.n_cohorts else getattr(mech, "outputs", None)
        shown += range(len(some.y)) if words is None else words[some.y].tolist()
    at[at < 0] = len(group)
    Q = None
    if unknown:
        matrices.append(PolynomialMatrix.constant(np.ones((len(labels), 1)), len(unknown)))
        Q = PolynomialMatrix.beside(matrices)
    whole = np.vstack([*W, np.ones((1, len(labels)))])
    steps = None
    if kept:
        steps = first.steps[0], np.vstack([*kept, np.ones((1, kept[0].shape[1]))])
    return Seen(labels, whole, np.array([*group, -1]), (*shown, None), Q, steps), at, logs


def formulas_of(structure: Any, parameters: Any) -> dict[str, Any]:
    """Formulas of covariates: that of a structure under "", of parameters of devices by name."""
    if not isinstance(structure, Structure):
        remedy = "must be a structure of ldpstats.cells, such as latent_class(2)"
        raise InvalidArgument("structure", structure, remedy)
    if not isinstance(parameters, Mapping | None):
        remedy = "must map unknown parameters to formulas, such as {'careless': '~ age'}"
        raise InvalidArgument("parameters", parameters, remedy)
    own = {} if structure.covariates is None else {"": structure.covariates}
    return own | dict(parameters or {})


def _covariates(argument: str, text: str, frame: Any, used: Array) -> dict[str, Array]:
    """Public columns of a formula, (N,) each, without a constant, of the rows that are used."""
    right, terms = one_sided(argument, text, "patsy")
    if not names_of(terms):
        raise InvalidArgument(argument, text, "names no column: leave it out")
    if frame is None:
        raise InvalidArgument("covariates", frame, f"must be a table: {text!r} needs its columns")
    table = as_frame("covariates", frame, sorted(names_of(terms)))
    if len(table) != used.size:
        remedy = f"must be {used.size}, one for each respondent"
        raise InvalidArgument("covariates", f"{len(table)} rows", remedy)
    formula = Formula.parse(f"answer ~ {right}")
    names = known_names(formula, (), [*table.columns, "answer"], {})
    spec, matrix = Spec.of(argument, right, table[used], "patsy", names, text)
    columns = {}
    for one, column in zip(spec.columns, matrix.T, strict=True):
        if one != "Intercept":
            columns[one] = np.zeros(used.size)
            columns[one][used] = column
            if column.std() == 0.0:
                raise InvalidArgument(argument, text, f"{one!r} is the same for all: leave it out")
    return columns


class CellModel(Model):
    """A law of the answers to several questions, behind their mechanisms.

    Parameters
    ----------
    data : Survey, JointCounts, or sequence of Reports or of pairs (Reports, mask)
        A survey, of which the questions `names` are used, by default all private ones, as in
        `Survey.cells`; or reports, one element for each question, or a mapping from names to these.
        Row i of all questions is the same respondent. In a pair the mask, bool of shape (N,), marks
        which of the N respondents have a report: those who were not asked, or did not answer,
        contribute their other answers. A question that groups of respondents answered by different
        mechanisms is a list of pairs. Unknown parameters of devices are estimated as well.
    structure : Structure
        What `ldpstats.cells` makes: saturated(), loglinear("a*b + c"), latent_class(2), rasch(),
        two_parameter(), markov(), function(...).
    names : sequence of str, optional
        Names of the questions; by default those of the reports.
    covariates : DataFrame, optional
        Public columns of the respondents, (N, ...), for structures and parameters with covariates.
    candidates : mapping of names to lists, optional
        The answers to look for, of questions to which any text is an answer.
    memoised : bool, optional
        Whether questions whose mechanisms have one `permanent` are waves of one question to devices
        that keep their response to each answer, see `Mechanism.joint_law`: they stand one after the
        other, and the structure is one of cells. False says that devices drew each report afresh;
        by default such questions are refused.
    parameters : mapping of names to formulas, optional
        {"careless": "~ age + region"}: covariates of unknown parameters of devices, whose log odds
        are a constant plus slopes. Parameters without a formula are one probability for all.

    Raises
    ------
    InvalidArgument
        If questions are not of the same respondents; for a structure that does not fit them.
    NotAvailable
        Where two reports of a person may come from one permanent response.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> uses = rng.random(4000) < 0.4
    >>> answers = [np.where(rng.random(4000) < np.where(uses, 0.8, 0.1), "yes", "no")
    ...            for _ in range(4)]
    >>> reports = [krr.privatize(answer, rng) for answer in answers]
    >>> model = ldp.CellModel(reports, ldp.cells.latent_class(2), names=["a", "b", "c", "d"])
    >>> model.fit().params.round(2).to_dict()["class 1"]
    0.61

    Older respondents answer at random more often. An anchor item, to which every true answer is no,
    shows how often:

    >>> from ldpstats.devices import flip, truth, unknown
    >>> coin = flip(0.5).when({"heads": "yes", "tails": "no"})
    >>> device = flip(unknown("careless")).when({"heads": coin, "tails": truth})
    >>> made_by, old = device.mechanism(("no", "yes")), rng.random(4000) < 0.5
    >>> lost = rng.random(4000) < np.where(old, 0.5, 0.1)
    >>> said = [np.where(lost, rng.random(4000) < 0.5, own) for own in (uses, np.zeros(4000))]
    >>> model = ldp.CellModel(
    ...     [ldp.Reports(own.astype(int), made_by) for own in said],
    ...     ldp.cells.function(lambda t: [[1 - t[0], 0 * t[0]], [t[0], 0 * t[0]]], [0.5], ["uses"]),
    ...     covariates=pd.DataFrame({"old": old.astype(float)}),
    ...     parameters={"careless": "~ old"},
    ... )
    >>> model.fit().params.round(1).to_dict()
    {'uses': 0.4, 'careless: const': -2.1, 'careless: old': 2.0}
    """

    _tilt: Callable[[Array], tuple[float, Array]] | None = None  # what a profile adds

    def __init__(
        self,
        data: Any,
        structure: Structure,
        names: Sequence[str] | None = None,
        covariates: Any = None,
        candidates: Mapping[str, Any] | None = None,
        memoised: bool | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        formulas = formulas_of(structure, parameters)
        if hasattr(data, "questionnaire"):  # a survey, which reads its columns itself
            if covariates is not None:
                remedy = "are public columns of the survey: leave them out"
                raise InvalidArgument("covariates", covariates, remedy)
            asked = list(data.questionnaire.private) if names is None else names
            vars(self).update(vars(data.cells(asked, structure, candidates, memoised, parameters)))
            return
        if isinstance(data, Mapping) and names is None:
            names, data = list(data), list(data.values())
        got = data if isinstance(data, CellData) else _cell_data(data, covariates)
        self._clusters: Any = None
        self.structure, self.names = structure, _named(names, [own[0][0].name for own in got.rows])
        if not isinstance(candidates, Mapping | None):
            remedy = "must be a mapping of names of questions to their answers"
            raise InvalidArgument("candidates", candidates, remedy)
        lists = dict(candidates or {})
        if others := sorted(set(map(str, lists)) - set(self.names)):
            remedy = f"are of no question: they are {', '.join(self.names)}"
            raise InvalidArgument("candidates", others, remedy)
        rows, self._waves, self._together = _waves(got, self.names, lists, memoised)
        self.mechanisms = tuple(tuple(part.mechanism for part, _ in own) for own in rows)
        unknown, inside = self._unknown, {j for places in self._waves for j in places}
        self.parameters = {name: str(text) for name, text in (parameters or {}).items()}
        for name in self.parameters:
            if name not in unknown:
                known = 'write unknown("careless") in a step of one'
                if unknown:
                    known = f"they are {in_turn(unknown)}{did_you_mean(name, unknown)}"
                remedy = f"is no unknown parameter of a device: {known}"
                raise InvalidArgument("parameters", name, remedy)
        read = []
        each = zip(self.names, rows, self.mechanisms, strict=True)
        for j, (name, parts, mechs) in enumerate(each):
            lacking = unknown if any(mech.unknown for mech in mechs) else ()
            words = None if j in inside else lists.get(name)
            read.append(_seen(parts, words, lacking, j in inside))
        self._seen = [one for one, _, _ in read]
        masks = [np.any([there for _, there in own], axis=0) for own in got.rows]
        n = np.ones(len(masks[0]), dtype=np.int64) if got.n is None else np.asarray(got.n)
        answered = np.any(masks, axis=0) & (n > 0)
        kept = np.flatnonzero(answered)
        if not kept.size:
            raise InvalidArgument("data", "no respondent", "has a report: nothing can be estimated")
        columns: dict[str, Array] = {}  # those of the structure first
        self._used = {}  # the names of columns, by parameter
        for name, text in formulas.items():
            argument = "parameters" if name else "covariates"
            own = _covariates(argument, text, got.public, answered)
            self._used[name], columns = list(own), columns | own
        z = np.array([*columns.values()]).reshape(-1, len(n)).T
        spread = z[kept].std(axis=0)
        means = z[kept].mean(axis=0) / spread
        z = z / spread - means
        self.nobs, self.n_missing = int(n[kept].sum()), int(n[~answered].sum())
        self.answered = tuple(int(n[there].sum()) for there in masks)
        weights = n if got.w is None else got.w * (self.nobs / got.w[kept].sum())
        if (weights < 0.0).any():
            raise NotAvailable(
                "a likelihood takes no negative weights: calibrate with method='raking', or bounds"
            )
        index = np.column_stack([at for _, at, _ in read])[kept]
        kinds = kinds_of([*index.T, *z[kept].T]) or (np.arange(kept.size), np.arange(kept.size))
        first, place = kinds
        units = zip(spread.tolist(), means.tolist(), strict=True)
        self._spread = dict(zip(columns, units, strict=True))
        self._pattern = np.full(len(n), -1, dtype=np.int64)  # of each row's joint report
        self._pattern[kept] = place
        self._weights, self._times, self._data, self._facts = weights, n, got, got.facts
        logs = np.sum([logs for _, _, logs in read], axis=0)[kept]
        self._scale = float(weights[kept] @ logs)
        n_each = np.bincount(place, weights[kept], len(first))
        self._assemble(index[first], n_each, z[kept][first])

    def _assemble(self, index: Array, n: Array, z: Array) -> None:
        """The distinct joint reports, how often each was seen, and the law that they have."""
        devices = {j: own.Q for j, own in enumerate(self._seen) if own.Q is not None}
        kept = {j: own.kept for j, own in enumerate(self._seen) if own.kept is not None}
        W = tuple(own.W for own in self._seen)
        self.reports = CellReports(W, index, n, z, devices, kept, self._waves)
        own = {name: self._spread[name] for name in self._used.get("", [])}
        self.law = self.structure.law(self.questions, own)
        if parameters := {name: self._used.get(name, []) for name in self._unknown}:
            self.law = WithDevices(self.law, len(own), self._spread, parameters)
        if self._waves and not isinstance(self.law, CellLaw):
            raise NotAvailable(
                f"{self.structure} takes reports to be independent given the answers, which waves "
                "of a device that keeps its response are not: use saturated, loglinear or markov"
            )

    @property
    def questions(self) -> Questions:
        """The questions with their answers."""
        return {name: own.labels for name, own in zip(self.names, self._seen, strict=True)}

    @property
    def _unknown(self) -> list[str]:
        """Unknown parameters of devices."""
        return list(dict.fromkeys(name for mech in self._every for name in mech.unknown))

    @property
    def _every(self) -> list[Mechanism]:
        return [mech for own in self.mechanisms for mech in own]

    @property
    def _words(self) -> str:
        """The structure, and what the parameters of devices depend on."""
        own = [f"{name} {text}" for name, text in self.parameters.items()]
        return ", ".join([str(self.structure), *own])

    def __repr__(self) -> str:
        return f"CellModel({in_turn(list(self.names))}; {self._words}; n={self.nobs})"

    # -- documents -----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The structure, and how often each joint report was seen, as plain JSON types."""
        if str(self.structure).startswith("function("):
            raise NotAvailable("a function cannot be written as text: pickle the results")
        return {
            "structure": str(self.structure),
            "names": list(self.names),
            "mechanisms": [[mech.to_dict() for mech in own] for own in self.mechanisms],
            "seen": [own.to_dict() for own in self._seen],
            "waves": [list(places) for places in self._waves],
            "together": self._together,
            "answered": list(self.answered),
            "nobs": self.nobs,
            "n_missing": self.n_missing,
            "index": array_to_json(self.reports.index.astype(np.int64)),
            "n": array_to_json(self.reports.n.astype(np.float64)),
            "z": array_to_json(self.reports.z),
            "spread": {name: list(own) for name, own in self._spread.items()},
            "parameters": self.parameters,
            "used": self._used,
            "scale": self._scale,
            "facts": self._facts and self._facts.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> CellModel:
        """Read what `to_dict` wrote; without the rows, by which clusters and designs are seen."""
        model = cls.__new__(cls)
        model.structure = read_structure(document["structure"])
        model.names = tuple(document["names"])
        model.mechanisms = tuple(
            tuple(mechanism_from_dict(one) for one in own) for own in document["mechanisms"]
        )
        model._seen = [Seen.from_dict(own) for own in document["seen"]]
        model._waves = tuple(tuple(places) for places in document.get("waves", []))
        model._together = list(document.get("together", []))
        model.answered = tuple(document["answered"])
        model.nobs, model.n_missing = document["nobs"], document["n_missing"]
        model._spread = {name: (own[0], own[1]) for name, own in document["spread"].items()}
        model.parameters, model._used = dict(document["parameters"]), dict(document["used"])
        model._scale = float(document["scale"])
        model._facts = document["facts"] and SampleFacts.from_dict(document["facts"])
        model._pattern = model._weights = model._times = np.zeros(0, dtype=np.int64)
        model._data, model._clusters = CellData([]), None
        index = array_from_json(document["index"], "int64").astype(np.intp)
        n, z = array_from_json(document["n"]), array_from_json(document["z"])
        model._assemble(index, n, z.reshape(len(n), len(model._spread)))
        return model

    # -- the likelihood ------------------------------------------------------------------------

    def loglike(self, theta: Array) -> float:
        """Log-likelihood in nats at coordinates theta, (d,), of the law."""
        return float(self.reports.loglike(self.law.mix(self.reports, theta))) + self._scale

    def evaluate(self, theta: Array) -> tuple[float, Array]:
        """`loglike` and its gradient, (d,); -inf where a report is impossible."""
        with np.errstate(divide="ignore", invalid="ignore"):
            m, pull = self.law.at(self.reports, theta)
            if not m.min() > 0.0:
                return -np.inf, np.zeros(theta.size)
            value = float(self.reports.n @ np.log(m)) + self._scale
            slope = pull(self.reports.n / m)
        if self._tilt is not None:
            more, turn = self._tilt(theta)
            value, slope = value + more, slope + turn
        return value, slope

    def _curvature(self, theta: Array) -> Array:
        """Its second derivatives, (d, d), by central differences of gradients.

        Of more than 100 parameters minus the sum of squared scores, which has the same expectation.
        """
        if self.law.size > _MANY:
            S = self.law.scores(self.reports, theta)
            return -np.asarray((S * self.reports.n[:, None]).T @ S)
        H = np.empty((self.law.size, self.law.size))
        for a in range(self.law.size):
            step = np.zeros(self.law.size)
            step[a] = _CURVED * max(1.0, abs(theta[a]))
            ahead, behind = (self.evaluate(theta + s * step)[1] for s in (1.0, -1.0))
            H[a] = (ahead - behind) / (2.0 * step[a])
        return (H + H.T) / 2.0

    def _meat(self, rows: Array, cov_type: str) -> Array:
        """Covariance of the sum of rows, (u, p), one a joint report, over respondents."""
        if cov_type in ("design", "cluster") and not self._pattern.size:
            raise NotAvailable("results that were read have no rows: fit the survey again")
        if cov_type == "design":
            got = self._data
            assert got.sample is not None and got.w is not None
            at = np.full(got.sample.w.shape, -1, dtype=np.int64)
            at[got.inside if got.inside is not None else slice(None)] = self._pattern
            some = np.flatnonzero((self._pattern >= 0) & (got.w > 0))[0]
            return design_meat(got.sample, rows * (self._weights[some] / got.w[some]), at)
        if cov_type == "cluster":
            used = self._pattern >= 0
            codes, units = pd.factorize(self._clusters[used])
            sums = np.zeros((len(units), rows.shape[1]))
            np.add.at(sums, codes, rows[self._pattern[used]] * self._times[used, None])
            G = len(units)
            return np.asarray(sums.T @ sums) * (G / max(G - 1.0, 1.0))
        return (rows * self.reports.n[:, None]).T @ rows

    # -- the fit -------------------------------------------------------------------------------

    def fit(
        self,
        cov_type: str = "default",
        groups: Any = None,
        start: Any = None,
        n_starts: int = 12,
        rng: np.random.Generator | None = None,
        unidentified: str = "raise",
    ) -> CellResults:
        """Estimate the parameters by maximum likelihood.

        Parameters
        ----------
        cov_type : {"default", "observed", "robust", "cluster"}
            "observed": inverse of the observed information, the default without a design; "robust":
            sandwich of the scores of respondents; "cluster": of those of `groups`. With the design
            of a survey the sandwich is always its own.
        groups : array, shape (N,), optional
            The cluster of each respondent, for "cluster": where one person has several rows, or
            respondents were sampled together.
        start : array, shape (d,), optional
            Coordinates to begin with, such as `theta` of other results; no other start is tried.
        n_starts : int
            Random starts; laws with few of their own stop before.
        rng : numpy.random.Generator, optional
            Draws the starts; a fixed one by default.
        unidentified : {"raise", "keep"}
            What to do where some parameters are not identified by the reports: raise an error, or
            estimate. Such parameters then have no standard errors; margins and effects that are
            identified have them, see `margin` and `effect`.

        Raises
        ------
        NotIdentified
            If other values of some parameters give the same law of the reports.

        Warns
        -----
        ConvergenceWarning
            If the best maximum was reached from one start alone, or none was reached.
        """
        design = self._data.sample is not None
        cov_type = one_of("cov_type", cov_type, ("default", "observed", "robust", "cluster"))
        if design and cov_type != "default":
            remedy = "must be left out: the covariance is that of the survey's design"
            raise InvalidArgument("cov_type", cov_type, remedy)
        if cov_type == "default":
            cov_type = "design" if design else "observed"
        if (groups is not None) != (cov_type == "cluster"):
            remedy = "are for cov_type='cluster', which needs them"
            raise InvalidArgument("groups", type(groups).__name__, remedy)
        if groups is not None:
            remedy = f"must have a label for each of the {self._pattern.size} respondents"
            groups, used = as_array("groups", groups, remedy), self._pattern >= 0
            if groups.shape != used.shape or pd.isna(groups[used]).any():
                raise InvalidArgument("groups", groups.shape, remedy)
            if len(pd.unique(groups[used])) < 2:
                raise InvalidArgument("groups", groups[used][0], "must be two clusters or more")
        model = self._with(_clusters=groups) if groups is not None else self
        keep = one_of("unidentified", unidentified, ("raise", "keep")) == "keep"
        rng = np.random.default_rng(2026) if rng is None else checked_generator(rng)
        most = positive_integer("n_starts", n_starts, 1)
        if self.structure.is_convex and not self.reports.devices:
            return model._fit_simplex(cov_type)
        if not keep:
            self._check_identified(rng)
        starts: Iterable[Array] = self.law.starts(self.reports, rng)
        if start is not None:
            remedy = f"must be the {self.law.size} coordinates of a law such as this"
            point = numbers("start", start, remedy, (self.law.size,))
            if not np.isfinite(point).all():
                raise InvalidArgument("start", start, remedy)
            starts = [point]
        tops = [self._climb(point) for _, point in zip(range(most), starts, strict=False)]
        tops.sort(key=lambda top: -top[0])
        value, theta, converged = tops[0]
        distinct = [value]
        for one, _, good in tops[1:]:
            if good and np.isfinite(one) and distinct[-1] - one > _SAME:
                distinct.append(one)
        reached = sum(value - one <= _SAME for one, _, _ in tops)
        how = {"maxima": tuple(distinct), "reached": (reached, len(tops)), "converged": converged}
        results = model._results(self.law.sorted(theta, self.reports), cov_type, **how)
        if not converged:
            words = "no start reached a maximum: raise n_starts, or take a smaller law"
            warnings.warn(words, ConvergenceWarning, stacklevel=2)
        elif reached < 2 < len(tops):
            words = f"the best of {len(tops)} starts reached its maximum alone: others may be "
            words += "better; raise n_starts, or take a smaller law"
            warnings.warn(words, ConvergenceWarning, stacklevel=2)
        return results

    def _climb(self, theta: Array) -> tuple[float, Array, bool]:
        """The maximum above a point: quasi-Newton, then Newton with the observed information."""
        from scipy.optimize import minimize

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            # in coordinates in which the information at the start is about the identity
            first, root = theta, np.eye(theta.size)
            if theta.size * len(self.reports.n) <= _SCORED:
                S = np.sqrt(self.reports.n)[:, None] * self.law.scores(self.reports, theta)
                size, axes = np.linalg.eigh(np.nan_to_num(S.T @ S / self.nobs))  # at infinity
                least = 1e-2 if self._tilt is not None else 0.0  # begun at an edge, which is flat
                least = max(least, 1e-6 * size.max(initial=1e-300))
                root = axes / np.sqrt(np.maximum(size, least))

            def fall(u: Array) -> tuple[float, Array]:
                value, slope = self.evaluate(first + root @ u)
                value = value if np.isfinite(value) else -1e10
                return -value / self.nobs, -(root.T @ slope) / self.nobs

            how = {"gtol": 1e-7, "maxiter": 3000}
            begin = np.zeros(theta.size)
            theta = first + root @ minimize(fall, begin, jac=True, method="BFGS", options=how).x
            value = self.evaluate(theta)[0]
            for _ in range(20):
                slope, H = self.evaluate(theta)[1], self._curvature(theta)
                if not np.isfinite(H).all():  # at infinity
                    break
                size, axes = np.linalg.eigh(H)
                step = axes @ ((axes.T @ slope) / np.maximum(-size, 1e-8 * np.abs(size).max()))
                gain = float(slope @ step) / 2.0
                if gain < (1e-10 if theta.size <= _MANY else 1e-5):
                    if size.max() < -1e-6 * np.abs(size).max():  # digits that values do not show
                        theta = theta + step
                        value = self.evaluate(theta)[0]
                    break
                while step @ step > 1e-20:
                    new = self.evaluate(theta + step)[0]
                    if new > value:
                        break
                    step = step / 4.0
                else:
                    break
                theta, value = theta + step, new
        return value, theta, bool(np.abs(slope).max(initial=0.0) / self.nobs < 1e-6)

    def _tilted(self, start: Array, tilt: Callable[[Array], tuple[float, Array]]) -> Array:
        """The maximum of the log-likelihood plus a function, which has a slope, above a point."""
        return self._with(_tilt=tilt)._climb(start)[1]

    def _fit_simplex(self, cov_type: str) -> CellResults:
        """Of any distribution: concave, with a certificate; then coordinates of what is above 0."""
        from ldpstats.estimators import MLE

        likelihood = Likelihood(self.reports.rows, self.reports.n)
        solution = MLE().solve(likelihood)
        order = np.argsort(-solution.p, kind="stable")
        theta = np.log(np.maximum(solution.p[order[1:]], _NONE) / solution.p[order[0]])
        model = self._with(law=Simplex(self.law.names, order))
        gap, llf = max(0.0, likelihood.gap(solution.p)), model.loglike(theta)
        how = {"converged": solution.converged, "maxima": (llf,), "reached": (1, 1), "gap": gap}
        results = model._results(theta, cov_type, order.astype(np.int64), **how)
        return replace(results, model=self)

    def _with(self, **changed: Any) -> CellModel:
        """The same reports with another law, or clusters."""
        model = CellModel.__new__(CellModel)
        model.__dict__.update(self.__dict__ | changed)
        return model

    def _results(self, theta: Array, cov_type: str, order: Any = None, **more: Any) -> CellResults:
        size, axes = np.linalg.eigh(-self._curvature(theta))
        flat = size <= _FLAT * max(size.max(initial=0.0), 1e-300)
        inverse = (axes[:, ~flat] / size[~flat]) @ axes[:, ~flat].T
        unknown = axes[:, flat]
        if 0 < theta.size <= _MANY:  # what is open shows where no probability is zero
            unknown = self._open(self.law.inside(theta))
        covariance, df = inverse, None
        if cov_type != "observed":
            scores = self.law.scores(self.reports, theta)
            covariance = inverse @ self._meat(scores, cov_type) @ inverse
        if cov_type == "cluster":
            df = float(len(pd.unique(self._clusters[self._pattern >= 0])) - 1)
        elif self._facts is not None:
            df = float(self._facts.df)
        parts = self, theta, inverse, covariance, axes[:, flat], unknown, order
        return CellResults(*parts, self.loglike(theta), cov_type, df=df, **more)

    @cached_property
    def _possible(self) -> CellReports:
        """Joint reports, seen or not, of the sets of questions that were asked; seen, if many."""
        from scipy.linalg import qr

        reports, sizes = self.reports, np.array([len(W) - 1 for W in self.reports.W])
        asked = np.unique(reports.index < sizes, axis=0)
        kinds = np.where(asked, sizes, 1)
        several = any(len(own) > 1 for own in self.mechanisms)
        if several or kinds.prod(axis=1, dtype=float).sum() > _EVERY:
            return reports
        index = []
        for own, some in zip(asked, kinds, strict=True):
            each = np.indices(some.tolist()).reshape(len(some), -1).T
            index.append(np.where(own, each, sizes))
        every = np.concatenate(index)
        # covariates: rows that span them all, and some more
        q, last = reports.z.shape[1], len(reports.z) - 1
        X = np.column_stack([np.ones(len(reports.z)), reports.z])
        some = np.r_[
            qr(X.T, mode="r", pivoting=True)[1][: 1 + q], np.linspace(0, last, 1 + 11 * (q > 0))
        ]
        some = np.unique(some.round().astype(int))
        z = np.repeat(reports.z[some], len(every), axis=0)
        every = np.tile(every, (len(some), 1))
        whole = replace(reports, index=every, n=np.ones(len(every)), z=z)
        with np.errstate(all="ignore"):
            can = self.law.mix(whole, self.law.generic(np.random.default_rng(1))) > 0.0
        return replace(whole, index=every[can], n=whole.n[can], z=z[can])

    def _open(self, theta: Array) -> Array:
        """Directions, in columns, in which no probability of a report changes at theta."""
        S = np.sqrt(self._possible.n)[:, None] * self.law.scores(self._possible, theta)
        scale = np.sqrt(np.maximum((S**2).sum(axis=0), 1e-300))
        _, s, right = np.linalg.svd(np.linalg.qr(S / scale, mode="r"))
        rank = int((s > _FLAT * s.max(initial=0.0)).sum())
        return np.linalg.qr(right[rank:].T / scale[:, None])[0]

    def _check_identified(self, rng: np.random.Generator) -> None:
        """Refuse laws whose scores are dependent at three random points."""
        found = []
        for _ in range(3):
            found.append(self._open(theta := self.law.generic(rng)))
            if not found[-1].size:
                return
        axes, G = min(found, key=np.size), slopes_of(self.law.shown, theta)
        part, rank = np.abs(axes).max(axis=1), self.law.size - axes.shape[1]
        named = [name for name, row in zip(self.law.names, G, strict=True)
                 if np.abs(row[part > 0.1]).max(initial=0.0) > 0.0]  # fmt: skip
        raise NotIdentified(
            f"{self.structure} has {self.law.size} free parameters, of which the reports determine "
            f"{rank}: {in_turn(named or list(self.law.names))} cannot be estimated, as other "
            "values give the reports the same law; ask more questions of a person, assume more, or "
            "pass fit(unidentified='keep') for margins and effects that are determined"
        )

    def simulated(self, p: Array, rng: np.random.Generator) -> CellModel:
        """The model of a survey of the same design whose answers have the law p of the cells.

        Parameters
        ----------
        p : array, shape (cells,) or an axis a question
        rng : numpy.random.Generator

        Raises
        ------
        NotAvailable
            With covariates or weights, and for questions whose reports are bits or have cohorts.
        """
        got = self._data
        if self._waves:
            raise NotAvailable("surveys are simulated without devices that keep their responses")
        if any(m.n_bits or m.n_cohorts or m.unknown for m in self._every):
            raise NotAvailable("surveys are simulated for questions whose reports are known labels")
        if got.sample is not None or self.reports.z.shape[1]:
            raise NotAvailable("surveys are simulated without covariates and without a design")
        columns = zip(self._seen, self.reports.index.T, strict=True)
        kinds = np.column_stack([own.group[at] for own, at in columns])
        asked, place = np.unique(kinds, axis=0, return_inverse=True)
        sizes = np.bincount(place.reshape(-1), self.reports.n).astype(np.int64)
        law = np.asarray(p, dtype=np.float64).reshape(-1)
        drawn = rng.choice(law.size, size=int(sizes.sum()), p=law / law.sum())
        answers = np.unravel_index(drawn, self.reports.sizes)
        who = np.repeat(asked, sizes, axis=0)
        rows = []
        for j, own in enumerate(self.mechanisms):
            parts = []
            for g, mech in enumerate(own):
                there = who[:, j] == g
                labels = self.questions[self.names[j]].take(answers[j][there])
                parts.append((mech.privatize(labels.to_numpy(), rng), there))
            rows.append(parts)
        return CellModel(CellData(rows), self.structure, self.names, memoised=False)


@dataclass(frozen=True, eq=False, repr=False)
class CellResults(Stored, WaldResults):
    """Estimated parameters of a law of several answers.

    Documents and pickles hold how often each joint report was seen, as profiles, effects and tests
    need the likelihood.

    Attributes
    ----------
    params : Series
        What the structure calls its parameters.
    bse : Series
        Standard errors of `params`, by the delta method.
    theta : array, shape (d,)
        Coordinates of the law without constraints.
    llf, aic, bic : float
    n_maxima : int
        Different maxima that starts reached; `maxima` has their log-likelihoods.
    gap : float
        Of a saturated law, the certificate per report that no distribution is likelier.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> a = rng.choice(["no", "yes"], 2000)
    >>> reports = [krr.privatize(answers, rng) for answers in (a, a, rng.permutation(a))]
    >>> model = ldp.CellModel(reports, ldp.cells.loglinear("a*b + c"), names=["a", "b", "c"])
    >>> results = model.fit()
    >>> results.margin("a", "b").estimate.round(2).tolist()
    [0.49, 0.01, 0.01, 0.49]
    >>> float(results.wald_test("c[yes] = 0").pvalue.round(2))
    0.3
    """

    _format = "ldpstats-cell-results"
    _noun = "parameters"

    model: CellModel
    theta: Array
    inverse: Array = field(metadata={"array": "symmetric"})  # of the observed information
    covariance: Array = field(metadata={"array": "symmetric"})  # of theta
    flat: Array  # directions, in columns, in which the likelihood is flat at theta
    unknown: Array  # directions, in columns, of which the reports say nothing
    order: npt.NDArray[np.int64] | None  # of the cells of a saturated law, by their estimates
    llf: float
    cov_type: str
    converged: bool
    maxima: tuple[float, ...]
    reached: tuple[int, int]  # starts that ended at the best, of how many
    df: float | None  # of the t law, of clusters and designs
    gap: float = np.nan
    tested: TestResult | None = None  # goodness of fit, of results that were read

    def __post_init__(self) -> None:
        shape = (self.theta.size, self.theta.size)
        if self.inverse.shape != shape or self.covariance.shape != shape:
            raise InvalidArgument("covariance", self.covariance.shape, f"must be {shape}")
        d = self.theta.size
        for name in ("flat", "unknown"):
            axes = getattr(self, name)
            object.__setattr__(self, name, axes.reshape(d, axes.size // max(d, 1)))
        if self.law.size != self.theta.size:
            raise InvalidArgument("theta", self.theta.shape, f"must be ({self.law.size},)")

    def __repr__(self) -> str:
        return f"CellResults({self.model._words}; n={self.nobs})"

    @cached_property
    def law(self) -> Law:
        """The law, whose parameters are estimated."""
        if self.order is None:
            return self.model.law
        return Simplex(self.model.law.names, self.order.astype(np.intp))

    @cached_property
    def _alone(self) -> tuple[Law, CellReports, Array]:
        """The law without devices, with their parameters as estimated."""
        return self.law.alone(self.model.reports, self.theta)

    @property
    def nobs(self) -> int:
        """Respondents with a report on some question."""
        return self.model.nobs

    @property
    def df_model(self) -> int:
        """Free parameters; of a saturated law those of cells above zero."""
        if isinstance(self.law, Simplex):
            return int((self.law.shown(self.theta) > _ZERO).sum()) - 1
        return self.law.size

    @property
    def aic(self) -> float:
        """Akaike's information criterion; nan with a design, whose weights are no respondents."""
        if self.model._facts is not None:
            return np.nan
        return 2.0 * self.df_model - 2.0 * self.llf

    @property
    def bic(self) -> float:
        """Schwarz's information criterion, see `aic`."""
        if self.model._facts is not None:
            return np.nan
        return float(np.log(self.nobs)) * self.df_model - 2.0 * self.llf

    @property
    def n_maxima(self) -> int:
        """Different maxima that starts reached."""
        return len(self.maxima)

    @property
    def index(self) -> Labels:
        return pd.Index(self.law.names)

    def _values(self, theta: Array) -> Array:
        """The parameters as they are shown, of points (..., d)."""
        return np.asarray(self.law.shown(theta) / self.law.units)

    @cached_property
    def _estimated(self) -> tuple[Array, Array]:
        values, V = self._delta(self._values, True)
        at_bound = self.law.bounded & ((values < _EDGE) | (values > 1.0 - _EDGE))
        V[at_bound], V[:, at_bound] = np.nan, np.nan
        return values, V

    def _delta(self, f: Callable[[Array], Array], many: bool = False) -> tuple[Array, Array]:
        """Functions of theta, (m,), and their covariance; nan where reports leave them open."""
        G = slopes_of(f, self.theta, many)
        V, lost = G @ self.covariance @ G.T, self._left_open(f, many) | _moves(G, self.flat)
        V[lost], V[:, lost] = np.nan, np.nan
        return np.real(f(self.theta)), V

    def _left_open(self, f: Callable[[Array], Any], many: bool = False) -> Array:
        """Functions, (m,), that the reports do not determine."""
        return _moves(slopes_of(f, self.law.inside(self.theta), many), self.unknown)

    @property
    def degrees(self) -> Degrees:
        return self.df

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of zero; nan for probabilities and standard deviations."""
        shares = self.law.bounded | self.index.str.startswith("sd ")
        return super().pvalues.mask(shares)  # type: ignore[no-any-return]

    # -- intervals -----------------------------------------------------------------------------

    def _bounds(self, alpha: float, method: str = "default") -> Array:
        method = self.default_intervals if method == "default" else method
        key = float(alpha), method
        if key not in self._kept:
            if method == "profile":
                bounds = self._profiles(self._values, self.law.bounded, alpha, True)
            else:
                bounds = self._wald(*self._estimated, self.law.bounded, alpha)
            deviations = self.index.str.startswith("sd ")
            bounds[deviations] = np.maximum(bounds[deviations], 0.0)
            self._kept[key] = bounds
        return self._kept[key].copy()

    @cached_property
    def _kept(self) -> dict[tuple[float, str], Array]:
        return {}

    @names_alpha
    def conf_int(self, alpha: float = 0.05, method: str = "default") -> pd.DataFrame:
        """Intervals of the parameters, columns "lower" and "upper".

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        method : {"profile", "wald"}
            "profile": the values that a likelihood ratio test does not reject; where the covariance
            is a sandwich, the ratio is divided by what that is to the inverse information. "wald":
            estimate plus or minus quantile times standard error, of probabilities on the scale of
            log odds; their coverage fails near a bound. "default" is "profile" for up to 60
            parameters, else "wald".
        """
        alpha, method = level(alpha), one_of("method", method, ("default", "profile", "wald"))
        bounds = self._bounds(alpha, method)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def default_intervals(self) -> str:
        """What `conf_int` gives by default: "profile" or "wald"."""
        return "profile" if self.law.size <= _MOST_PROFILES else "wald"

    def _profiles(
        self, f: Callable[[Array], Array], bounded: Array, alpha: float, many: bool = False
    ) -> Array:
        """Profile limits, (m, 2), of functions of theta."""

        def one(i: int) -> Callable[[Array], Any]:
            return lambda theta: f(theta)[..., i]

        each = enumerate(bounded)
        return np.array([self._profile(one(i), flag, alpha, many) for i, flag in each])

    def _wald(self, values: Array, V: Array, bounded: Any, alpha: float) -> Array:
        """Wald limits, (m, 2), of probabilities by log odds; all there is, of what is not known."""
        se, half = np.sqrt(np.maximum(np.diagonal(V), 0.0)), float(t_quantile(alpha, self.df))
        signs = half * np.array([[-1.0], [1.0]])
        with np.errstate(all="ignore"):
            odds = np.log(values / (1.0 - values)) + signs * se / (values * (1.0 - values))
            inner, plain = 1.0 / (1.0 + np.exp(-odds)), values + signs * se
        cut = np.where((values > 0.0) & (values < 1.0), inner, np.clip(plain, 0.0, 1.0))
        ends = np.where(bounded, cut, plain)
        none = np.where(bounded, [[0.0], [1.0]], [[-np.inf], [np.inf]])
        return np.where(np.isnan(se), none, ends).T

    def _profile(
        self, g: Callable[[Array], Any], bounded: Any, alpha: float, many: bool = False
    ) -> Bounds:
        """The profile set of a function of theta, see `inference.profiles.function_interval`."""

        def turn(theta: Array) -> Array:
            return slopes_of(g, theta, many)

        slope = turn(self.theta)
        if np.abs(turn(self.law.inside(self.theta))).max(initial=0.0) < 1e-12:  # a constant
            return (float(np.real(g(self.theta))),) * 2
        if self._left_open(g, many)[0]:
            return (0.0, 1.0) if bounded else (-np.inf, np.inf)
        infinite = not bounded and bool(_moves(slope, self.flat)[0])
        z = float(t_quantile(alpha, self.df))
        if self.cov_type != "observed":
            own, usual = (slope[0] @ V @ slope[0] for V in (self.covariance, self.inverse))
            z *= float(np.sqrt(own / usual)) if usual > 0.0 else 1.0
        return function_interval(self._surface, g, turn, z, bool(bounded), infinite)

    @cached_property
    def _surface(self) -> Surface:
        model, inside = self.model._with(law=self.law), self.law.inside(self.theta, 7.0)
        how = model.evaluate, model._tilted, inside
        return Surface(self.theta, self.llf, self.inverse, self.nobs, *how)

    # -- tables and effects --------------------------------------------------------------------

    def _p(self, theta: Array) -> Array:
        return self.law.cells(theta, self.model.reports).reshape(self.model.reports.sizes)

    @property
    def table(self) -> pd.Series[float]:
        """Probabilities of all cells; with covariates the mean over the respondents."""
        index = pd.MultiIndex.from_product(
            list(self.model.questions.values()), names=self.model.names
        )
        return pd.Series(self._p(self.theta).reshape(-1), index=index, name="probability")

    @names_alpha
    def margin(self, *names: str, alpha: float = 0.05, method: str = "delta") -> pd.DataFrame:
        """The law of some of the questions, with standard errors and intervals.

        Parameters
        ----------
        *names : str
            Questions, in the order of the rows.
        alpha : float
        method : {"delta", "profile"}

        Returns
        -------
        DataFrame
            Columns "estimate", "std_error", "lower" and "upper".
        """
        names = tuple(names[0]) if len(names) == 1 and isinstance(names[0], list | tuple) else names
        return self._effects(self._places("names", names), False, alpha, method)

    @names_alpha
    def conditional(
        self, name: str, given: str | Sequence[str], alpha: float = 0.05, method: str = "delta"
    ) -> pd.DataFrame:
        """The law of one question given the answers to others, see `margin`."""
        others = [given] if isinstance(given, str) else given
        at = [*self._places("given", others), *self._places("name", [name])]
        if len(set(at)) < len(at):
            raise InvalidArgument("name", name, "must be another question than those of given")
        return self._effects(at, True, alpha, method)

    def _places(self, argument: str, names: object) -> list[int]:
        known = self.model.names
        questions = f"must be different questions, of {', '.join(known)}"
        at = [
            known.index(one_of(argument, name, known))
            for name in listed(argument, names, questions)
        ]
        if not at or len(set(at)) < len(at):
            raise InvalidArgument(argument, names, questions)
        return at

    def _effects(self, at: list[int], given: bool, alpha: float, method: str) -> pd.DataFrame:
        """The law of some questions, or of the last `given` the answers to the others."""
        alpha, method = level(alpha), one_of("method", method, ("delta", "profile"))
        names = [self.model.names[j] for j in at]
        rest = tuple(j for j in range(len(self.model.names)) if j not in at)
        order = np.argsort(np.argsort(at)).tolist()

        def law(theta: Array) -> Array:
            p = self._p(theta).sum(axis=rest).transpose(order)
            p = p / p.sum(axis=-1, keepdims=True) if given else p
            return np.asarray(p.reshape(-1))

        values, V = self._delta(law)
        bounded = np.ones(len(values), dtype=bool)
        if method == "delta":
            ends = self._wald(values, V, bounded, alpha)
        else:
            ends = self._profiles(law, bounded, alpha)
        index = pd.MultiIndex.from_product(
            [self.model.questions[name] for name in names], names=names
        )
        table = np.column_stack([values, np.sqrt(np.maximum(np.diagonal(V), 0.0)), ends])
        return pd.DataFrame(table, index=index, columns=["estimate", "std_error", "lower", "upper"])

    @names_alpha
    def effect(self, g: Any, alpha: float = 0.05, method: str = "profile") -> Effect:
        """A function of the probabilities of the cells, with its standard error and interval.

        Parameters
        ----------
        g : callable, or mapping from question to answer
            Takes the probabilities of the cells, an axis a question, and returns a number; or whose
            share it is.
        alpha : float
        method : {"profile", "delta"}

        Examples
        --------
        >>> import ldpstats as ldp
        >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=2.0)
        >>> a = rng.choice(["no", "yes"], 2000)
        >>> reports = [krr.privatize(a, rng), krr.privatize(a, rng)]
        >>> results = ldp.CellModel(reports, ldp.cells.saturated(), names=["a", "b"]).fit()
        >>> results.effect(lambda p: p[0, 0] + p[1, 1]).estimate > 0.9
        True
        """
        alpha, method = level(alpha), one_of("method", method, ("profile", "delta"))

        known = list(self.model.names)
        cell: list[Any] = [slice(None)] * len(known)
        if isinstance(g, Mapping):  # the share of these answers
            for j, (name, answer) in zip(self._places("g", [*g]), g.items(), strict=True):
                labels = self.model.questions[name]
                if answer not in labels:
                    remedy = f"is no answer to {name!r}: they are {', '.join(map(str, labels))}"
                    raise InvalidArgument("g", answer, remedy)
                cell[j] = labels.get_loc(answer)
        elif not callable(g):
            remedy = "must be a function of the probabilities of the cells, or a mapping"
            raise InvalidArgument("g", g, remedy)

        def f(theta: Array) -> Any:
            p = self._p(theta)
            return g(p) if callable(g) else p[tuple(cell)].sum()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ComplexWarning)  # of float() in g: differences, then
            try:
                value = np.asarray(f(self.theta), dtype=np.float64)
            except Exception as error:
                remedy = f"fails on probabilities with the axes {', '.join(known)} ({error})"
                raise InvalidArgument("g", g, remedy) from None
            if value.ndim or not np.isfinite(value):
                raise InvalidArgument("g", value, "must return one number")
            slope = slopes_of(f, self.theta)
        if self._left_open(f)[0]:
            raise NotIdentified(
                "the reports do not determine this effect, as other values fit as well: ask more "
                "questions of a person, or assume more"
            )
        at, V = float(value), slope @ self.covariance @ slope.T
        se = float(np.sqrt(V[0, 0]))
        low, high = self._wald(value[None], V, False, alpha)[0].tolist()
        if method == "profile":
            low, high = self._profile(f, False, alpha)
        return Effect("effect", at, low, high, alpha, message=f"standard error {se:.4g}", ml=at)

    # -- tests ---------------------------------------------------------------------------------

    def lr_test(
        self,
        other: CellResults,
        n_boot: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> TestResult:
        """Likelihood ratio test of this law against a larger one of the same reports.

        Parameters
        ----------
        other : CellResults
            Of a structure that this one is a special case of.
        n_boot : int, optional
            Surveys to simulate from this law; needed for numbers of classes, whose ratio has no
            chi-square law.
        rng : numpy.random.Generator, optional
            Needed with `n_boot`.
        """
        if not isinstance(other, CellResults) or other.model.names != self.model.names:
            raise InvalidArgument("other", other, "must be results of the same questions")
        mine, theirs = (
            pd.DataFrame(one.index).assign(n=one.n).groupby([*range(one.index.shape[1])]).n.sum()
            for one in (self.model.reports, other.model.reports)  # whatever their covariates
        )
        if not mine.index.equals(theirs.index) or not np.allclose(mine, theirs):
            raise InvalidArgument("other", other, "must be results of the same reports")
        if {self.cov_type, other.cov_type} != {"observed"}:
            raise NotAvailable(
                "the likelihood ratio has no chi-square law with weights, designs and clusters: "
                "use wald_test of the larger structure"
            )
        df = other.law.size - self.law.size
        if df <= 0:
            remedy = f"must have more than {self.df_model} parameters: ask it the other way round"
            raise InvalidArgument("other", other, remedy)
        if other.llf < self.llf - 0.01:
            remedy = "has a smaller likelihood: it is no larger structure, or raise its n_starts"
            raise InvalidArgument("other", other, remedy)
        statistic = max(0.0, 2.0 * (other.llf - self.llf))
        null = f"{self.model._words}, against {other.model._words}"
        number = self._alone[0].n_classes, other._alone[0].n_classes
        if n_boot is None:
            if number[1] not in (0, number[0]):
                raise NotAvailable(
                    "the likelihood ratio of numbers of classes or hidden states, or of stayers, "
                    "has no chi-square law: pass n_boot=99 and rng="
                )
            p = float(chi2_pvalue(statistic, float(df)))
            return TestResult(null, statistic, float(df), p, "likelihood ratio test")
        surveys, rng = replicates("n_boot", n_boot, 19), checked_generator(rng)
        if other.model.reports.z.shape[1]:
            raise NotAvailable("surveys are simulated without covariates: leave n_boot= out")
        above, p_null = 0, np.real(self._p(self.theta))
        for _ in range(surveys):
            drawn = self.model.simulated(p_null, rng)
            wider = drawn._with(law=other.law, structure=other.model.structure)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                small = drawn.fit(start=self.theta) if self.theta.size else drawn.fit()
                large = wider.fit(n_starts=4, rng=rng, unidentified="keep")
            gain = 2.0 * (large.llf - small.llf)
            above += gain >= statistic
        how = f"likelihood ratio test, {surveys} simulated surveys"
        return TestResult(null, statistic, float(df), (1 + above) / (1 + surveys), how)

    def goodness_of_fit(self) -> TestResult:
        """Whether pairs of reports are as often seen together as the law says.

        The statistic compares how often every report, and every pair of reports to two questions,
        was seen with what is expected, as far as that is five or more; its covariance is that of
        the differences, less what the parameters were fitted to.
        """
        if self.tested is not None:
            return self.tested
        model, reports = self.model, self.model.reports
        if max(len(W) - 1 for W in reports.W) > _MOST_REPORTS:
            raise NotAvailable(
                f"goodness of fit compares reports of at most {_MOST_REPORTS} kinds a question"
            )
        if any(mech.n_cohorts for mech in model._every):
            raise NotAvailable("goodness of fit compares reports without cohorts")
        groups, at, n = [own.group for own in model._seen], reports.index, reports.n
        kinds = np.column_stack([group[col] for group, col in zip(groups, at.T, strict=True)])
        J = len(groups)
        # of every mechanism the reports but the first, which the others determine
        free = [np.flatnonzero((g >= 0) & (np.r_[-1, g[:-1]] == g)) for g in groups]
        asked: list[tuple[tuple[int, int], ...]] = []
        for some in [*((j,) for j in range(J)), *combinations(range(J), 2)]:
            asked += [
                tuple(zip(some, y, strict=True)) for y in product(*(free[j].tolist() for j in some))
            ]
        gaps, slopes, none = [], [], [len(W) - 1 for W in reports.W]
        rows = len(n) if reports.z.size else 1  # of covariates

        def alone(features: Sequence[Any]) -> CellReports:
            """These reports and no others, for every value of the covariates."""
            index = np.tile(none, (len(features), rows, 1))
            for own, feature in zip(index, features, strict=True):
                for j, y in feature:
                    own[:, j] = y
            z = np.tile(reports.z[:rows], (len(features), 1))
            return replace(reports, index=index.reshape(-1, J), n=np.ones(len(z)), z=z)

        step = max(1, _TOGETHER // rows)
        for start in range(0, len(asked), step):
            block, kept = asked[start : start + step], []
            laws = self.law.mix(alone(block), self.theta).reshape(-1, rows)
            for feature, law in zip(block, laws, strict=True):
                there = np.all([kinds[:, j] == groups[j][y] for j, y in feature], axis=0)
                seen = np.all([at[:, j] == y for j, y in feature], axis=0)
                if float((n * law) @ there) >= 5.0:
                    gaps.append(there * (seen - law))
                    kept.append((feature, n * there, law))
            if not kept:
                continue
            S = self.law.scores(alone([feature for feature, _, _ in kept]), self.theta)
            for (_, weight, law), own in zip(
                kept, S.reshape(-1, rows, self.theta.size), strict=True
            ):
                slopes.append(weight @ np.broadcast_to(law[:, None] * own, (len(n), own.shape[1])))
        if len(gaps) > self.nobs / _EACH:
            raise NotAvailable(
                f"{len(gaps)} pairs of reports are too many to compare for {self.nobs} respondents"
            )
        if not gaps:
            raise NotAvailable("no report is expected five times: there is nothing to compare")
        T = np.stack(gaps, axis=1)
        scale = np.sqrt(np.maximum(n @ T**2, 1e-300))
        T, turn = T / scale, np.stack(slopes) / scale[:, None]
        total = n @ T
        V = model._meat(T, self.cov_type)
        size, axes = np.linalg.eigh(V)
        kept = size > 1e-8 * size.max(initial=0.0)
        whiten = axes[:, kept] / np.sqrt(size[kept])
        e, D = whiten.T @ total, whiten.T @ turn
        U, s, _ = np.linalg.svd(D / np.sqrt(np.maximum((D**2).sum(axis=0), 1e-300)))
        left = U[:, int((s > _FLAT * s.max(initial=0.0)).sum()) :]  # what no parameter changes
        df = left.shape[1]
        if df <= 0:
            raise NotAvailable("the law has as many parameters as there are pairs: nothing is left")
        statistic = float(((e @ left) ** 2).sum())
        null = f"{model._words}: the law of pairs of reports"
        p = float(chi2_pvalue(statistic, float(df)))
        return TestResult(null, statistic, float(df), p, "score test on margins of pairs")

    @property
    def class_shares(self) -> pd.Series[float]:
        """Shares of the latent classes; with covariates the mean over the respondents."""
        law, reports, theta = self._alone
        if not isinstance(law, LatentClassLaw):
            raise NotAvailable(f"{self.model.structure} has no classes")
        index = [f"class {c + 1}" for c in range(law.n_classes)]
        return pd.Series(law.shares(theta, reports), index=index, name="share")

    def posterior_classes(self) -> pd.DataFrame:
        """Beliefs about the class of a respondent, for each joint report that was seen.

        They are beliefs about persons, from what they reported and the estimated law: what
        privatisation leaves of it. They are no measurement of a person.

        Raises
        ------
        NotAvailable
            For structures without classes.
        """
        (law, known, theta), model, reports = self._alone, self.model, self.model.reports
        if not isinstance(law, LatentClassLaw):
            raise NotAvailable(f"{model.structure} has no classes")
        labels = [
            pd.Series([own.shown[i] for i in column.tolist()], name=name, dtype=object)
            for name, column, own in zip(model.names, reports.index.T, model._seen, strict=True)
        ]
        for (name, (sd, mean)), column in zip(model._spread.items(), reports.z.T, strict=True):
            labels.append(pd.Series(((column + mean) * sd).round(9), name=name))
        beliefs = law.posterior(known, theta)
        index = pd.MultiIndex.from_frame(pd.concat(labels, axis=1))
        columns = [f"class {c + 1}" for c in range(beliefs.shape[1])]
        frame = pd.DataFrame(beliefs, index=index, columns=columns)
        whole = model._facts is None
        return Table(frame.assign(respondents=reports.n.astype(int) if whole else reports.n))

    # -- presentation --------------------------------------------------------------------------

    @property
    def is_partial(self) -> bool:
        """Whether some mechanism protects only some answers."""
        return is_partial([mech.to_dict() for mech in self.model._every])

    @cached_property
    def epsilon(self) -> float:
        """The largest that a respondent spent on these questions, in nats; infinite without any."""
        model, total = self.model, [*map(np.asarray, self.model._together)]
        columns = zip(model.mechanisms, model._seen, model.reports.index.T, strict=True)
        for own, seen, at in columns:
            if seen.kept is None and not all(isinstance(mech, Observed) for mech in own):
                each = np.array([*(mech.epsilon for mech in own), 0.0])  # the last of none
                total.append(each[seen.group[at]])
        return float(np.max(sum(total))) if total else np.inf

    def _stored(self) -> dict[str, Any]:
        return written(replace(self, tested=self._goodness))

    @cached_property
    def _goodness(self) -> TestResult | None:
        try:
            return self.goodness_of_fit()
        except NotAvailable:
            return None

    def _facts(self) -> dict[str, Any]:
        model, rest = self.model, ("df_model", "llf", "aic", "bic", "n_maxima", "converged")
        return {
            "name": ", ".join(model.names),
            "method": model._words,
            "epsilon": self.epsilon,
            "nobs": self.nobs,
            "n_missing": model.n_missing,
            **{key: getattr(self, key) for key in rest},
        }

    @property
    def _subject(self) -> str:
        return " x ".join(self.model.names)

    def _short(self, names: Iterable[object]) -> list[str]:
        """Names of parameters in which those of long questions are shortened, answers are not."""
        known = self.model.names
        short = dict(zip(known, distinct_lines(known, 24), strict=True))
        shown = []
        for text in map(str, names):
            own = max((one for one in known if text.startswith(one)), key=len, default="")
            shown.append(short[own] + text[len(own) :] if own else text)
        return shown

    def _body(
        self, shown: pd.DataFrame, heads: list[str], cells: list[list[str]]
    ) -> tuple[list[str], list[str], list[list[str]]]:
        return heads, distinct_lines(self._short(shown.index), 2 * LONGEST_LABEL), cells

    def _estimate_cells(
        self, shown: pd.DataFrame, frame: pd.DataFrame, alpha: float, details: bool
    ) -> tuple[list[str], list[list[str]], str]:
        values = shown[["estimate", "std_error", "lower", "upper"]].to_numpy(float)
        heads = ["estimate", "std err", *interval_columns(alpha)]
        return heads, [figures(row, 4) for row in values], ""

    def _heading(self) -> tuple[str, list[Pair], list[Pair]]:
        model = self.model
        left: list[Pair] = [("Respondents:", self.nobs), ("Questions:", len(model.names))]
        right: list[Pair] = [
            ("Epsilon, a person (nats):", self.epsilon),
            ("Parameters:", self.df_model),
            ("Covariance:", self.cov_type),
        ]
        if (facts := model._facts) is None:
            fit = {"Log-likelihood:": self.llf, "AIC:": self.aic, "BIC:": self.bic}
            right += [(name, f"{value:.2f}") for name, value in fit.items()]
        else:
            right += [("Design:", facts.design), ("Degrees of freedom:", f"{self.df:g}")]
        return f"{model._words} of {in_turn(list(model.names))}", left, right

    def _questions(self) -> list[list[str]]:
        model, rows = self.model, [["", "mechanism", "answered"]]
        for name, own, n in zip(model.names, model.mechanisms, model.answered, strict=True):
            mechs = str(own[0]) if len(own) == 1 else f"{len(own)} mechanisms"
            rows.append([one_line(name, 24), mechs, str(n)])
        return rows

    def _interval_notes(
        self, frame: pd.DataFrame, uncut: pd.DataFrame, alpha: float, source: str
    ) -> list[str]:
        scaled = "" if self.cov_type == "observed" else ", scaled to the sandwich"
        if self.default_intervals == "wald":
            return [f"Intervals: {100 * (1 - alpha):.4g}% Wald."]
        return [f"Intervals: {100 * (1 - alpha):.4g}% profile likelihood{scaled}."]

    def _notes(self, frame: pd.DataFrame, details: bool = False) -> list[str]:
        model, notes = self.model, []
        if isinstance(self.law, Simplex):
            notes.append(
                f"Certificate: no distribution is likelier by {self.gap:.1e} nats a report."
            )
            if (zeros := len(self.index) - self.df_model - 1) > 0:
                notes.append(
                    f"NOTE: {zeros} cells are estimated as zero, and have no standard error; the "
                    "intervals of the others may cover a little less."
                )
        else:
            reached, tried = self.reached
            notes.append(f"Maximum: reached from {reached} of {tried} starts.")
            if self.n_maxima > 1:
                behind = self.maxima[0] - self.maxima[1]
                notes.append(
                    f"NOTE: {self.n_maxima} maxima; the second is {behind:.2f} nats lower."
                )
        law, reports, theta = self._alone
        notes += law.remarks(theta, reports)
        if isinstance(self.law, WithDevices) and model.parameters:
            mean = np.average(self.law.values(self.theta, model.reports.z), 0, model.reports.n)
            for name, share in zip(self.law.parameters, mean.tolist(), strict=True):
                if name in model.parameters:
                    notes.append(
                        f"{name}: a probability whose log odds are linear in the covariates; its "
                        f"mean over the respondents is {share:.3f}."
                    )
        if not self.converged:
            notes.append("WARNING: no start reached a maximum.")
        lower, upper = frame["lower"], frame["upper"]
        none = np.isinf(lower) & np.isinf(upper)
        whole = np.where(self.law.bounded, (lower <= 0.0) & (upper >= 1.0), none)
        if open_ := [str(name) for name in frame.index[whole]]:
            notes.append(f"WARNING: not identified by the reports: {in_turn(open_)}.")
        if (frame["std_error"].isna() & ~whole).any() and not isinstance(self.law, Simplex):
            notes.append(
                "No std err: on a bound, or infinite; intervals keep their coverage there."
            )
        if min(model.answered) < self.nobs:
            notes.append("Respondents with unanswered questions are kept.")
        if (test := self._goodness) is None:
            return notes
        sign = "WARNING" if test.pvalue < DOUBTFUL else "Goodness of fit"
        notes.append(
            f"{sign}: observed against expected pairs of reports, chi-square {test.statistic:.1f}, "
            f"df {test.df:g}, {pvalue_text(test.pvalue, 'p')}."
        )
        return notes

    @names_alpha
    def plot(
        self,
        kind: str | None = None,
        alpha: float = 0.05,
        ax: Any = None,
        title: str | None = None,
    ) -> Any:
        """Draw the parameters.

        Parameters
        ----------
        kind : {"profiles", "heatmap", "curves", "estimates"}, optional
            "profiles": the answers of each latent class as a line with intervals, the default of
            latent classes; "heatmap": the same as colours. "curves": the probability of a yes to
            each item by ability, the default of item models. "estimates": all parameters with their
            intervals, the default of others.
        alpha : float
            One minus the coverage of the intervals.
        ax : matplotlib Axes, optional
        title : str, optional

        Returns
        -------
        matplotlib Axes
        """
        alpha, law = level(alpha), self._alone[0]
        kinds = {LatentClassLaw: ("profiles", "heatmap"), ItemLaw: ("curves",)}
        known = (*kinds.get(type(law), ()), "estimates")
        kind = known[0] if kind is None else one_of("kind", kind, known)
        words = title_text(title, self._heading()[0])
        frame = self.summary_frame(alpha)
        if kind == "estimates":
            return draw_estimates(frame, "parameter", alpha, 40, ax, words)
        if isinstance(law, ItemLaw):
            return plot_curves(law.curves(self.theta), self.model.names, ax, words)
        assert isinstance(law, LatentClassLaw)
        answers = frame[[" | class " in str(name) for name in frame.index]]
        pairs = [tuple(name.rsplit(" | ", 1)) for name in self._short(answers.index)]
        answers.index = pd.MultiIndex.from_tuples(pairs)
        shares = self.class_shares.items()
        called = {str(c): f"{c} ({100 * share:.0f}%)" for c, share in shares}
        if kind == "profiles":
            return plot_class_lines(answers, called, alpha, ax, words)
        table = answers["params"].unstack()[[*called]].reindex(answers.index.unique(level=0))
        texts = [[f"{100 * value:.0f}%" for value in table.to_numpy().flat]]
        labels = list(map(str, table.index)), list(called.values())
        bar = "probability of the answer"
        return plot_cells(table.to_numpy(), labels, texts, ax, words, ("", ""), bar)


def _moves(G: Array, axes: Array) -> npt.NDArray[np.bool_]:
    """Functions with slopes G, (m, d), that change along some of the axes, (d, r)."""
    size = np.abs(G).max(axis=1, initial=0.0)
    moved = np.abs(G @ axes) > 1e-3 * size[:, None]
    return np.asarray(moved.any(axis=1) & (size > 1e-7))
