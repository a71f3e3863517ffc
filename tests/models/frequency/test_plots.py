"""Plots show every label and every estimate, whatever they are."""

from __future__ import annotations

import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.models.plots import draw_estimates, percent_text

SPECIAL = ("x^2", "50% & more", "a_b#{c}", r"\input{x}~", "<script>alert(1)</script>", "$x$|y")
LONG = ("wrapped\nand\ttabbed", "word " * 40, "x" * 200, "short")


def fitted(labels: Any, counts: list[int], method: str | None = None) -> ldp.FrequencyResults:
    return ldp.FrequencyModel(ldp.KRR(labels, epsilon=1.0).counts(counts)).fit(method)


# -- plots ---------------------------------------------------------------------------------


def test_estimates_outside_the_unit_interval_are_within_the_limits() -> None:
    k = 60
    with pytest.warns(ldp.MisfitWarning):
        results = fitted(k, [9_000, 900, *[10] * (k - 2)], "inversion")
    assert results.params.min() < 0 and results.params.max() > 1
    ax = results.plot(truth=np.full(k, 1 / k))
    low, high = ax.get_xlim()
    frame = results.summary_frame()[["params", "lower", "upper"]].nlargest(25, "params")
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


@pytest.mark.parametrize("k", [2, 41])
def test_the_legend_lies_below_the_axes_and_inside_the_figure(k: int) -> None:
    ax = fitted(k, [100] * k).plot(truth=np.full(k, 1 / k))
    renderer = drawn(ax)
    legend = ax.get_legend().get_window_extent(renderer)
    assert legend.y1 <= ax.xaxis.label.get_window_extent(renderer).y0 + 1  # a pixel for rounding
    assert legend.y0 >= 0
    assert ax.bbox.y1 <= ax.title.get_window_extent(renderer).y0
    assert ax.bbox.height > 0.3 * ax.figure.bbox.height


def short() -> ldp.FrequencyResults:
    return fitted(("a", "b", "c"), [420, 330, 250])


@pytest.mark.parametrize("labels", [LONG, SPECIAL])
def test_labels_are_drawn_as_they_are(labels: tuple[str, ...]) -> None:
    ax = fitted(labels, [100] * len(labels)).plot(most=40)
    renderer = drawn(ax)
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert len(shown) == len(labels) and max(map(len, shown)) <= 32
    assert not any("\n" in text or "\t" in text for text in shown)
    assert not any(re.search(r"(?<!\\)\$", text) for text in shown)  # no mathematics
    for text in ax.get_yticklabels():
        assert text.get_window_extent(renderer).x0 >= 0
    assert ax.bbox.width > 0.5 * ax.figure.bbox.width


def rows(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def line(ax: Any, label: str) -> Any:
    (found,) = (x for x in ax.get_lines() if x.get_label() == label)
    return found


def test_of_many_categories_the_largest_are_named() -> None:
    n = np.random.default_rng(4).permutation(500) + 100_000
    results = fitted(500, n.tolist(), "inversion")
    largest = results.params.nlargest(25)
    ax = results.plot(truth=np.arange(500) / 1e6)
    drawn(ax)
    assert rows(ax) == [*map(str, largest.index), "and 475 more"]
    np.testing.assert_array_equal(line(ax, "estimate").get_xdata(), largest)
    np.testing.assert_array_equal(line(ax, "truth").get_xdata(), np.array(largest.index) / 1e6)
    ax = results.plot(sort=False, most=3)
    assert rows(ax) == [*map(str, sorted(largest.index[:3])), "and 497 more"]
    assert len(rows(results.plot(most=60))) == 61


@pytest.mark.parametrize(("sort", "order"), [(True, "bca"), ("none", "abc"), (np.True_, "bca")])
def test_rows_are_sorted_by_the_estimate(sort: Any, order: str) -> None:
    results = fitted(("a", "b", "c"), [250, 420, 330])
    ax = results.plot(sort=sort)
    assert rows(ax) == list(order)
    np.testing.assert_array_equal(line(ax, "estimate").get_xdata(), results.params[list(order)])
    assert line(ax, "estimate").get_ydata().tolist() == [2, 1, 0]


def test_ties_at_zero_are_in_order_of_the_unconstrained_estimate() -> None:
    results = fitted(("a", "b", "c", "d"), [225, 230, 640, 228])
    assert (results.params < 1e-9).sum() == 3
    assert rows(results.plot()) == ["c", "b", "d", "a"]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"sort": "x"}, "sort='x': must be True"),
        ({"most": 0}, "most=0"),
        ({"title": 3}, "title=3: must be text"),
    ],
)
def test_refusals(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=match):
        short().plot(**given)
    assert not plt.get_fignums()  # refused before a figure is made


