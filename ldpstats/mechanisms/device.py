"""Mechanisms that a respondent works by hand: a randomising device, with its exact law.

What they share, devices without and with unknown parameters (cheating, an unrelated question that
nobody has counted), and several reports about one answer as one report with a label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from typing import Any, NoReturn, Self

import numpy as np
import pandas as pd

from ldpstats.arguments import EPSILON_RANGE, Array, did_you_mean, listed, record
from ldpstats.channels.certificates import Audit, sequential
from ldpstats.channels.structured import Channel, Dense, Uniformised
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import Labels, encode
from ldpstats.likelihood.parametric import PolynomialMatrix
from ldpstats.mechanisms.base import Mechanism, check_document, described, joined_labels, set_fields
from ldpstats.mechanisms.custom import (
    CohortPart,
    CustomMechanism,
    Enumerated,
    combined,
    listed_mechanism,
    protected_by_all,
    same_answers,
)
from ldpstats.mechanisms.krr import KRR, ForcedResponse, Mangat, UnrelatedQuestion, Warner
from ldpstats.programs.documents import step_from_dict, step_to_dict
from ldpstats.programs.instructions import instructions
from ldpstats.programs.laws import (
    Law,
    largest_ratio,
    law,
    nearest_log,
    substituted,
    terms_of,
    worst_epsilon,
)
from ldpstats.programs.polynomials import Chance, chance, listed_labels
from ldpstats.programs.sampler import Sampler, sampler
from ldpstats.programs.steps import Cohorts, Question, Step, typed
from ldpstats.reports.layout import LabelFormat
from ldpstats.reports.single import BitCounts, Counts, Reports
from ldpstats.sampling.samplers import Words, simulation_words

# -- What mechanisms made of a randomising device share -------------------------------------------


_SMALL = 1 << 11  # categories whose matrix is written out without a thought
_MOST_DRAWS = 10_000_000
_LEAST = 1e-300


@record
class DeviceMechanism(Enumerated):
    """A randomising device as a mechanism: `Device.mechanism` makes it.

    Parameters
    ----------
    device : Step
        The steps, as `Device.step` has them.
    categories : int, sequence of labels, or pandas Categorical
        The true answers.
    outputs : int or sequence of labels, optional
        What a report may be. By default the categories, where the device says nothing else, or the
        labels of the device in their order, where none of them is a category. A mixture of both
        must be listed here: it may be a misspelt category.

    Raises
    ------
    InvalidArgument
        If the device does not fit the categories, or says what is no output.
    NotAvailable
        If the device has unknown parameters.

    Notes
    -----
    Clients and simulations draw reports with exactly the probabilities of `exact`, whatever their
    denominators: the sampler's epsilon is the declared one.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> die = ldp.devices.roll(6).when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
    >>> forced = die.mechanism(("no", "yes"))
    >>> forced.exact
    ((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6)))
    >>> forced.ratio, forced.epsilon
    (Fraction(5, 1), 1.6094379124341003)
    """

    device: Any
    categories: Any
    outputs: Any = None

    def __post_init__(self) -> None:
        device: object = self.device
        if not isinstance(device, Step):
            remedy = "must be the steps of a device: device.mechanism(categories) passes them"
            raise InvalidArgument("device", device, remedy)
        set_fields(self, categories=listed_labels("categories", self.categories))
        self._check_unknown()
        set_fields(self, outputs=_outputs(self.outputs, self.law, self.cohort_names))
        if not device.unknown and float(self.law.least()) < _LEAST:
            remedy = f"gives a report a probability below {_LEAST}, which estimates cannot hold"
            raise InvalidArgument("device", device, remedy)

    def _check_unknown(self) -> None:
        """Refuse unknown parameters, before the law is asked for."""
        if self.device.unknown:
            raise NotAvailable(
                f"the device depends on the unknown {', '.join(self.device.unknown)}: "
                "device.mechanism(categories) makes a mechanism that has them"
            )

    @property
    def cohort_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of its cohorts, if it is a device of cohorts; a report begins with one."""
        return self.device.named if isinstance(self.device, Cohorts) else ()

    @cached_property
    def cohort_parts(self) -> tuple[CohortPart, ...]:  # type: ignore[override]
        """What each cohort does, and which reports are its own; none for other devices.

        A cohort is a group of respondents: what is estimated is given how many there are in each,
        whatever shares the device draws them with.

        Examples
        --------
        >>> from ldpstats.devices import cohorts, opposite, truth
        >>> both = cohorts({"A": truth, "B": opposite}).mechanism(("no", "yes"))
        >>> [(part.name, part.places.tolist()) for part in both.cohort_parts]
        [('A', [0, 1]), ('B', [2, 3])]
        """
        if not isinstance(self.device, Cohorts):
            return ()
        places = {label: i for i, label in enumerate(self.outputs.tolist())}
        found = []
        for name, step in zip(self.device.named, self.device.steps, strict=True):
            said = list(law(step, self.categories).outputs)
            own = np.array([places.get(f"{name}:{y}", -1) for y in said], dtype=np.int64)
            kind = UnknownDevice if step.unknown else DeviceMechanism
            found.append(CohortPart(name, kind(step, self.categories, said), own))
        return tuple(found)

    @property
    def _cohort_shares(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(map(float, self.device.chances)) if self.cohort_names else ()

    def of_sizes(self, sizes: Sequence[int]) -> Self:
        """The device of the same cohorts whose shares are those of so many respondents in each."""
        kept = [c for c, size in enumerate(sizes) if size]
        names = tuple(self.device.named[c] for c in kept)
        shares = tuple(Fraction(int(sizes[c]), int(sum(sizes))) for c in kept)
        step = Cohorts(tuple(self.device.steps[c] for c in kept), names, shares)
        return type(self)(step, self.categories, self.outputs)

    @cached_property
    def law(self) -> Law:
        """The exact law of a report, by category."""
        return law(self.device, self.categories)

    @cached_property
    def exact(self) -> tuple[tuple[Chance, ...], ...]:
        """Q exactly, in the order of `categories` and `outputs`.

        k rows of l Fractions, or of polynomials in the unknown parameters.

        Raises
        ------
        NotAvailable
            If it has more than 4 million entries.
        """
        return self.law.listed(self.outputs.tolist())

    def instructions(self, words: object = None) -> list[str]:
        """Numbered sentences for the respondent: what the design tells, not what some do instead.

        Parameters
        ----------
        words : dict of str to str, optional
            Words to replace: as in `Device.instructions`, with its errors.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> mangat = ldp.devices.library.mangat(0.6).mechanism(("no", "yes"))
        >>> mangat.instructions()[1]
        '2. If your true answer is “yes”, say “yes”.'
        """
        return instructions(self.device, self.categories, words)

    @cached_property
    def format(self) -> LabelFormat:
        # what to do where the data have other labels: as categories, or as reports
        hint = "or make the mechanism with the labels of the data: device.mechanism(categories)"
        if not (self.cohort_names or self.outputs.isin(self.categories).any()):
            some = self.outputs[:6].tolist()
            shown = ", ".join(f"{label!r}: {self.n_outputs - i}" for i, label in enumerate(some, 1))
            more = ", ..." if self.n_outputs > len(some) else ""
            hint = "or name reports as the data have them, for example "
            hint += f"(device >> recode({{{shown}{more}}})).mechanism(categories)"
        return LabelFormat(self.outputs, hint)

    def _specification(self) -> dict[str, Any]:
        return super()._specification() | {"device": step_to_dict(self.device)}

    def to_dict(self) -> dict[str, Any]:
        called = {"description": str(self.device)} if self.device.is_called else {}
        return super().to_dict() | called

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        checked = dict(check_document(document))
        called = checked.pop("description", None)
        step = step_from_dict(checked.get("device"))
        if called is not None:
            step = step.called(described("description", called, "the device is"))
        return super().from_dict(checked | {"device": step})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.device, self.categories, self.outputs)

    @cached_property
    def ratio(self) -> Fraction | float:
        """The largest ratio of two probabilities of one report; inf if one is zero."""
        return largest_ratio(self.law)

    @cached_property
    def epsilon(self) -> float:  # type: ignore[override]
        """The float nearest to the logarithm of `ratio`, in nats."""
        return nearest_log(self.ratio)

    @cached_property
    def equivalent(self) -> Mechanism | None:
        """The package's own mechanism with the same law, such as a `Warner` or `KRR`, if any.

        Its probabilities are those of `exact`, rounded to floats.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> coin = ldp.devices.flip(0.7).when({"heads": ldp.devices.truth}, otherwise="yes")
        >>> print(coin.mechanism(("no", "yes")).equivalent)
        Mangat(p=0.7, epsilon=inf)
        """
        law, even, labels = self.law, self.law.even, self.law.categories
        if tuple(self.outputs) != labels:
            return None
        if len(labels) == 2:
            return _equivalent_design(self.device, law)
        if even is None or even.extra or not even.own > 0 or not even.base > 0:  # type: ignore[operator]
            return None
        low, high = EPSILON_RANGE
        return KRR(labels, self.epsilon) if low <= self.epsilon <= high else None

    @cached_property
    def _channel(self) -> Channel:
        even, k = self.law.even, self.k
        if even is not None and self.outputs.equals(self.categories):
            own, base = Fraction(even.own), Fraction(even.base)  # type: ignore[arg-type]
            if (k > 2 and own > 0) or k > _SMALL:
                if not even.extra:
                    return Uniformised(k, float(own), float(base))
                common = dict.fromkeys(self.law.categories, base)
                for label, p in even.extra.items():
                    common[label] += Fraction(p)  # type: ignore[arg-type]
                return Uniformised(k, float(own), np.array([float(p) for p in common.values()]))
        return Dense(np.array(self.exact, dtype=np.float64))

    @cached_property
    def _sampler(self) -> Sampler:
        return sampler(self.law, self.outputs.tolist())

    def sample(self, codes: Array, words: Words) -> Array:
        return self._sampler.draw(codes, words)

    def _draw_document(self) -> dict[str, Any]:
        return self._sampler.document()

    def _sampler_epsilon(self) -> float:
        return nearest_log(self._sampler.ratio())

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts | BitCounts:
        Q = self.channel(candidates)
        if not isinstance(Q, Uniformised) or Q.a >= 0.0:
            return super().simulate_counts(true_counts, rng, candidates)
        # other answers are likelier than one's own: one by one
        if true_counts.sum() > _MOST_DRAWS:
            raise NotAvailable(
                f"counts of more than {_MOST_DRAWS} reports of {self} are drawn one by one, "
                "since its reports are less often true than not: draw fewer at a time"
            )
        codes = np.repeat(np.arange(self.k), true_counts)
        reports = self.sample(codes, simulation_words(rng))
        return self.counts(np.bincount(reports, minlength=self.n_outputs))


