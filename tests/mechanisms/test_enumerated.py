"""A mechanism of one's own, of which only Q is written, does all that the package's own do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp


@dataclass(frozen=True, eq=False)
class NearbyGrade(ldp.Enumerated):
    rate: float
    categories = pd.RangeIndex(5)

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self.channel().epsilon()

    def channel(self, candidates: Any = None) -> ldp.channels.Channel:
        steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
        Q = np.exp(-self.rate * steps)
        return ldp.channels.Dense(Q / Q.sum(axis=1, keepdims=True))


Q = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]


def own(**parts: Any) -> type[ldp.Enumerated]:
    """A mechanism of three answers, of which some parts are other ones."""
    usual = {
        "categories": pd.Index(["a", "b", "c"]),
        "epsilon": 2.0,
        "channel": lambda self, candidates=None: ldp.channels.Dense(Q),
    }
    made = type(
        "Own", (ldp.Enumerated,), {k: v for k, v in (usual | parts).items() if v is not None}
    )
    return dataclass(frozen=True, eq=False)(made)


def of(Q: Any) -> Any:
    return lambda self, candidates=None: ldp.channels.Dense(Q)


P = np.array([0.1, 0.2, 0.4, 0.2, 0.1])


def test_its_estimate_is_the_custom_mechanism_s() -> None:
    own = NearbyGrade(0.5)
    values = np.random.default_rng(1).choice(5, size=20_000, p=P)
    reports = own.privatize(values, np.random.default_rng(2))
    custom = ldp.CustomMechanism(own.channel().matrix())
    same = custom.privatize(values, np.random.default_rng(2))
    np.testing.assert_array_equal(reports.y, same.y)
    found, expected = ldp.FrequencyModel(reports).fit(), ldp.FrequencyModel(same).fit()
    pd.testing.assert_series_equal(found.params, expected.params)
    assert (np.abs(found.params - P) < 5 * found.bse).all()


def test_its_specification_and_client() -> None:
    own = NearbyGrade(0.5)
    assert NearbyGrade.from_dict(own.to_dict()) == own != NearbyGrade(0.6)
    assert own.report_labels(own.client().privatize([3]))[0] in own.outputs


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"channel": of([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])}, "shape=(2, 3): must be (3, 3)"),
        ({"channel": lambda self, candidates=None: np.array(Q)}, "must be a channel"),
        ({"epsilon": None}, "epsilon=None: must be a number"),
        ({"epsilon": -1.0}, "epsilon=-1.0: must be a number"),
        ({"categories": ("a", "a", "b")}, "categories="),
    ],
)
def test_parts_that_do_not_fit_are_refused_when_it_is_made(
    parts: dict[str, Any], words: str
) -> None:
    with pytest.raises(ldp.InvalidArgument) as refused:
        own(**parts)()
    assert words in str(refused.value)


def test_its_own_class_reads_its_specification() -> None:
    with pytest.raises(ldp.InvalidArgument, match="from_dict of its own class"):
        ldp.mechanism_from_dict(NearbyGrade(0.5).to_dict())


def test_a_class_without_fields_is_refused() -> None:
    plain = type("Plain", (NearbyGrade,), {})
    assert plain(0.5).fingerprint != NearbyGrade(0.5).fingerprint  # inherited fields are enough

    class Bare(ldp.Enumerated):
        categories = pd.Index(["a", "b", "c"])
        epsilon = 2.0

        def channel(self, candidates: Any = None) -> ldp.channels.Channel:
            return ldp.channels.Dense(Q)

    with pytest.raises(ldp.InvalidArgument, match="frozen dataclass"):
        Bare().to_dict()


TABLE = pd.DataFrame([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], ["ill", "well"], ["yes", "no", "skip"])


def test_a_table_has_its_labels() -> None:
    made = ldp.CustomMechanism(TABLE)
    assert made.categories.tolist() == ["ill", "well"]
    assert made.outputs.tolist() == ["yes", "no", "skip"]
    assert np.array_equal(made.channel().matrix(), TABLE.to_numpy())
    numbered = ldp.CustomMechanism(TABLE.reset_index(drop=True), ("a", "b"))  # rows only numbered
    assert numbered.categories.tolist() == ["a", "b"] and numbered.outputs.tolist()[0] == "yes"
    square = pd.DataFrame(Q, index=list("abc"))
    assert ldp.CustomMechanism(square).outputs.tolist() == ["a", "b", "c"]


def test_labels_that_are_given_order_the_table() -> None:
    made = ldp.CustomMechanism(TABLE, ("well", "ill"), ("skip", "yes", "no"))
    wanted = TABLE.loc[["well", "ill"], ["skip", "yes", "no"]].to_numpy()
    assert np.array_equal(made.channel().matrix(), wanted)
    plain = ldp.CustomMechanism(wanted, made.categories, made.outputs)
    assert made.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("table", "categories", "outputs", "name"),
    [
        (TABLE, ("sick", "well"), None, "categories"),
        (TABLE, ("ill", "well", "dead"), None, "categories"),
        (TABLE, None, ("yes", "no", "perhaps"), "outputs"),
        (pd.DataFrame(Q, [1, 2, 3], [1, 2, 3]), ("1", "2", "3"), None, "categories"),
        (pd.DataFrame(Q, ["a", "a", "b"]), None, None, "Q.index"),
        (pd.DataFrame(Q, columns=pd.MultiIndex.from_product([["a"], [1, 2, 3]])), None, None, "Q."),
    ],
)
def test_labels_of_a_table_that_disagree_are_refused(
    table: pd.DataFrame, categories: Any, outputs: Any, name: str
) -> None:
    with pytest.raises(ldp.InvalidArgument, match=name):
        ldp.CustomMechanism(table, categories, outputs)
