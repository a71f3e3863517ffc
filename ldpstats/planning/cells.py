"""Joint models of several questions, planned before anything was collected.

A planned survey has questions with their mechanisms, how many of them a respondent is asked, and
the law of the cells that is expected. With m the probability of a joint report and s its score, the
expected information of one respondent is the sum of ``m s s'`` over all sets of questions that she
may be asked, and all reports on these; effects have their standard errors from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    floats,
    level,
    listed,
    positive_epsilon,
    positive_integer,
    positive_number,
    real_number,
)
from ldpstats.cells import CellReports, Structure
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.tails import normal_critical
from ldpstats.mechanisms import Observed
from ldpstats.models.layout import Table, in_turn
from ldpstats.planning.expected_precision import (
    check_mechanism,
    effect_of_design,
    expected_shares,
)
from ldpstats.planning.laws import PlannedTest, estimate_test
from ldpstats.planning.power_of_tests import (
    checked_power,
    contenders,
    needed,
    power_at,
    smallest,
)
from ldpstats.reports.single import Reports, possible_reports

if TYPE_CHECKING:
    from ldpstats.models.cells import CellResults

__all__ = ["CellPlan"]

Effect = Callable[[Array], Any] | str | Sequence[str] | Mapping[str, Any]

_MOST_REPORTS = 1 << 20  # joint reports, of all sets of questions, that are listed
_LISTED = 1 << 14  # reports of one question
_DRAWN = 1 << 17  # respondents whose reports are drawn where there are more
_BLOCK = 1 << 15
_FAR = 1e-3  # total variation from which on an expected law is not of the structure
_FLAT = 1e-10  # eigenvalue of the information, relative to the largest, that counts as zero
_ONE_SE = 0.31731050786291415  # alpha of an interval of one standard error
_MOST = 2**53  # respondents


class CellPlan:
    """A survey of several questions that a `CellModel` is to analyse, before there are answers.

    Parameters
    ----------
    questionnaire : Questionnaire, or mapping from names to mechanisms
        The questions. Those with the mechanism `Observed` are asked of everyone.
    structure : Structure
        What `ldpstats.cells` makes: the law that will be fitted, without covariates.
    p : array with an axis a question or flat, or Series as `CellResults.table`, optional
        The probabilities of the cells that are expected, a law of the structure.
    ask : int, optional
        How many of the private questions each respondent is asked, drawn at random; by default as
        many as the questionnaire says, and else all.
    theta : array, shape (d,), optional
        In place of p the coordinates of the law: of `loglinear` and `function` the parameters, of
        `rasch` difficulties and the standard deviation, else those of `CellResults.theta`.
    design_effect : float
        Factor by which the sampling design multiplies variances.

    Notes
    -----
    Devices are taken to draw every report afresh, as those that keep a response to each answer do
    not. `table` is the expected law and `theta` has its coordinates. `exact` says whether all joint
    reports are listed, up to a million; else the information is the mean over 131,072 respondents,
    drawn from a fixed generator. Effects may be determined where some parameters are not, as of two
    classes with ``ask=2``: such models are fitted with ``unidentified="keep"``.

    Examples
    --------
    Four items, of which a person is asked three, and two classes of respondents:

    >>> import ldpstats as ldp
    >>> p = sum(share * np.einsum("i,j,k,l", q, q, q, q)
    ...         for share, q in ((0.6, [0.9, 0.1]), (0.4, [0.2, 0.8])))
    >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> sheet = ldp.Questionnaire({name: krr for name in "abcd"}, ask=3)
    >>> plan = CellPlan(sheet, ldp.cells.latent_class(2), p)
    >>> plan.precision({"a": "yes", "b": "yes"}, n=4000).round(4)
                      expected      se   width
    a = yes, b = yes     0.262  0.0108  0.0425
    """

    def __init__(
        self,
        questionnaire: Any,
        structure: Structure,
        p: Any = None,
        ask: int | None = None,
        theta: Any = None,
        design_effect: float = 1.0,
    ) -> None:
        if not isinstance(structure, Structure) or structure.covariates is not None:
            remedy = "must be one of ldpstats.cells without covariates, such as latent_class(2)"
            raise InvalidArgument("structure", structure, remedy)
        given = getattr(questionnaire, "mechanisms", questionnaire)
        if not isinstance(given, Mapping) or not given:
            remedy = "must be a Questionnaire, or a mapping from names to mechanisms"
            raise InvalidArgument("questionnaire", questionnaire, remedy)
        for name, mech in given.items():
            check_mechanism(mech, f"questionnaire[{name!r}]")
            if mech.unknown or mech.is_open:
                lacking = f"values of {in_turn(mech.unknown)}" if mech.unknown else "an alphabet="
                raise NotAvailable(f"{name!r}: {mech} is planned for with {lacking}")
        self.mechanisms, self.structure = dict(given), structure
        self.design_effect = effect_of_design(design_effect)
        self._private = [j for j, mech in enumerate(given.values()) if not mech.unprotected]
        self.ask = self._number(getattr(questionnaire, "ask", None) if ask is None else ask)
        own = sorted(
            (mech.epsilon for mech in given.values() if not mech.unprotected), reverse=True
        )
        self.epsilon = float(sum(own[: self.ask]))  # of all reports of a respondent, at most
        if (p is None) == (theta is None):
            raise InvalidArgument("p", p, "give exactly one of p=, the law of cells, and theta=")
        from ldpstats.models.cells import CellData, CellModel, CellResults

        labels = [mech.labels() for mech in given.values()]
        sizes, cells = tuple(map(len, labels)), pd.MultiIndex.from_product(labels)
        if isinstance(p, pd.Series) and isinstance(p.index, pd.MultiIndex):
            p = p.reorder_levels([*given]) if set(p.index.names) == set(given) else p
            p = p.set_axis(p.index.to_flat_index())
        elif np.shape(p) == sizes and not isinstance(p, pd.Series):
            p = np.ravel(p)
        law = expected_shares(p, cells.to_flat_index())
        # a survey without noise, in which each cell is as often seen as the law says
        at = np.flatnonzero(law if theta is None else law[:1])
        answers = zip(labels, np.unravel_index(at, sizes), strict=True)
        rows = [[(Reports(y, Observed(k)), np.ones(len(at), dtype=bool))] for k, y in answers]
        model = CellModel(CellData(rows, law[at] * 1e9), structure, list(given), memoised=False)
        if theta is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the best of several maxima is p, or is far
                self._expected = model.fit(unidentified="keep")
        else:
            point, none = floats(theta), np.zeros((model.law.size,) * 2)
            if point.shape != none.shape[:1] or not np.isfinite(point).all():
                remedy = f"must be {len(none)} coordinates, for {in_turn(model.law.names)}"
                raise InvalidArgument("theta", theta, remedy)
            more: Any = (None, np.nan, "observed", True, (), (1, 1), None)
            self._expected = CellResults(model, point, none, none, none, none, *more)
        self.theta, self.table = self._expected.theta, self._expected.table
        gap = np.abs(self.table.to_numpy() - law).sum() / 2.0
        if theta is None and gap > _FAR:
            remedy = f"must be a law of {structure}: the closest differs by {gap:.3g} in total "
            remedy += "variation; take its table, of fitted results, or pass theta="
            raise InvalidArgument("p", f"{law.size} probabilities", remedy)

    def _number(self, ask: int | None) -> int:
        """How many private questions are asked."""
        every = len(self._private)
        if ask is not None and positive_integer("ask", ask) > every:
            raise InvalidArgument("ask", ask, f"must be at most {every}: the private questions")
        return every if ask is None else int(ask)

    def __repr__(self) -> str:
        asked = f"ask={self.ask}, epsilon={self.epsilon:g}{'' if self.exact else ', reports drawn'}"
        return f"CellPlan({in_turn(list(self.mechanisms))}; {self.structure}; {asked})"

    # -- the information of one respondent -----------------------------------------------------

    @property
    def exact(self) -> bool:
        sizes = [possible_reports(mech) for mech in self.mechanisms.values()]
        own = sorted((sizes[j] for j in self._private), reverse=True)
        always = prod(size for j, size in enumerate(sizes) if j not in self._private)
        most = comb(len(own), self.ask) * prod(own[: self.ask]) * always
        return max(sizes) <= _LISTED and most <= _MOST_REPORTS

    @property
    def information(self) -> Array:
        """Expected information of one respondent about theta, (d, d)."""
        return self._squared_scores(self.theta)

    def _squared_scores(self, theta: Array) -> Array:
        law = self._expected.law
        total = np.zeros((law.size, law.size))
        for reports in self._listed() if self.exact else [self._drawn()]:
            S = np.sqrt(reports.n)[:, None] * law.scores(reports, theta)
            total += S.T @ S
        return total

    def _listed(self) -> Iterator[CellReports]:
        """All joint reports in blocks; n are their probabilities."""
        W = []
        for mech in self.mechanisms.values():
            Q = mech.channel().matrix()
            Q = Q[:, Q.sum(axis=0) > 0.0]
            # reports that are as likely under all answers, but for a factor, say the same
            _, same = np.unique(np.round(Q / Q.sum(axis=0), 12), axis=1, return_inverse=True)
            merged = np.zeros((same.max() + 2, len(Q)))
            np.add.at(merged, same.reshape(-1), Q.T)
            merged[-1] = 1.0  # of those who are not asked
            W.append(merged)
        none, parts = np.array([len(own) - 1 for own in W], dtype=np.intp), []
        for asked in combinations(self._private, self.ask):
            inside = [j for j in range(len(W)) if j in asked or j not in self._private]
            own = np.indices(none[inside].tolist()).reshape(len(inside), -1).T
            parts.append(np.tile(none, (len(own), 1)))
            parts[-1][:, inside] = own
        index, law = np.concatenate(parts), self._expected.law
        for at in range(0, len(index), _BLOCK):
            some = index[at : at + _BLOCK]
            every = CellReports(tuple(W), some, np.ones(len(some)), np.zeros((len(some), 0)))
            m = law.mix(every, self.theta)
            seen, n = m > 0.0, m / comb(len(self._private), self.ask)
            yield replace(every, index=some[seen], n=n[seen], z=every.z[seen])

    def _drawn(self) -> CellReports:
        """Joint reports of respondents who are drawn; n are their shares."""
        from ldpstats.models.cells import CellData, CellModel

        rng, p, rows = np.random.default_rng(2026), self.table.to_numpy(), []
        sizes = self._expected.model.reports.sizes
        answers = np.unravel_index(rng.choice(p.size, size=_DRAWN, p=p / p.sum()), sizes)
        asked = np.ones((_DRAWN, len(sizes)), dtype=bool)
        asked[:, self._private] = rng.random((_DRAWN, len(self._private))).argsort(1) < self.ask
        for codes, who, mech in zip(answers, asked.T, self.mechanisms.values(), strict=True):
            values = mech.labels().take(codes[who]).to_numpy()
            rows.append([(mech.privatize(values, rng), who)])
        names = list(self.mechanisms)
        reports = CellModel(CellData(rows), self.structure, names, memoised=False).reports
        return replace(reports, n=reports.n / _DRAWN)

    @cached_property
    def _of_one(self) -> CellResults:
        """Results with the covariance that one respondent gives."""
        law, theta = self._expected.law, self._expected.theta
        size, axes, flat = _spectrum(self.information)
        V = (axes[:, ~flat] / size[~flat]) @ axes[:, ~flat].T * self.design_effect
        _, inner, left = _spectrum(self._squared_scores(law.inside(theta)))
        open_, unknown = axes[:, flat], inner[:, left]
        return replace(self._expected, inverse=V, covariance=V, flat=open_, unknown=unknown)

    def _effects(self, effect: Effect) -> pd.DataFrame:
        """Expected values, and standard errors from one respondent."""
        words, table, results = "the effect", None, self._of_one
        if callable(effect):
            with suppress(NotIdentified):
                found = results.effect(effect, _ONE_SE, "delta")
                values = {"expected": [found.estimate], "se": [(found.upper - found.lower) / 2.0]}
                table = pd.DataFrame(values, index=["effect"])
        else:
            remedy = "must be a function of the cells, a mapping of questions to answers, or names"
            some = [effect] if isinstance(effect, str) else effect
            names = list(some) if isinstance(some, Mapping) else listed("effect", some, remedy)
            words, table = f"the margin of {in_turn(names)}", results.margin(*names)
            table = table[["estimate", "std_error"]].set_axis(["expected", "se"], axis=1)
            if isinstance(effect, Mapping):
                words = ", ".join(f"{name} = {value}" for name, value in effect.items())
                if (cell := tuple(effect.values())) not in table.index:
                    raise InvalidArgument("effect", dict(effect), "has what is no answer")
                table = table.loc[[cell]].set_axis([words], axis=0)
        if table is None or table["se"].isna().any():
            raise NotIdentified(
                f"{words}: is not determined, under {self.structure}, by reports on {self.ask} of "
                f"{len(self._private)} private questions; ask more of a person, or assume more"
            )
        return table

    def _test(self, effect: Effect, value: object, alpha: float) -> PlannedTest:
        """A two-sided Wald test."""
        found = self._effects(effect)
        if len(found) > 1:
            remedy = "must be one number: a function, or a mapping from questions to answers"
            raise InvalidArgument("effect", found.index.tolist(), remedy)
        expected, se = found.to_numpy()[0]
        far = expected - real_number("value", value, "must be the value of a null hypothesis")
        law = (se**2, 0.0)
        return estimate_test(far, law, law, alpha, continuous=True)

    # -- what a survey will give ---------------------------------------------------------------

    def precision(self, effect: Effect, n: int, alpha: float = 0.05) -> pd.DataFrame:
        """Standard errors that n respondents will give.

        Parameters
        ----------
        effect : callable, mapping, str or sequence of str
            A function of the probabilities of the cells, as in `CellResults.effect`; the share of
            those who give certain answers, a mapping from questions to labels; or the questions of
            a margin.
        n : int
            Respondents.
        alpha : float
            One minus the coverage of the Wald interval whose full width is "width".

        Returns
        -------
        DataFrame
            Columns "expected", "se" and "width"; refused where reports leave the effect open.
        """
        found = self._effects(effect)
        se = found["se"].to_numpy() / np.sqrt(positive_integer("n", n))
        return Table(found.assign(se=se, width=2.0 * normal_critical(level(alpha)) * se))

    def power(self, effect: Effect, n: int, value: float, alpha: float = 0.05) -> float:
        """Probability that a two-sided Wald test finds that an effect, one number, is not `value`.

        Other parameters are those of `precision`.
        """
        return power_at(self._test(effect, value, level(alpha)), positive_integer("n", n), 1.0)

    def sample_size(
        self,
        effect: Effect,
        se: float | None = None,
        width: float | None = None,
        value: float | None = None,
        power: float = 0.8,
        alpha: float = 0.05,
    ) -> int:
        """The smallest number of respondents that are enough for an effect.

        Parameters
        ----------
        effect, alpha
            As in `precision`; of a margin the worst cell decides.
        se, width : float, optional
            Standard error, or full width of the Wald interval, to reach.
        value, power : float, optional
            Power to reach in a test that the effect is `value`.
        """
        if [se, width, value].count(None) != 2:
            raise InvalidArgument("se", se, "give exactly one of se=, width= and value=")
        alpha = level(alpha)
        if value is not None:
            asked, test = checked_power(power, alpha), self._test(effect, value, alpha)
            if power_at(test, _MOST, 1.0) < asked:
                raise InvalidArgument("value", value, "is too close to what is expected")
            return needed(test, asked, 1.0)
        found = self._effects(effect)
        worst, name = float(found["se"].max()), "se" if width is None else "width"
        goal = positive_number(name, se if width is None else width, (1e-6, np.inf))
        each = 1.0 if width is None else 2.0 * float(normal_critical(alpha))
        return smallest(lambda n: each * worst / np.sqrt(n) <= goal, 0, 1)

    def compare(
        self, effect: Effect, ask: Sequence[int], epsilon: float | None = None, **target: Any
    ) -> pd.DataFrame:
        """One epsilon for all that a person is asked: few questions at more each, or many at less.

        Parameters
        ----------
        effect : as in `precision`
        ask : sequence of int
            Numbers of private questions, of which each has an equal part of epsilon.
        epsilon : float, optional
            What all reports of a respondent spend, in nats; by default as in the plan.
        **target
            n= for standard errors, or what `sample_size` is to reach: se=, width=, or value=.

        Returns
        -------
        DataFrame
            "epsilon" of a question; "se", the largest, or "respondents"; "ratio", how many times
            the respondents of the best; "note" says which settings leave the effect open.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> plan = CellPlan({"a": krr, "b": krr}, ldp.cells.saturated(), [[0.4, 0.1], [0.1, 0.4]])
        >>> found = plan.compare(lambda p: p[0, 0] + p[1, 1], ask=[1, 2], value=0.5)
        >>> found["respondents"].to_dict()
        {1: nan, 2: 471.0}
        """
        total = self.epsilon if epsilon is None else positive_epsilon("epsilon", epsilon)
        rows: dict[int, tuple[float, float, str]] = {}
        for number in map(self._number, listed("ask", ask, "must be numbers of questions")):
            each = total / number
            made = {name: _remade(name, mech, each) for name, mech in self.mechanisms.items()}
            plan = copy(self)
            plan.mechanisms, plan.ask = made, number
            plan.__dict__.pop("_of_one", None)
            find = plan.precision if "n" in target else plan.sample_size
            try:
                found: Any = find(effect, **target)
                rows[number] = each, float(found["se"].max() if "n" in target else found), ""
            except NotIdentified as error:
                rows[number] = each, np.nan, str(error)
        columns = ["epsilon", "se" if "n" in target else "respondents", "note"]
        table = pd.DataFrame(rows.values(), index=pd.Index(rows, name="ask"), columns=columns)
        loss = table[columns[1]] ** (2 if "n" in target else 1)
        table.insert(2, "ratio", loss / loss.min())
        return Table(table)


def _spectrum(information: Array) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Eigenvalues, (d,), their axes, and which of them are zero."""
    size, axes = np.linalg.eigh(information)
    return size, axes, size <= _FLAT * max(size.max(initial=0.0), 1e-300)


def _remade(name: str, mechanism: Any, epsilon: float) -> Any:
    """The mechanism of a question with another epsilon, as its kind has it by default."""
    if mechanism.unprotected:
        return mechanism
    labels = mechanism.labels()
    for kind, usual in contenders(labels, mechanism.epsilon).values():
        if usual == mechanism:
            return kind.make(labels, epsilon)
    try:
        return replace(mechanism, epsilon=epsilon)
    except (TypeError, InvalidArgument):
        raise NotAvailable(
            f"{name!r}: {mechanism} has no epsilon that can be changed: make a plan for each ask="
        ) from None