def _outputs(given: Any, found: Law, cohorts: Sequence[str]) -> Labels:
    """The labels of the reports; see the parameter `outputs`."""
    said = list(found.outputs)
    if given is not None:
        outputs = listed_labels("outputs", given, least=1)
        known = set(map(typed, outputs.tolist()))
        for label in said:
            if typed(label) not in known:
                remedy = f"must list what the device can say; {label!r} is not there"
                raise InvalidArgument("outputs", outputs.tolist(), remedy)
        return outputs
    answers = set(found.places)
    if cohorts:  # where a number may be the cell of a hash
        answers = {f"{cohort}:{label}" for cohort in cohorts for label in found.places}
    for cohort in cohorts or ("",):
        own = [y for y in said if str(y).startswith(f"{cohort}:")] if cohorts else said
        strange = [y for y in own if y not in answers]
        if not strange or len(strange) == len(own):
            continue
        if cohorts and str(strange[0]).partition(":")[2].isdigit():
            continue
        # it may be a misspelt category
        remedy = "is said by the device and is no category, but others are: where it is an answer, "
        remedy += "write it as the categories do"
        if len(found.categories) == 2:
            remedy += f", answers={found.categories!r} in a design of devices.library"
        every = [*(y for y in said if y not in strange), *strange]
        remedy += f"; where it is a report besides, list all reports, outputs={every}"
        raise InvalidArgument("say", strange[0], remedy)
    return listed_labels("outputs", said, least=1)


