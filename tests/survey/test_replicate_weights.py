"""Replicate weights as a user describes them: their checks, and what they become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument
from ldpstats.survey.sample.replicates import MadeReplicates


def given(**more: Any) -> ldp.ReplicateWeights:
    return ldp.ReplicateWeights(**{"columns": ["r1", "r2", "r3"], "kind": "JK1"} | more)


def test_a_pattern_becomes_names() -> None:
    weights = given(columns="rep_*").on(["id", "rep_2", "rep_10", "REP_1", "reps"])
    assert weights.columns == ("rep_2", "rep_10")
    assert given(columns="*w").on(["aw", "w", "wb"]).columns == ("aw", "w")
    assert given().on(["r3", "r2", "r1", "x"]) == given()
    assert (
        repr(given(mse=True))
        == "ReplicateWeights(columns=('r1', 'r2', 'r3'), kind='JK1', mse=True)"
    )
    long = given(columns=list("abcd"), kind="JKn", rscales=[0.5] * 4)
    assert repr(long) == "ReplicateWeights(columns='a' to 'd' (4), kind='JKn', rscales=4 numbers)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": "rep"}, "columns='rep': .*one asterisk"),
        ({"columns": "a*b*"}, "one asterisk"),
        ({"columns": ["a", "a"]}, "'a' is there twice"),
        ({"columns": ["a"]}, "two replicates or more"),
        ({"kind": "brr"}, "kind='brr': .*did you mean"),
        ({"kind": "Fay"}, "rho=None: must be Fay's factor"),
        ({"kind": "Fay", "rho": 1.0}, r"rho=1.0: .*\[0, 1\)"),
        ({"rho": 0.3}, "rho=0.3: goes with kind 'Fay'"),
        ({"scale": 0}, "scale=0: must be a positive finite number"),
        ({"kind": "BRR", "scale": 1.0}, "follows from the kind 'BRR'"),
        ({"kind": "other"}, "scale=None: of kind 'other'"),
        ({"kind": "JKn"}, r"rscales=None: .*\(n - 1\) / n"),
        ({"kind": "JKn", "rscales": [0.5, 0.5]}, "must be 3 numbers.*not 2"),
        ({"kind": "ACS", "rscales": [1, 1, 1]}, "follow from the kind 'ACS'"),
        ({"mse": 1}, "mse=1: must be True or False"),
        ({"df": 0}, "df=0: must be a positive"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        given(**arguments)


def test_columns_that_a_table_lacks() -> None:
    with pytest.raises(InvalidArgument, match="columns='q_\\*': no column of the table"):
        given(columns="q_*").on(["r1"])
    with pytest.raises(InvalidArgument, match="two replicates"):
        given(columns="r*").on(["r1"])
    with pytest.raises(InvalidArgument, match="df=None: must be given for a table on an engine"):
        given().on(["r1", "r2", "r3"], summed=True)
    assert given(df=9).on([], summed=True).df == 9.0
    with pytest.raises(InvalidArgument, match=r"rscales=.*must be 2 numbers"):
        given(columns="r*", kind="JKn", rscales=[1.0]).on(["r1", "r2"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jack", None, None), "kind='jack': must be one of"),
        (("jackknife", np.random.default_rng(1), None), "rng=.*goes with 'bootstrap'"),
        (("jackknife", None, 30), "n=30: goes with 'bootstrap'"),
        (("bootstrap", None, 30), "rng=None: pass a generator"),
        (("bootstrap", 7, 30), "rng=7: pass a generator"),
        (("bootstrap", np.random.default_rng(1), 1), "n=1: must be an integer of at least 2"),
        (("bootstrap", np.random.default_rng(1), 10**6), "at most 100000 replicates"),
    ],
)
def test_bad_arguments_of_made_replicates(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        MadeReplicates.of(*arguments)