def test_frequencies_are_in_percent() -> None:
    ax = short().plot()
    drawn(ax)
    assert [t.get_text() for t in ax.get_xticklabels()][1:3] == ["0%", "10%"]
    found = {percent_text(x) for x in (0.3, 0.1 + 0.2, -0.0, 0.025, 1e-4, 1e-9, -0.5, 1.0)}
    assert found == {"30%", "0%", "2.5%", "0.01%", "0.0000001%", "-50%", "100%"}


def test_titles() -> None:
    counts = ldp.KRR(3, epsilon=1.0).counts([420, 330, 250])
    named = ldp.FrequencyModel(counts, name="cost in $ and $").fit()
    ax = named.plot()
    drawn(ax)
    text = ax.get_title()
    assert text.replace("\\$", "$") == "cost in $ and $\nKRR(k=3, epsilon=1), n = 1,000"
    assert not re.search(r"(?<!\\)\$", text)
    assert named.plot(title="").get_title() == ""
    ax = named.plot(title="a\ud800b\x00c\td")
    drawn(ax)
    assert ax.get_title() == "a b c d"
    assert named.plot(title="Mine\nand yours").get_title() == "Mine\nand yours"
    assert len(named.plot(title="word " * 30).get_title().splitlines()) > 1


def test_intervals_that_are_too_short_to_see_have_a_mark() -> None:
    frame = pd.DataFrame(
        [[0.0, 0.0, 0.0], [0.9, 1.0, 1.0], [0.5, 0.4, 0.6], [0.3, 0.3, 0.3001]],
        columns=["params", "lower", "upper"],
    )
    ax = plt.subplots()[1]
    draw_estimates(ax, np.arange(4), frame, "95% interval")
    marks = line(ax, "95% interval too short to see")
    assert marks.get_xdata().tolist() == [0.0, 1.0] and marks.get_ydata().tolist() == [0, 1]
    assert marks.get_markersize() > line(ax, "estimate").get_markersize() + 4
    unknown = frame.assign(lower=np.nan, upper=np.nan)
    ax = plt.subplots()[1]
    draw_estimates(ax, np.arange(4), unknown, "95% interval")
    assert [x.get_label() for x in ax.get_lines()][1:] == ["estimate"] and not ax.collections


def overlapping(boxes: list[Any]) -> bool:
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize(
    ("layout", "shape"), [(None, (2, 2)), ("constrained", (1, 1)), ("tight", (1, 2))]
)
def test_axes_of_a_grid_keep_apart(layout: Any, shape: tuple[int, int]) -> None:
    names = [f"a-host-{i}.example.org" for i in range(30)]
    results = fitted(names, [100] * 30)
    figure, grid = plt.subplots(*shape, figsize=(9.0, 7.0), layout=layout, squeeze=False)
    for ax in grid.flat:
        results.plot(ax=ax, most=12)
    renderer = drawn(grid[0, 0])
    extents = [ax.get_tightbbox(renderer) for ax in grid.flat]
    assert not overlapping(extents)
    whole = figure.bbox.padded(1)
    assert all(whole.contains(b.x0, b.y0) and whole.contains(b.x1, b.y1) for b in extents)
    for ax in grid.flat:
        assert not overlapping([t.get_window_extent(renderer) for t in ax.get_yticklabels()])
        assert not overlapping([t.get_window_extent(renderer) for t in ax.get_xticklabels()])
        legend = ax.get_legend().get_window_extent(renderer)
        assert not legend.overlaps(ax.bbox)