# -- Devices with unknown parameters: cheating, an unrelated question nobody has counted ----------


_RESERVED = {"self", "values", "rng", "missing"}


def _unavailable(what: str) -> Callable[..., NoReturn]:
    """A method or property that only devices without unknown parameters have."""

    def refuse(self: UnknownDevice, *_: Any) -> NoReturn:
        """Raise `NotAvailable`: `at` makes a mechanism that has it."""
        names = ", ".join(self.unknown)
        known = ", ".join(f"{name}=..." for name in self.unknown)
        raise NotAvailable(
            f"there is no {what}: this device depends on the unknown {names}. FrequencyModel "
            f"estimates it from several groups, simulate(values, rng, {known}) draws reports, and "
            f"at({known}) is the mechanism for known values"
        )

    return refuse


@record
class UnknownDevice(DeviceMechanism):
    """A randomising device with unknown parameters: `Device.mechanism` makes it.

    The parameters are probabilities that the design leaves open, such as the share of respondents
    who do not follow the instructions. `FrequencyModel` estimates them together with the
    frequencies, from one or several groups. `at` gives the mechanism that the device is for known
    values.

    Parameters
    ----------
    device, categories, outputs
        As in `DeviceMechanism`.

    Raises
    ------
    InvalidArgument
        If the device has no unknown parameter, does not fit the categories, or can say a label
        that is not an output.

    Examples
    --------
    Respondents who cheat say "no", whatever the die shows:

    >>> import ldpstats as ldp
    >>> from ldpstats.devices import flip, roll, truth, unknown
    >>> die = roll(6).when({1: "yes"}, otherwise=truth)
    >>> device = flip(unknown("cheating")).when({"heads": "no", "tails": die})
    >>> survey = device.mechanism(("no", "yes"))
    >>> survey.unknown
    ('cheating',)
    >>> survey.exact[1]
    (cheating, 1 - cheating)
    >>> survey.at(cheating="1/10").exact[1]
    (Fraction(1, 10), Fraction(9, 10))
    """

    def _check_unknown(self) -> None:
        names = self.unknown
        if not names:
            remedy = "has no unknown parameter: use DeviceMechanism"
            raise InvalidArgument("device", self.device, remedy)
        if reserved := set(names) & _RESERVED:
            remedy = "is an argument of simulate(): give the unknown parameter another name"
            raise InvalidArgument("unknown", min(reserved), remedy)
        for name in names:
            if name in set(self.categories):
                remedy = "is a category too: give the unknown parameter another name"
                raise InvalidArgument("unknown", name, remedy)

    @property
    def unknown(self) -> tuple[str, ...]:  # type: ignore[override]
        """The unknown parameters, in the order of the alphabet."""
        return tuple(self.device.unknown)

    @cached_property
    def _terms(self) -> tuple[Array, Array]:
        return terms_of(self.exact, self.unknown)

    def polynomials(self, names: Sequence[str]) -> PolynomialMatrix:
        """Q as polynomials in these parameters, of which `unknown` are some."""
        exponents, coefficients = self._terms
        own = [list(names).index(name) for name in self.unknown]
        wide = np.zeros((len(exponents), len(names)), dtype=np.int64)
        wide[:, own] = exponents
        return PolynomialMatrix(wide, coefficients.astype(np.float64))

    def matrix_at(self, values: Any = None, **named: Any) -> Array:
        """Q where the parameters have these values, shape (k, l).

        Parameters
        ----------
        values : mapping, Series or sequence of float, optional
            One for each of `unknown`, by name or in that order; or by keyword.

        Examples
        --------
        >>> from ldpstats.devices import flip, opposite, truth, unknown
        >>> cards = flip(unknown("mix")).when({"heads": truth, "tails": opposite})
        >>> cards.mechanism(("no", "yes")).matrix_at(mix=0.7)
        array([[0.7, 0.3],
               [0.3, 0.7]])
        """
        theta = list(map(float, self._values(values, named).values()))
        return self.polynomials(self.unknown).at(theta)

    def derivatives_at(self, values: Any = None, **named: Any) -> Array:
        """Derivatives of Q by each of the m parameters, shape (m, k, l); see `matrix_at`."""
        theta = list(map(float, self._values(values, named).values()))
        return self.polynomials(self.unknown).derivatives(theta)

    def at(self, values: Any = None, **named: Any) -> DeviceMechanism:
        """The mechanism that the device is where the parameters have these values.

        Parameters
        ----------
        values : mapping, Series or sequence of numbers, optional
            One for each of `unknown`, by name or in that order; or by keyword. They are read as
            `devices` reads probabilities: a float is the Fraction of its shortest decimal.

        Raises
        ------
        InvalidArgument
            If a parameter has no value, an unknown one has, or a value is not in [0, 1].
        """
        step = substituted(self.device, self._values(values, named))
        return DeviceMechanism(step, self.categories, self.outputs)

    def _values(self, values: Any, named: dict[str, Any]) -> dict[str, Fraction]:
        """A value for each parameter, exactly."""
        if isinstance(values, pd.Series):
            values = values.to_dict()
        if values is not None and not isinstance(values, Mapping):
            remedy = f"must have one value for each of {', '.join(self.unknown)}"
            several = listed("values", values, remedy)
            if len(several) != len(self.unknown):
                raise InvalidArgument("values", values, remedy)
            values = dict(zip(self.unknown, several, strict=True))
        given = {**(values or {}), **named}
        for name in given:
            if not isinstance(name, str) or name not in self.unknown:
                hint = did_you_mean(name, self.unknown) if isinstance(name, str) else ""
                remedy = f"is no unknown parameter of {', '.join(self.unknown)}{hint}"
                raise InvalidArgument("values", name, remedy)
        found: dict[str, Fraction] = {}
        for name in self.unknown:
            if name not in given:
                raise InvalidArgument(name, None, f"must be given: {name}=0.1, say")
            value = chance(name, given[name])
            if not isinstance(value, Fraction):
                raise InvalidArgument(name, value, "must be a number in [0, 1]")
            found[name] = value
        return found

    @cached_property
    def epsilon(self) -> float:  # type: ignore[override]
        """The largest epsilon over all values of the parameters in [0, 1], in nats.

        It may be infinite; `at` has that of known values.
        """
        return worst_epsilon(*self._terms)

    def simulate(
        self, values: object, rng: np.random.Generator, missing: str = "raise", **parameters: Any
    ) -> Reports:
        """Simulate the reports of many respondents where the parameters have these values.

        Parameters
        ----------
        values, rng, missing
            As in `privatize`.
        **parameters : number in [0, 1]
            A value for each of `unknown`.

        Returns
        -------
        Reports
            Of this device: the values are not in them.

        Examples
        --------
        >>> from ldpstats.devices import flip, opposite, truth, unknown
        >>> cards = flip(unknown("mix")).when({"heads": truth, "tails": opposite})
        >>> survey = cards.mechanism(("no", "yes"))
        >>> len(survey.simulate(["no"] * 10, np.random.default_rng(1), mix=0.8))
        10
        """
        made = self.at(**parameters).privatize(values, rng, missing)
        return Reports(made.y, self, made.n_missing, name=made.name)

    # `at` makes mechanisms that have these
    ratio = cached_property(_unavailable("ratio of probabilities"))
    equivalent = cached_property(_unavailable("mechanism with its law"))
    _channel = cached_property(_unavailable("channel"))
    _sampler = cached_property(_unavailable("law to draw reports from"))
    _permitted = _unavailable("client")

    def audit(self) -> Audit:
        """Raise `NotAvailable`: `at` makes a mechanism that can be audited."""
        _unavailable("audit")(self)


