"""PyMC: its No-U-Turn sampler for our posteriors, and our likelihoods inside its models.

Frequencies with a Dirichlet prior are a model of PyMC's own distributions and of our likelihood.
Other posteriors enter as they are, value and gradient, in the coordinates in which their Laplace
approximation is standard normal. Groups of reports are observed as counts of listed reports where
these are few, else one by one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, did_you_mean, numbers, probability, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.chains import Chains, LogDensity, floored_eigen
from ldpstats.labels import Labels, align
from ldpstats.likelihood.rows import DenseRows, Likelihood, Rows, UniformRows, dense_if_small
from ldpstats.mechanisms.base import Mechanism, common_labels
from ldpstats.models.posterior.densities import FrequencyDensity
from ldpstats.models.posterior.evidence import package
from ldpstats.priors import DirichletLaw
from ldpstats.reports.layout import BitFormat
from ldpstats.reports.single import BitCounts, Counts, Reports, not_reports
from ldpstats.sampling.samplers import simulation_words

_NEED = "engine='pymc'"
_CHAINS, _WARMUP = 4, 1000


def pymc_chains(density: LogDensity, rng: np.random.Generator, draws: int) -> Chains:
    """Draw from a posterior by PyMC's sampler, in 4 chains of 1,000 iterations of warm-up."""
    pymc = package("pymc", _NEED)
    if not isinstance(density, FrequencyDensity) or not isinstance(density.prior, DirichletLaw):
        return density_chains(density, rng, draws)
    with pymc.Model() as model:
        p = pymc.Dirichlet("p", density.prior.alpha)
        m = mixed(density.likelihood.W, p)
        pymc.Potential("reports", (density.likelihood.n * pymc.math.log(m)).sum())
    return _run(model, rng, draws, "p", density.coordinates)


def density_chains(density: LogDensity, rng: np.random.Generator, draws: int) -> Chains:
    """Draw from any log density, in coordinates u: ``z = mode + scale u``, nearly normal."""
    pymc = package("pymc", _NEED)
    centre = np.asarray(density.mode(), dtype=np.float64)
    values, vectors = floored_eigen(density.curvature(centre))
    scale = vectors / np.sqrt(values)

    def evaluate(z: Array) -> tuple[Array, Array]:
        (value,), (gradient,) = density.evaluate(z[None])
        return value, gradient

    with pymc.Model() as model:
        u = pymc.Flat("u", shape=density.size)
        known = computed(density, evaluate, ((), (density.size,)), lambda op, z, v: v * op(z)[1])
        value, _ = known(pymc.math.dot(scale, u) + centre)
        pymc.Potential("log_density", value)
    return _run(model, rng, draws, "u", lambda u: u @ scale.T + centre)


def computed(
    key: Any,
    function: Callable[[Array], tuple[Array, ...]],
    shapes: tuple[tuple[int, ...], ...],
    back: Callable[[Any, Any, Any], Any],
) -> Any:
    """An Op of PyTensor: numbers of these shapes, computed by a function of one vector.

    Two of the same `key` are equal. `back` takes the Op, its input and the derivative by the first
    of its outputs, and gives that by the input.
    """
    return _op()(key, function, shapes, back)


@cache
def _op() -> Any:
    """The class behind `computed`, which needs PyTensor, and is made when that is imported."""
    from pytensor import tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class Computed(Op):  # type: ignore[misc]
        def __init__(self, key: Any, function: Any, shapes: Any, back: Any) -> None:
            self.key, self.function, self.shapes, self.back = key, function, shapes, back

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Computed) and self.key == other.key

        def __hash__(self) -> int:
            return hash((Computed, self.key))

        def make_node(self, vector: Any) -> Any:
            operand = pt.cast(pt.as_tensor_variable(vector), "float64")
            found = [pt.tensor(dtype="float64", shape=shape) for shape in self.shapes]
            return Apply(self, [operand], found)

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            for output, values in zip(outputs, self.function(inputs[0]), strict=True):
                output[0] = np.asarray(values, dtype=np.float64)

        def grad(self, inputs: Any, gradients: Any) -> Any:
            return [self.back(self, inputs[0], gradients[0])]

        def infer_shape(self, graph: Any, node: Any, shapes: Any) -> Any:
            return [tuple(map(pt.constant, shape)) for shape in self.shapes]

    return Computed