def test_axes_in_a_part_of_a_figure() -> None:
    figure = plt.figure(figsize=(8.0, 3.0))
    first, second = (part.subplots() for part in figure.subfigures(1, 2))
    for ax in (first, second):
        short().plot(ax=ax)
    renderer = drawn(first)
    assert first.get_tightbbox(renderer).x1 <= 401 and second.get_tightbbox(renderer).x0 >= 399
    assert first.bbox.width > 200
    with pytest.raises(ldp.InvalidArgument, match="ax="):
        short().plot(ax=figure)


@pytest.mark.parametrize(
    "truth",
    [
        [0.5, 0.5, np.inf],
        pd.Series([0.5, 0.5, np.nan], index=["a", "b", "c"]),
        pd.Series([0.5, 0.2, 0.3], index=["a", "b", "b"]),
        [[0.5], [0.1, 0.4]],
    ],
    ids=["inf", "nan in a Series", "label twice", "ragged"],
)
def test_truth_must_be_numbers(truth: Any) -> None:
    with pytest.raises(ldp.InvalidArgument, match="truth"):
        short().plot(truth=truth)


@pytest.mark.parametrize("ax", ["ax", np.zeros(2)])
def test_ax_must_be_axes(ax: Any) -> None:
    with pytest.raises(ldp.InvalidArgument, match="ax="):
        short().plot(ax=ax)


def test_axes_must_be_rectangular() -> None:
    round_axes = plt.subplots(subplot_kw={"projection": "polar"})[1]
    with pytest.raises(ldp.InvalidArgument, match="ax='polar': must be rectangular"):
        short().plot(ax=round_axes)


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_long_labels_leave_room_for_title_and_legend(layout: Any) -> None:
    figure, ax = plt.subplots(figsize=(4.0, 3.0), layout=layout)
    fitted(("a" * 25, "b"), [400, 300]).plot(ax=ax, title="A title of several words")
    drawn(ax)
    for box in (ax.get_legend().get_window_extent(), ax.title.get_window_extent()):
        assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1


def test_truth_is_matched_by_label() -> None:
    truth = pd.Series([0.1, 0.3, 0.6], index=["c", "b", "a"])
    ax = short().plot(truth=truth)
    (line,) = (x for x in ax.get_lines() if x.get_label() == "truth")
    assert line.get_xdata().tolist() == [0.6, 0.3, 0.1]


# -- plots of candidates ---------------------------------------------------------------------------


def of_candidates(names: list[str]) -> ldp.FrequencyResults:
    rappor = ldp.RAPPOR(128, 2, 32, f=0.5, p=0.25, q=0.75, hashing="google")
    p = np.full(len(names), 1 / len(names))
    counts = rappor.draw(p, 50_000, np.random.default_rng(1), candidates=names)
    return ldp.FrequencyModel(counts, candidates=names).fit()


HOST = "a-rather-long-host-name-{}.department.example.org"


def test_everything_is_inside_the_figure() -> None:
    ax = of_candidates([HOST.format(i) for i in range(40)]).plot()
    renderer = drawn(ax)
    title = ax.title.get_window_extent(renderer)
    assert title.x0 >= 0 and title.x1 <= ax.figure.bbox.width
    assert title.y0 >= ax.bbox.y1 and title.y1 <= ax.figure.bbox.height
    assert min(text.get_window_extent(renderer).x0 for text in ax.get_yticklabels()) >= 0
    assert ax.bbox.width > 0.5 * ax.figure.bbox.width
    legend = ax.get_legend().get_window_extent(renderer)
    assert legend.x0 >= 0 and legend.x1 <= ax.figure.bbox.width
    assert ax.get_title().replace("\n", " ").startswith("RAPPOR(n_bits=128, n_hashes=2,")