# -- Which of the package's own mechanisms a device is --------------------------------------------


def _equivalent_design(device: Step, law: Law) -> Mechanism | None:
    """The yes/no design with this law, by P(yes | no) and P(yes | yes); None if there is none."""
    (_, other), (_, own) = law.rows
    labels = law.categories
    assert isinstance(own, Fraction) and isinstance(other, Fraction)
    if own <= other:
        return None
    if own + other == 1 and own < 1:
        epsilon = nearest_log(own / other)
        low, high = EPSILON_RANGE
        return Warner(epsilon=epsilon, categories=labels) if low <= epsilon <= high else None
    if float(own - other) in (0.0, 1.0) and own - other != 1:  # too near to be told in floats
        return None
    if own == 1 and other > 0:
        return Mangat(p=float(1 - other), categories=labels)
    design: Mechanism = ForcedResponse(
        p_truth=float(own - other), p_yes=float(other), categories=labels
    )
    if _asks(device) and own - other < 1:
        design = UnrelatedQuestion(
            p=float(own - other), prevalence=float(other / (1 - own + other)), categories=labels
        )
    # floats must hold every probability, the small ones too
    exact = [Fraction(p) for row in law.rows for p in row]  # type: ignore[arg-type]
    pairs = zip(design.channel().matrix().ravel().tolist(), exact, strict=True)
    return design if all(abs(Fraction(q) - p) <= p / 10**12 for q, p in pairs) else None


