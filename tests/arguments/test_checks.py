"""The checks of arguments themselves."""

import json
from decimal import Decimal

import numpy as np
import pytest
from hostile.values import BadIter, BadStr

import ldpstats as ldp
from ldpstats.arguments import as_array, boolean, counts_vector, level, listed, numbers, one_of
from ldpstats.documents import array_from_json, array_to_json
from ldpstats.errors import InvalidArgument


def test_the_checks_themselves():
    assert one_of("x", np.str_("a"), ("a", "b")) == "a"
    assert type(one_of("x", np.str_("a"), ("a", "b"))) is str
    assert boolean("x", np.True_) is True
    assert level(np.float32(0.5)) == 0.5
    assert listed("x", iter([1, 2]), "") == [1, 2]
    assert as_array("x", [1, 2], "").tolist() == [1, 2]
    assert numbers("x", [1, Decimal("0.5")], "").tolist() == [1.0, 0.5]
    assert counts_vector("x", np.float16([1, 2]), (2,)).tolist() == [1, 2]
    for call in (
        lambda: level(5e-324),
        lambda: level(1.0),
        lambda: one_of("x", BadStr("c"), ("a", "b")),
        lambda: listed("x", BadIter(), "must be a list"),
        lambda: as_array("x", np.ma.masked_equal([1, 2], 2), "must be numbers"),
        lambda: numbers("x", ["1"], "must be numbers"),
    ):
        with pytest.raises(InvalidArgument):
            call()
    assert one_of("x", BadStr("a"), ("a", "b")) == "a"


# Arrays in JSON documents come back bit by bit, and results over many candidates stay small.

rng = np.random.default_rng(3)

SQUARE = rng.normal(size=(50, 50))

ARRAYS = {
    "short": rng.normal(size=7),
    "none": np.zeros(0),
    "names": np.array([np.nan, np.inf, -np.inf, 1.0]),
    "rows of names": np.array([[np.nan, 1.0], [0.1, -np.inf]]),
    "long": rng.normal(size=1001) * 10.0 ** rng.integers(-300, 300, 1001),
    "long with nan": np.where(rng.random(2000) < 0.5, np.nan, rng.random(2000)),
    "infinite": np.full(1200, np.inf),
    "table": rng.normal(size=(40, 3, 30)),
    "transposed": rng.normal(size=(40, 30)).T,
    "constant": np.full((2, 900), 0.1),
    "counts": rng.integers(0, 1 << 60, 1500),
    "symmetric": SQUARE + SQUARE.T,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_bit_by_bit(name):
    values = ARRAYS[name]
    text = json.dumps(array_to_json(values, symmetric=name == "symmetric"), allow_nan=False)
    again = array_from_json(json.loads(text), None if name == "counts" else "float64")
    assert again.shape == values.shape and again.dtype == values.dtype
    np.testing.assert_array_equal(again, values)


def fitted(bits: int = 60, size: int = 45) -> ldp.FrequencyResults:
    mechanism = ldp.RAPPOR(n_bits=bits, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    words = tuple(f"w{i}" for i in range(size))
    generator = np.random.default_rng(5)
    reports = mechanism.privatize(generator.choice(words, size=4000), generator)
    return ldp.FrequencyModel(reports.tally(bits=True), candidates=words).fit("inversion")


def test_a_covariance_is_written_once_and_read_exactly():
    results = fitted()
    text = results.to_json()
    again = ldp.FrequencyResults.from_json(text)
    assert again.to_json() == text
    assert text.count('"factors"') == 1
    assert str(again.summary()) == str(results.summary())
    np.testing.assert_array_equal(again.cov_params(), results.cov_params())
    np.testing.assert_array_equal(again.linear_cov, results.linear_cov)


def test_documents_of_the_first_release_say_what_to_do():
    krr = ldp.KRR(3, 1.0)
    pairs = ldp.JointCounts.from_table([[30, 20, 10], [10, 20, 30], [20, 20, 20]], (krr, krr))
    joint = ldp.AssociationModel(pairs).fit()
    lacking = {"law", "caution", "linear_method"}
    for results in (fitted(size=4), joint):
        document = {k: v for k, v in results.to_dict().items() if k not in lacking}
        with pytest.raises(
            InvalidArgument, match=r"ldpstats 0\.1\.0 wrote .*: fit the reports again"
        ):
            type(results).from_json(json.dumps(document | {"version": 1}))
        with pytest.raises(InvalidArgument, match=r"'law'.*are fields that it lacks"):
            type(results).from_dict(document)


@pytest.mark.parametrize("version", [0, 3, True, 2.0, "2", None])
def test_documents_of_other_versions_are_refused(version):
    document = fitted(size=4).to_dict()
    assert document["version"] == 2  # an older release says so of what it cannot read
    with pytest.raises(InvalidArgument, match=r'"version": 2$'):
        ldp.FrequencyResults.from_dict(document | {"version": version})


@pytest.mark.parametrize(
    "damage",
    [
        {"base64": "?"},
        {"base64": "AAAA"},
        {"shape": [3, 3]},
        {"shape": None},
        {"dtype": "object"},
    ],
)
def test_damaged_arrays_are_refused(damage):
    document = fitted().to_dict()
    document["linear"]["covariance"]["core"] |= damage
    with pytest.raises(InvalidArgument, match=r"damaged|core|factors"):
        ldp.FrequencyResults.from_dict(document)
