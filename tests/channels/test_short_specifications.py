"""A specification of a few bytes may stand for 300 million categories: its audit costs nothing."""

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import labels
from ldpstats.mechanisms import LumpedUnary
from ldpstats.mechanisms.hashed import most_different

K = 300_000_000
MEGABYTES, SECONDS = 200, 2.0

# each with the epsilon that its audit must find
SHORT: dict[str, tuple[dict[str, Any], float]] = {
    "krr": ({"mechanism": "KRR", "categories": K, "epsilon": 1.5}, 1.5),
    "krappor": ({"mechanism": "KRAPPOR", "categories": K, "epsilon": 1.5, "theta": None}, 1.5),
    "oue": ({"mechanism": "KRAPPOR", "categories": K, "epsilon": 1.5, "theta": 0.5}, 1.5),
    "lumped": (
        {"mechanism": "LumpedUnary", "categories": K, "p1": 0.75, "p0": 0.25},
        2 * np.log(3),
    ),
}
for kind, extra in (("URR", "levels"), ("URAP", "theta")):
    for name, hidden in (("some", [0, K - 1]), ("as floats", [0.0, 7.0]), ("none", [])):
        document = {"mechanism": kind, "categories": K, "sensitive": hidden, "epsilon": 1.5}
        SHORT[f"{kind} {name}"] = (document | {extra: None}, 1.5 if hidden else 0.0)
given = {"mechanism": "URR", "categories": K, "sensitive": [3, K - 1], "epsilon": 2.0}
SHORT["URR levels"] = (given | {"levels": [0.5, 2.0]}, 2.0)
given = {"mechanism": "URAP", "categories": K, "sensitive": [3, K - 1], "epsilon": 2.0}
SHORT["URAP theta"] = (given | {"theta": 0.4}, 2.0)
for name, cells, cohorts, alphabet in (
    ("alphabet", 64, 8, K),
    ("cells", K, 4, None),
    ("cohorts", 4, K, None),
    ("cells and alphabet", K, 4, K),
):
    sizes = {"n_cohorts": cohorts, "alphabet": alphabet}
    given = {"mechanism": "ORR", "n_outputs": cells, "epsilon": 1.5}
    SHORT[f"ORR {name}"] = (given | sizes, 1.5)
    given = {"mechanism": "ORAPPOR", "n_bits": cells, "n_hashes": 2, "epsilon": 1.5}
    SHORT[f"ORAPPOR {name}"] = (given | sizes, 1.5)
    given = {"mechanism": "RAPPOR", "n_bits": cells, "n_hashes": 2, "hashing": "ldpstats"}
    noise = {"f": 0.0, "p": 0.25, "q": 0.75}
    SHORT[f"RAPPOR {name}"] = (given | sizes | noise, 4 * np.log(3))