def _run(
    model: Any, rng: np.random.Generator, draws: int, name: str, back: Callable[[Array], Array]
) -> Chains:
    """The chains of a model, in this process; z are what `back` makes of a variable's draws."""
    logger = logging.getLogger("pymc")
    seed = int(rng.integers(2**31))
    how = {"draws": ceil(draws / _CHAINS), "tune": _WARMUP, "chains": _CHAINS, "cores": 1}
    how |= {"progressbar": False, "return_inferencedata": False, "random_seed": seed}
    level = logger.level
    logger.setLevel(logging.ERROR)  # PyMC says nothing of its chains: the results do
    try:
        pymc = package("pymc", _NEED)
        trace = pymc.sample(model=model, compute_convergence_checks=False, **how)
    finally:
        logger.setLevel(level)
    kept = "mean_tree_accept", "diverging", "step_size"
    accepted, divergent, step_size = map(trace.get_sampler_stats, kept)
    z = back(np.stack(trace.get_values(name, combine=False)))
    return Chains(
        z, float(np.mean(accepted)), int(np.sum(divergent)), float(np.mean(step_size)), _WARMUP
    )


# -- privatised reports as observed variables of a PyMC model -------------------------------------


_OBSERVE = "ldpstats.pymc.observe"
_ORDER = (
    "has a row for each respondent, so that their order counts: pass Reports, which keep it, and "
    "not Counts"
)


def observed(
    name: str, p: Any, reports: Any, candidates: Any = None, parameters: Any = None
) -> Any:
    """Add the likelihood of reports to the model that is being written: see `pymc.observe`."""
    pymc = package("pymc", _OBSERVE)
    several = isinstance(reports, list | tuple)
    groups = _groups(reports, candidates)
    tensor = _frequencies(p, groups[0].labels)
    values = _parameters(parameters, groups)
    if not isinstance(name, str) or not name:
        raise InvalidArgument("name", name, "must be text: the name of the reports in the model")
    try:
        model = pymc.modelcontext(None)
    except TypeError:
        remedy = f"{_OBSERVE} is called inside a model: with pymc.Model(): ..."
        raise NotAvailable(remedy) from None
    names = [f"{name}_{i}" for i in range(len(groups))] if several else [name]
    for one in names:
        in_model = model.name_for(one)
        if in_model in model.named_vars:
            raise InvalidArgument("name", name, f"the model has a variable {one!r} already")
        if taken := {f"{in_model}_cohort", f"{in_model}_report"} & set(model.coords):
            remedy = f"the model has a dimension {taken.pop()!r} already"
            raise InvalidArgument("name", name, remedy)
    tensors = [tensor] * len(groups)
    if tensor.ndim == 2:  # the rows of p that belong to each group
        if not all(hasattr(group.data, "ids") for group in groups):  # Reports, not Counts
            raise InvalidArgument("p", f"tensor of shape {tensor.type.shape}", _ORDER)
        ends = np.cumsum([0] + [group.size for group in groups])
        if tensor.type.shape[0] not in (None, ends[-1]):
            missing = sum(group.data.n_missing for group in groups)
            remedy = f"must have a row for each of the {ends[-1]} reports"
            remedy += f", none for the {missing} who gave no answer" if missing else ""
            raise InvalidArgument("p", f"tensor of shape {tensor.type.shape}", remedy)
        whole = _of_shape(tensor, 0, int(ends[-1]))
        tensors = [whole[a:b] for a, b in pairwise(ends)]
    variables = [_variable(*one, values) for one in zip(names, tensors, groups, strict=True)]
    return tuple(variables) if several else variables[0]


def _variable(name: str, p: Any, group: Group, parameters: dict[str, Any]) -> Any:
    """The observed variable of a group of reports; p is of shape (k,) or (n, k)."""
    mechanism = group.mechanism
    if not mechanism.unknown:
        if p.ndim == 2 or not group.is_listed:
            return _each(name, p, group)
        # one of each possible report, cohort by cohort
        cohorts, y = mechanism.n_cohorts, np.arange(group.n_listed)
        cohort = np.repeat(np.arange(cohorts), group.n_listed) if cohorts else None
        W = group.likelihood(group.coded(np.tile(y, max(cohorts, 1))), cohort).W
        law, scale = mixed(W, p), np.exp(W.log_scale)
        return _counted(name, law if np.all(scale == 1.0) else law * scale, group)
    from pytensor import tensor as pt

    unknown = list(mechanism.unknown)
    matrix = mechanism.polynomials(unknown)
    law = 0.0  # p Q(theta), (..., l)
    for powers, Q in zip(matrix.exponents, matrix.coefficients, strict=True):
        factors = [parameters[one] ** int(e) for one, e in zip(unknown, powers, strict=True) if e]
        term = pt.dot(p, np.ascontiguousarray(Q))
        for factor in factors:
            term = term * factor
        law = law + term
    if p.ndim == 1:
        return _counted(name, law, group)
    codes = group.shown(group.each[0])
    return package("pymc", _OBSERVE).Categorical(name, p=law, observed=codes)


