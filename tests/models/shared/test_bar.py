"""Bars of what takes long: results are those without one."""

from contextlib import contextmanager

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.models import plots as bar

KRR = ldp.KRR(3, epsilon=2.0)


@pytest.fixture
def told(monkeypatch):
    """What bars were told: (what, fraction)."""
    seen: list[tuple[str, float]] = []

    @contextmanager
    def heard(what):
        yield lambda fraction: seen.append((what, fraction))

    monkeypatch.setattr(bar, "progress_bar", heard)
    return seen


def pair():
    rng = np.random.default_rng(1)
    return ldp.AssociationModel(*(KRR.privatize(rng.integers(0, 3, 60), rng) for _ in range(2)))


CALLS = {
    "fitting": lambda m, **how: m.fit("em", **how).summary(),
    "bootstrap": lambda m, **how: m.fit().conf_int(
        method="bootstrap", model=m, rng=np.random.default_rng(1), n_boot=39, **how
    ),
    "profiles": lambda m, **how: m.fit().conf_int(method="profile", model=m, **how),
    "score test": lambda m, **how: m.test_independence(
        m.fit(), rng=np.random.default_rng(1), n_permutations=19, **how
    ),
    "bootstrap test": lambda m, **how: m.test_independence(
        m.fit(), "bootstrap", rng=np.random.default_rng(1), n_boot=9, **how
    ),
}


@pytest.mark.filterwarnings("ignore::ldpstats.LDPWarning")
@pytest.mark.parametrize("what", CALLS)
def test_progress_is_told_from_beginning_to_end(what, told):
    single = ldp.FrequencyModel(KRR.counts([40, 30, 20]))
    model = pair() if what == "fitting" or what.endswith("test") else single
    plain = CALLS[what](model)
    assert not told
    shown = CALLS[what](model, progress=True)
    assert str(plain) == str(shown)
    fractions = [fraction for name, fraction in told if name == what]
    assert len(fractions) == len(told)
    assert fractions == sorted(fractions) and fractions[0] >= 0.0 and fractions[-1] == 1.0
    with pytest.raises(ldp.InvalidArgument, match="progress="):
        CALLS[what](model, progress="yes")


def test_replicates_are_counted_before_they_are_drawn(monkeypatch):
    model = ldp.FrequencyModel(KRR.counts([40, 30, 20]))
    monkeypatch.setattr(ldp.KRR, "draw", lambda *_: pytest.fail("drawn"))
    with pytest.raises(ldp.InvalidArgument, match=r"n_boot=38: .*39"):
        model.fit().conf_int(
            method="bootstrap", model=model, rng=np.random.default_rng(1), n_boot=38
        )
