"""Plots show every label and every estimate, whatever they are."""

from __future__ import annotations

import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

SPECIAL = ("x^2", "50% & more", "a_b#{c}", r"\input{x}~", "<script>alert(1)</script>", "$x$|y")
LONG = ("wrapped\nand\ttabbed", "word " * 40, "x" * 200, "short")


def fitted(labels: Any, counts: list[int], method: str | None = None) -> ldp.FrequencyResults:
    return ldp.FrequencyModel(ldp.KRR(labels, epsilon=1.0).counts(counts)).fit(method)


# -- plots ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [3, 60])
def test_estimates_outside_the_unit_interval_are_within_the_limits(k: int) -> None:
    with pytest.warns(ldp.MisfitWarning):
        results = fitted(k, [9_000, 900, *[10] * (k - 2)], "inversion")
    assert results.params.min() < 0 and results.params.max() > 1
    ax = results.plot(truth=np.full(k, 1 / k))
    low, high = ax.get_xlim() if k < 40 else ax.get_ylim()
    frame = results.summary_frame()[["params", "lower", "upper"]]
    assert low < frame.min().min() and high > frame.max().max()
    assert low <= 0.0


def drawn(ax: Any) -> Any:
    ax.figure.canvas.draw()  # where matplotlib would warn
    return ax.figure.canvas.get_renderer()


def test_markers_at_zero_are_not_cut() -> None:
    ax = fitted(("a", "b", "c"), [1140, 480, 380]).plot()
    drawn(ax)
    (line,) = (x for x in ax.get_lines() if x.get_label() == "estimate")
    centre = ax.transData.transform((0.0, 0.0))[0]
    radius = line.get_markersize() / 2 * ax.figure.dpi / 72
    assert ax.bbox.x0 < centre - radius


@pytest.mark.parametrize("k", [2, 5, 40, 41])
def test_the_legend_lies_below_the_axes_and_inside_the_figure(k: int) -> None:
    ax = fitted(k, [100] * k).plot(truth=np.full(k, 1 / k))
    renderer = drawn(ax)
    legend = ax.get_legend().get_window_extent(renderer)
    assert legend.y1 <= ax.xaxis.label.get_window_extent(renderer).y0 + 1  # a pixel for rounding
    assert legend.y0 >= 0
    assert ax.bbox.y1 <= ax.title.get_window_extent(renderer).y0
    assert ax.bbox.height > 0.3 * ax.figure.bbox.height


def surveys() -> dict[str, ldp.FrequencyResults]:
    exact = ldp.CustomMechanism(np.eye(3)).counts([570, 320, 110])
    noisy = ldp.KRR(3, epsilon=1.0).counts([420, 330, 250])
    many = ldp.KRR(3, epsilon=1.0).counts([4 * 10**15, 3 * 10**15, 2 * 10**15])
    return {
        "short": fitted(("a", "b", "c"), [420, 330, 250]),
        "long labels": fitted(LONG, [420, 330, 250, 300]),
        "infinite epsilon": ldp.FrequencyModel(exact).fit(),
        "constrained": ldp.FrequencyModel(noisy).fit(constraints=lambda p: [p[0] == 0.4]),
        "several": ldp.FrequencyModel([noisy, exact]).fit(),
        "many reports": ldp.FrequencyModel(many).fit("inversion"),
    }


def test_the_legend_is_below_axes_of_the_callers_own() -> None:
    ax = surveys()["short"].plot(ax=plt.subplots()[1])
    renderer = drawn(ax)
    label = ax.xaxis.label.get_window_extent(renderer)
    assert ax.get_legend().get_window_extent(renderer).y1 <= label.y0 + 1


@pytest.mark.parametrize("labels", [LONG, SPECIAL, tuple(f"category {i}" for i in range(40))])
def test_labels_are_drawn_as_they_are(labels: tuple[str, ...]) -> None:
    ax = fitted(labels, [100] * len(labels)).plot()
    renderer = drawn(ax)
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert len(shown) == len(labels) and max(map(len, shown)) <= 32
    assert not any("\n" in text or "\t" in text for text in shown)
    assert not any(re.search(r"(?<!\\)\$", text) for text in shown)  # no mathematics
    for text in ax.get_yticklabels():
        assert text.get_window_extent(renderer).x0 >= 0
    assert ax.bbox.width > 0.5 * ax.figure.bbox.width