def _asks(step: Step) -> bool:
    """Whether an unrelated question is asked."""
    return isinstance(step, Question) or any(map(_asks, step.children))


# -- Several reports about one answer, as one report with a label ---------------------------------


def repeated(first: Any, *others: Any) -> CustomMechanism:
    """Two or more independent reports about the same answer, as one report.

    ``Q[x, (y0, y1)] = Q0[x, y0] Q1[x, y1]``, as `privacy.sequential` (MK19 Proposition 1), with
    labels: ``"nurse, cook"``. Reports that are there already are put together by `paired`.

    Parameters
    ----------
    first : Mechanism
        With reports that can be listed.
    *others : Mechanism, device, or mapping from a first report to one of them
        For the same categories, in any order. A mapping has the second mechanism after each first
        report, where the second question depends on it; it must be the only one.

    Returns
    -------
    CustomMechanism
        The outputs are all combinations of reports, the last changing fastest, joined by ", ". Its
        epsilon is computed from Q: at most the sum of the parts'. Sensitive are the categories that
        every part protects.

    Raises
    ------
    InvalidArgument
        For no mechanism, a mapping that lacks a report, and combinations that read alike.
    UnknownCategory
        If a key of a mapping is no report of the first mechanism.
    MechanismMismatch
        For other categories.
    NotAvailable
        Where reports cannot be listed, or are too many.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=np.log(3))
    >>> twice = ldp.repeated(krr, krr)
    >>> twice.outputs.tolist()
    ['no, no', 'no, yes', 'yes, no', 'yes, yes']
    >>> twice.channel().matrix()
    array([[0.5625, 0.1875, 0.1875, 0.0625],
           [0.0625, 0.1875, 0.1875, 0.5625]])
    >>> round(twice.epsilon / krr.epsilon, 12)
    2.0

    Who said yes is asked again with less noise:

    >>> again = ldp.repeated(krr, {"no": krr, "yes": ldp.KRR(("no", "yes"), epsilon=2.0)})
    >>> round(again.epsilon, 4)                                                  # ln 3 + 2
    3.0986
    """
    start = listed_mechanism("first", first)
    if any(isinstance(other, Mapping) for other in others):
        if len(others) != 1:
            raise InvalidArgument("others", others, "must be one, where it is a dictionary")
        outputs, second = start.outputs, others[0]
        codes = encode("others", list(second), outputs)[0] if second else np.empty(0, np.int64)
        lacking = np.setdiff1d(np.arange(len(outputs)), codes)
        if lacking.size:
            label = outputs.tolist()[lacking[0]]
            raise InvalidArgument("others", label, "is a first report without a second mechanism")
        chosen = list(second.values())
        ordered = [chosen[i] for i in np.argsort(codes)]  # as the first reports
        categories, parts, channels = same_answers("others", [start, *ordered])
        Q = sequential(channels[0], channels[1:]).matrix()
        after = zip(start.outputs.tolist(), parts[1:], strict=True)
        pairs = [(y, z) for y, part in after for z in part.outputs.tolist()]
        description = f"{start}, then {' or '.join(map(str, parts[1:]))}"
    else:
        categories, parts, channels = same_answers("others", [start, *others])
        Q = reduce(lambda first, second: sequential(first, second).matrix(), channels)
        pairs = list(product(*(part.outputs.tolist() for part in parts)))
        description = ", then ".join(map(str, parts))
    return combined(
        *(Q, categories, joined_labels("outputs", pairs)),
        *(protected_by_all(parts, categories), description),
    )