def _frequencies(p: Any, labels: Labels) -> Any:
    """p as a tensor of shape (k,) or (n, k)."""
    package("pytensor", _OBSERVE)
    from pytensor import tensor as pt
    from pytensor.graph.basic import Variable

    k = len(labels)
    remedy = f"must be a tensor or numbers: {k} frequencies, or a row of them for each respondent"
    if isinstance(p, Variable):
        tensor = p
        if not str(getattr(p, "dtype", "")).startswith(("float", "int")):
            raise InvalidArgument("p", str(p), remedy)
    else:
        if isinstance(p, pd.DataFrame):  # a column for each category
            places = align("p", pd.Series(np.arange(p.shape[1]), p.columns), labels)
            p = p.to_numpy()[:, places]
        known = numbers("p", align("p", p, labels), remedy)
        if not np.all(known >= 0.0):  # nor nan
            raise InvalidArgument("p", known, f"{remedy}, none below zero")
        if known.ndim and known.shape[-1] == k:
            _sums(known)
        tensor = pt.as_tensor_variable(known)
    if tensor.ndim not in (1, 2) or tensor.type.shape[-1] not in (None, k):
        raise InvalidArgument("p", f"tensor of shape {tensor.type.shape}", remedy)
    return _of_shape(pt.cast(tensor, "float64"), -1, k)


def _sums(law: Array) -> Array:
    """The sums of probabilities, which are one but for rounding."""
    total = law.sum(axis=-1, keepdims=True)
    away = np.abs(total - 1.0)
    if not np.all(away < 1e-6):
        raise InvalidArgument("p", float(total.flat[int(np.argmax(away))]), "must sum to one")
    return np.asarray(total)


def _of_shape(tensor: Any, axis: int, size: int) -> Any:
    """The tensor, which is refused when it is computed if the length of an axis is another."""
    from pytensor import tensor as pt

    shape: list[int | None] = [None] * tensor.ndim
    shape[axis] = size
    return pt.specify_shape(tensor, shape)


def _counted(name: str, law: Any, group: Group) -> Any:
    """Counts of all possible reports, whose probabilities are the tensor `law`."""
    from pytensor import tensor as pt

    pymc = package("pymc", _OBSERVE)
    collected = group.data if isinstance(group.data, Counts) else group.data.tally()
    y = np.asarray(collected.y, dtype=np.int64)
    if group.mechanism.n_bits:
        y = (y << (8 * np.arange(y.shape[1]))).sum(axis=1)
    if collected.cohort is not None:
        y = y + collected.cohort * group.n_listed
    cohorts, n_listed = group.mechanism.n_cohorts, group.n_listed
    shape = (cohorts, n_listed) if cohorts else (n_listed,)
    counts = np.bincount(y, collected.n, int(np.prod(shape))).astype(np.int64).reshape(shape)
    outputs = group.mechanism.format.text(group.coded(np.arange(group.n_listed))).tolist()
    totals = counts.sum(axis=-1)
    model = pymc.modelcontext(None)
    dims = [f"{model.name_for(name)}_{what}" for what in ("cohort", "report")][2 - counts.ndim :]
    labels = [list(range(len(counts))), outputs][2 - counts.ndim :]
    model.add_coords(dict(zip(dims, labels, strict=True)))

    def logp(value: Any, law: Any) -> Any:
        seen = pt.gt(value, 0)  # 0 log 0 = 0
        terms = pt.switch(seen, value * pt.log(pt.switch(seen, law, 1.0)), 0.0)
        return terms.sum(axis=tuple(range(-counts.ndim, 0)))

    def random(law: Array, rng: Any = None, size: Any = None) -> Array:
        # the shape of numpy's draws: all that is in front of the reports of one law
        batch = None if size is None or not len(tuple(size)) else tuple(size)
        if batch is not None and counts.ndim == 2:
            batch = (*batch, law.shape[-2])
        return np.asarray(rng.multinomial(totals, law / _sums(law), batch))

    core = "(c,l)" if counts.ndim == 2 else "(l)"
    how = {"logp": logp, "random": random, "signature": f"{core}->{core}", "dtype": "int64"}
    return pymc.CustomDist(name, law.reshape(shape), **how, dims=dims, observed=counts)