def test_many_categories_are_drawn_against_their_rank() -> None:
    ax = fitted(500, [100] * 500).plot()
    drawn(ax)
    assert "rank" in ax.get_xlabel() and len(ax.get_yticklabels()) < 20


def test_title_counts_the_mechanisms() -> None:
    found = surveys()
    assert found["several"].plot().get_title() == "2 mechanisms, n = 2,000"
    assert found["short"].plot().get_title() == "KRR(k=3, epsilon=1), n = 1,000"


@pytest.mark.parametrize(
    "truth",
    [
        [0.5, 0.5, np.nan],
        [0.5, 0.5, np.inf],
        pd.Series([0.5, 0.5, np.nan], index=["a", "b", "c"]),
        pd.Series([0.5, 0.2, 0.3], index=["a", "b", "b"]),
        [[0.5], [0.1, 0.4]],
    ],
    ids=["nan", "inf", "nan in a Series", "label twice", "ragged"],
)
def test_truth_must_be_numbers(truth: Any) -> None:
    with pytest.raises(ldp.InvalidArgument, match="truth"):
        surveys()["short"].plot(truth=truth)


@pytest.mark.parametrize("ax", ["ax", 1, np.zeros(2)])
def test_ax_must_be_axes(ax: Any) -> None:
    with pytest.raises(ldp.InvalidArgument, match="ax="):
        surveys()["short"].plot(ax=ax)


def test_truth_is_matched_by_label() -> None:
    truth = pd.Series([0.1, 0.3, 0.6], index=["c", "b", "a"])
    ax = surveys()["short"].plot(truth=truth)
    (line,) = (x for x in ax.get_lines() if x.get_label() == "truth")
    assert line.get_xdata().tolist() == [0.6, 0.3, 0.1]


# -- plots of candidates ---------------------------------------------------------------------------


def of_candidates(names: list[str]) -> ldp.FrequencyResults:
    rappor = ldp.RAPPOR(128, 2, 32, f=0.5, p=0.25, q=0.75, hashing="google")
    p = np.full(len(names), 1 / len(names))
    counts = rappor.draw(p, 50_000, np.random.default_rng(1), candidates=names)
    return ldp.FrequencyModel(counts, candidates=names).fit()


HOST = "a-rather-long-host-name-{}.department.example.org"


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b", "c"],
        [HOST.format(i) for i in range(40)],
        [f"{'W' * 80}{i}" for i in range(5)],
        [f"host{i}" for i in range(41)],
    ],
    ids=["short", "long", "wide", "many"],
)
def test_everything_is_inside_the_figure(names: list[str]) -> None:
    ax = of_candidates(names).plot()
    renderer = drawn(ax)
    title = ax.title.get_window_extent(renderer)
    assert title.x0 >= 0 and title.x1 <= ax.figure.bbox.width
    assert title.y0 >= ax.bbox.y1 and title.y1 <= ax.figure.bbox.height
    assert min(text.get_window_extent(renderer).x0 for text in ax.get_yticklabels()) >= 0
    assert ax.bbox.width > 0.5 * ax.figure.bbox.width
    legend = ax.get_legend().get_window_extent(renderer)
    assert legend.x0 >= 0 and legend.x1 <= ax.figure.bbox.width
    assert ax.get_title().replace("\n", " ").startswith("RAPPOR(n_bits=128, n_hashes=2,")


def test_labels_of_the_same_ends_are_told_apart() -> None:
    ax = of_candidates([HOST.format(i) for i in range(40)]).plot()
    assert len({text.get_text() for text in ax.get_yticklabels()}) == 40


def test_axes_of_the_callers_own_keep_their_figure() -> None:
    figure, ax = plt.subplots(figsize=(4.0, 3.0))
    of_candidates([HOST.format(i) for i in range(3)]).plot(ax=ax)
    assert figure.get_size_inches().tolist() == [4.0, 3.0]