AUDITS = """
import contextlib, io, json, resource, sys, time
import ldpstats.mechanisms
from ldpstats.cli import main
from ldpstats.io import read_mechanism, write_mechanism

def written(document, path):
    fields = {name: value for name, value in document.items() if name != "mechanism"}
    write_mechanism(getattr(ldpstats.mechanisms, document["mechanism"])(**fields), path)
    return path

def audit(path):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(["audit", path, "--json"])
    return status, out.getvalue()

folder, megabytes, documents = sys.argv[1:]
# this imports what an audit needs
audit(written({"mechanism": "KRR", "categories": 2, "epsilon": 1.0}, f"{folder}/small.json"))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + int(megabytes) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = []
for number, document in enumerate(json.loads(documents)):
    start = time.process_time()
    try:
        path = written(document, f"{folder}/{number}.json")
        status, text = audit(path)
        mechanism = read_mechanism(path)
        text_forms = str(mechanism), mechanism.fingerprint, mechanism.to_dict()
        again = type(mechanism).from_dict(text_forms[2]) == mechanism
    except MemoryError:
        status, text, again = -1, "MemoryError", False
    found.append((status, text, again, time.process_time() - start))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """What the command line says of each file, in a process that may take little more memory."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("the memory of a process is limited where /proc says how much it has")
    folder = tmp_path_factory.mktemp("specifications")
    documents = json.dumps([document for document, _ in SHORT.values()])
    root = str(Path(ldp.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", AUDITS, folder, str(MEGABYTES), documents],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return dict(zip(SHORT, json.loads(run.stdout), strict=True))


@pytest.mark.parametrize("name", SHORT)
def test_an_audit_in_constant_memory(name, audits):
    status, text, again, seconds = audits[name]
    expected = SHORT[name][1]
    # where no category is sensitive nothing is protected, and the audit says so
    assert status == (0 if expected else 1) and again, text
    audit = json.loads(text)
    assert audit["channel"] == pytest.approx(expected, abs=1e-12)
    assert audit["sampler"] == pytest.approx(expected, rel=1e-9)
    assert seconds < SECONDS  # of the processor: a hundred times what it takes


def test_revealed_answers_of_many_categories_have_a_number():
    assert ldp.URAP(K, [1], epsilon=1.0).format.packed_bits == 8 + 32
    assert ldp.URAP(1 << 40, [1], epsilon=1.0).format.packed_bits == 8 + 64


# -- the closed forms are the values of the matrix ---------------------------------------------


def epsilons(seed: int, size: int = 1) -> list[float]:
    """Random levels of privacy from 1e-4 to 12, the ends among them."""
    rng = np.random.default_rng(seed)
    return [1e-4, 12.0, *np.exp(rng.uniform(np.log(1e-4), np.log(12.0), size)).tolist()]


def same_as_dense(channel: ldp.channels.Channel, k: int) -> None:
    """Compare both kinds of epsilon with those of all entries of Q, whatever is sensitive."""
    Q = ldp.channels.Dense(channel.matrix())
    # a log ratio of entries of Q has an error of some units of machine precision
    assert channel.epsilon() == pytest.approx(Q.epsilon(), rel=1e-12, abs=1e-14)
    for size in range(k + 1):
        for sensitive in combinations(range(k), size):
            found = channel.protected_epsilon(np.array(sensitive, dtype=np.int64))
            expected = ldp.privacy.uldp(Q, list(sensitive)).epsilon
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)
            assert found == ldp.privacy.uldp(channel, list(sensitive)).epsilon


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("epsilon", epsilons(1))
def test_closed_forms_of_all_sensitive_sets(k, epsilon):
    same_as_dense(ldp.KRR(k, epsilon).channel(), k)
    same_as_dense(ldp.KRAPPOR(k, epsilon).channel(), k)
    same_as_dense(ldp.KRAPPOR(k, epsilon, theta=0.3).channel(), k)
    for size in range(k + 1):
        hidden = list(range(k))[::-1][:size]
        same_as_dense(ldp.URR(k, hidden, epsilon).channel(), k)
        same_as_dense(ldp.URAP(k, hidden, epsilon).channel(), k)
        same_as_dense(ldp.URAP(k, hidden, epsilon, theta=0.6).channel(), k)
        if size:
            levels = {x: epsilon * (x + 1) / (k + 1) for x in hidden}
            same_as_dense(ldp.URR(k, epsilon=levels).channel(), k)


@pytest.mark.parametrize("k", [2, 3, 9])
def test_a_range_of_bits_is_the_array(k):
    listed, spread = (
        ldp.channels.Bits(own, k, 0.7, 0.2) for own in (np.arange(k)[:, None], range(k))
    )
    assert spread.unary and spread.shape == listed.shape
    assert spread.epsilon() == listed.epsilon()
    np.testing.assert_array_equal(spread.design(), listed.design())
    np.testing.assert_array_equal(spread.matrix(), listed.matrix())
    every = LumpedUnary(k + 1, 0.7, 0.2).channel()
    assert not every.unary and every.epsilon() == pytest.approx(
        ldp.channels.Dense(every.matrix()).epsilon()
    )


@pytest.mark.parametrize("seed", range(20))
def test_bits_that_nobody_owns_tell_nobody_apart(seed):
    rng = np.random.default_rng(seed)
    members = rng.integers(0, 8, (int(rng.integers(2, 5)), int(rng.integers(1, 4))))
    channel = ldp.channels.Bits(members, 10, *rng.uniform(0.05, 0.95, 2))
    assert channel.epsilon() == pytest.approx(
        ldp.channels.Dense(channel.matrix()).epsilon(), abs=1e-12
    )
    wide = ldp.channels.Bits(members, 300_000_000, channel.p1, channel.p0)
    assert wide.epsilon() == channel.epsilon()


def enumerated(m: int, h: int, up: float, down: float) -> float:
    """Largest ``a up + b down`` over all pairs of Bloom filters of m bits and up to h hashes."""
    sizes = [
        (a, b)
        for a in range(m + 1)
        for b in range(m + 1)
        for both in range(m + 1)
        if 1 <= a + both <= h and 1 <= b + both <= h and a + b + both <= m
    ]
    return max(a * up + b * down for a, b in sizes)


@pytest.mark.parametrize("m", range(2, 9))
@pytest.mark.parametrize("h", range(1, 11))
def test_the_most_different_filters(m, h):
    rng = np.random.default_rng(m * 100 + h)
    for up, down in [(1.0, 1.0), (1e-9, 3.0), (3.0, 1e-9), *rng.exponential(size=(10, 2))]:
        a, b = most_different(m, h, up, down)
        assert a * up + b * down == pytest.approx(enumerated(m, h, up, down), rel=1e-12)
    assert most_different(300_000_000, 65_535, 1.0, 1.0) == (65_535, 65_535)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        [1.0, 2.0],
        [1.5, 2.0],
        [-1, 5],
        [float("inf"), 1.0],
        [1 << 70],
        ["a"],
        [True],
        [],
        np.array([1, "a", 2.0, True, b"x", (1, 2)], dtype=object),
        pd.Categorical([1, 2, 1]),
        pd.Categorical(["1"]),
        pd.array([1, 2], dtype="Int64"),
    ],
    ids=repr,
)
def test_many_labels_are_found_as_few_are(values, monkeypatch):
    def found() -> object:
        try:
            return labels.encode("values", values, pd.RangeIndex(10))[0].tolist()
        except ldp.UnknownCategory as error:
            return str(error)

    few = found()
    monkeypatch.setattr(labels, "_MANY_LABELS", 5)
    assert found() == few