def _each(name: str, p: Any, group: Group) -> Any:
    """Reports one by one, with the log-likelihood of each; p is of shape (k,) or (n, k)."""
    from pytensor import tensor as pt
    from pytensor.graph.basic import Constant

    mechanism, (y, cohort) = group.mechanism, group.each
    values, labels, n = group.shown(y), group.labels, group.size
    W = group.likelihood(y, cohort).W

    def logp(value: Any, p: Any, *width: Any) -> Any:
        if not (isinstance(value, Constant) and np.array_equal(value.data, values)):
            raise NotAvailable(f"{_OBSERVE}: the log-likelihood is that of the reports observed")
        if p.ndim == 1:
            m = mixed(W, p)
        elif isinstance(W, UniformRows):  # sum_x W[i, x] p[i, x]
            m = W.a * p[np.arange(W.codes.size), W.codes] + W.background * p.sum(axis=-1)
        else:
            m = (W.dense() * p).sum(axis=-1)
        return pt.log(m) + W.log_scale

    def random(p: Array, *width: Any, rng: Any = None, size: Any = None) -> Array:
        law = np.cumsum(np.broadcast_to(p / _sums(p), (n, p.shape[-1])), axis=1)
        codes = (rng.random((n, 1)) * law[:, -1:] >= law).sum(axis=1)
        if cohort is None:
            return group.shown(mechanism.sample(codes, simulation_words(rng)))
        return group.shown(mechanism.privatize(labels.take(codes), rng, cohort=cohort).y)

    bits = (np.zeros(values.shape[1]),) if values.ndim == 2 else ()  # they say how many
    how: dict[str, Any] = {"logp": logp, "random": random}
    how |= {"signature": "(k),(b)->(b)" if bits else "(k)->()"}
    how |= {"dtype": str(values.dtype), "shape": values.shape}
    return package("pymc", _OBSERVE).CustomDist(name, p, *bits, **how, observed=values)


def _parameters(parameters: Any, groups: list[Group]) -> dict[str, Any]:
    """A tensor or number for each unknown parameter of the devices."""
    from pytensor import tensor as pt
    from pytensor.graph.basic import Variable

    unknown = sorted({name for group in groups for name in group.mechanism.unknown})
    if isinstance(parameters, pd.Series):
        parameters = parameters.to_dict()
    if parameters is None:
        parameters = {}
    remedy = "must be a dictionary {name: tensor}"
    remedy += f" of {', '.join(unknown)}" if unknown else ": these devices have no unknown one"
    if not isinstance(parameters, Mapping):
        raise InvalidArgument("parameters", parameters, remedy)
    for name in parameters:
        if name not in unknown:
            hint = did_you_mean(name, unknown) if isinstance(name, str) else ""
            raise InvalidArgument("parameters", name, f"{remedy}{hint}")
    lacking = [name for name in unknown if name not in parameters]
    if lacking:
        raise InvalidArgument("parameters", None, f"must give {lacking[0]!r}: {remedy}")
    tensors = {}
    for name in unknown:
        value, argument = parameters[name], f"parameters[{name!r}]"
        if not isinstance(value, Variable):
            value = pt.as_tensor_variable(probability(argument, value))
        elif getattr(value, "ndim", None) != 0:
            raise InvalidArgument(argument, str(value), "must be a single number")
        tensors[name] = value
    return tensors


# -- groups of reports ----------------------------------------------------------------------------


Data = Reports | Counts

_MOST_LISTED = 1 << 18  # reports of all cohorts whose probabilities are computed together
_WIDEST_LISTED = 10  # bits of a report up to which its patterns are listed
_NO_LIKELIHOOD = (
    "sums of bits have no likelihood: pass the reports themselves, or their tally() without "
    "bits=True"
)


