"""The plot of precision against privacy."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import InvalidArgument

GRID = [0.25, 1.0, 4.0]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def lines(ax: Any) -> dict[str, np.ndarray]:
    return {line.get_label(): np.array(line.get_data()) for line in ax.get_lines()}


def test_lines_are_standard_errors():
    p = [0.6, 0.3, 0.1]
    ax = planning.plot_frontier(["krr", "oue"], 3, p, n=500, epsilons=GRID)
    drawn = lines(ax)
    assert set(drawn) == {"frontier", "k-RR", "OUE", "without privacy"}
    krr = [planning.precision(ldp.KRR(3, e), p, 500).se.max() for e in GRID]
    oue = [planning.precision(ldp.KRAPPOR(3, e, theta=0.5), p, 500).se.max() for e in GRID]
    assert np.allclose(drawn["k-RR"], [GRID, krr])
    assert np.allclose(drawn["OUE"][1], oue)
    assert np.allclose(drawn["frontier"][1], np.minimum(krr, oue))
    direct = planning.precision(ldp.Observed(3), p, 500).se.max()
    assert np.allclose(drawn["without privacy"][1], direct)
    assert ax.get_title() == "3 categories, n = 500"
    assert ax.get_ylabel() == "largest standard error"


def test_lines_are_respondents_and_points_mechanisms():
    jobs = ("nurse", "cook", "driver")
    law = pd.Series([0.2, 0.3, 0.5], jobs[::-1])
    points = [ldp.URR(jobs, ["cook"], 1.5), ldp.ORR(4, 8, epsilon=2.0)]
    how: dict[str, Any] = {"se": 0.02, "category": "cook", "design_effect": 1.5}
    ax = planning.plot_frontier(["krr", *points], jobs, law, epsilons=GRID, **how)
    drawn = lines(ax)
    needed = [planning.sample_size(ldp.KRR(jobs, e), law, **how) for e in GRID]
    assert np.allclose(drawn["k-RR"][1], needed)
    n = planning.sample_size(points[1], law[list(jobs)], candidates=jobs, **how)
    assert np.allclose(drawn[str(points[1])].ravel(), [2.0, n])
    assert "frontier" not in drawn
    assert ax.get_ylabel() == "respondents for a standard error of cook: 2%"


def test_default_kinds_and_given_axes():
    figure, (left, right) = plt.subplots(1, 2)
    assert planning.plot_frontier(None, 2, n=100, epsilons=GRID, ax=left, title="A $b$") is left
    assert {"Warner", "k-RR", "k-RAPPOR", "OUE"} < set(lines(left))
    planning.plot_frontier([ldp.KRR(4, 1.0)], n=100, ax=right, title="")
    assert right.get_title() == "" and left.get_title() == r"A \$b\$"
    figure.canvas.draw()
    whole = figure.bbox
    for ax in (left, right):
        box = ax.get_legend().get_window_extent()
        assert box.y0 >= whole.y0 - 1 and box.y1 <= ax.bbox.y0


BAD: dict[str, list[Any]] = {
    "n": [{"n": None}, {"se": 0.1}, {"n": 0}],
    "se": [{"n": None, "se": 0.0}],
    "categories": [{"categories": None}],
    "mechanisms": [
        *({"mechanisms": []}, {"mechanisms": "krr"}, {"mechanisms": ["warner"]}),
        *({"mechanisms": [ldp.KRR(4, 1.0)]}, {"mechanisms": [ldp.Observed(3)]}),
    ],
    "mechanisms[0]": [{"mechanisms": ["k-rr"]}],
    "mechanisms[1]": [{"mechanisms": ["krr", 3]}],
    "epsilons": [{"epsilons": [1.0]}, {"epsilons": 3}],
    "epsilons[1]": [{"epsilons": [1.0, -1.0]}],
    "p": [{"p": [0.5, 0.5]}],
    "category": [{"category": 7}],
    "design_effect": [{"design_effect": 0}],
    "ax": [{"ax": "plot"}],
    "title": [{"title": 3}],
}


@pytest.mark.parametrize(
    ("given", "name"), [(one, name) for name, several in BAD.items() for one in several]
)
def test_bad_arguments_are_named(given, name):
    good = {"mechanisms": ["krr"], "categories": 3, "n": 10, "epsilons": [1.0, 2.0]}
    with pytest.raises(InvalidArgument) as caught:
        planning.plot_frontier(**(good | given))
    assert caught.value.name == name
    assert not plt.get_fignums()