@record
class Group:
    """Reports of one mechanism, and their candidates as for `FrequencyModel`."""

    data: Data
    candidates: Any = None

    @property
    def mechanism(self) -> Any:
        """The mechanism that made the reports."""
        return self.data.mechanism

    @property
    def labels(self) -> Labels:
        """Categories or candidates that p belongs to."""
        labels: Labels = self.mechanism.labels(self.candidates)
        return labels

    @property
    def size(self) -> int:
        """Number of reports."""
        return self.data.nobs if isinstance(self.data, Counts) else len(self.data)

    @property
    def n_listed(self) -> int:
        """Number of different reports of a cohort."""
        bits = self.mechanism.n_bits
        return int(2**bits) if bits else int(self.mechanism.n_outputs)

    @property
    def is_listed(self) -> bool:
        """Whether the law of all possible reports is quickly computed."""
        bits = self.mechanism.n_bits
        plain = bits <= _WIDEST_LISTED and type(self.mechanism.format) is BitFormat
        listed = self.n_listed * max(self.mechanism.n_cohorts, 1)
        return (not bits or plain) and listed <= _MOST_LISTED

    def coded(self, numbers: Array) -> Array:
        """Possible reports in the form of `Reports.y`, by their numbers."""
        if not self.mechanism.n_bits:
            return numbers
        width = -(-self.mechanism.n_bits // 8)
        return np.asarray(numbers[:, None] >> (8 * np.arange(width)) & 255, dtype=np.uint8)

    @property
    def each(self) -> tuple[Array, Array | None]:
        """The reports one by one and their cohorts, in the form of `Reports`."""
        y, cohort = self.data.y, self.data.cohort
        if isinstance(self.data, Counts):
            y = np.repeat(y, self.data.n, axis=0)
            cohort = None if cohort is None else np.repeat(cohort, self.data.n)
        return y, cohort

    def likelihood(self, y: Array, cohort: Array | None) -> Likelihood:
        counts = Counts(y, np.ones(len(y), dtype=np.int64), self.mechanism, cohort=cohort)
        likelihood: Likelihood = self.mechanism.likelihood(counts, self.candidates)
        return likelihood

    def shown(self, y: Array) -> Array:
        """Reports as a model holds them: numbers of labels, (n,), or bits, (n, b)."""
        if self.mechanism.n_bits:
            return np.asarray(self.mechanism.format.unpack(y), dtype=np.int8)
        return np.asarray(y, dtype=np.int64)


def _groups(reports: object, candidates: Any) -> list[Group]:
    """The groups of reports of one variable, all with the same categories."""
    given: list[Any] = list(reports) if isinstance(reports, list | tuple) else [reports]
    for one in given:
        if isinstance(one, BitCounts):
            raise NotAvailable(_NO_LIKELIHOOD)
        if not isinstance(one, Data):
            raise not_reports("reports", one, "must be Reports or Counts, or a list of them")
        if not isinstance(one.mechanism, Mechanism):
            raise NotAvailable(f"reports of {one.mechanism} have no likelihood of one variable")
    groups = [Group(one, candidates) for one in given]
    if not sum(group.size for group in groups):
        raise InvalidArgument("reports", reports, "must hold at least one report")
    mechanisms = [group.mechanism for group in groups]
    common_labels(mechanisms, candidates, "groups that are observed together")
    return groups


# -- products with the likelihood rows of reports as expressions of PyTensor ----------------------


def mixed(rows: Rows, p: Any) -> Any:
    """W p, (u,), for a tensor p, (k,): by an Op where the rows are neither a I + 1 b' nor small."""
    from pytensor import tensor as pt

    if isinstance(rows, UniformRows):
        return rows.a * p[rows.codes] + rows.background * p.sum()
    form = dense_if_small(rows.prepared())
    if isinstance(form, DenseRows):
        return pt.dot(np.ascontiguousarray(form.W), p)
    return _product(form, False)(p)


def _product(rows: Rows, transposed: bool) -> Any:
    """The Op of W p or, transposed, W' v; equal to others of the same rows."""
    product, length = (rows.adjoint, rows.shape[1]) if transposed else (rows.mix, rows.shape[0])

    def back(op: Any, vector: Any, v: Any) -> Any:
        return _product(rows, not transposed)(v)

    return computed((id(rows), transposed), lambda x: (product(x),), ((length,),), back)
