"""What the plots of joint tables draw, and that all of it is inside the figure."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_hex, to_rgb

import ldpstats as ldp
from ldpstats.models.association import plots
from ldpstats.models.association.plots import merging, plot_heat_map

LONG = ("wrapped\nand\ttabbed", "word " * 40, "x" * 200)
GREY = "#e0e0e0"


def a_table(k1: int, k2: int, rows: Any = None, columns: Any = None) -> pd.DataFrame:
    p = np.random.default_rng([k1, k2]).dirichlet(np.full(k1 * k2, 2.0)).reshape(k1, k2)
    index = pd.Index(rows or [f"row {i}" for i in range(k1)], name="occupation")
    return pd.DataFrame(p, index, pd.Index(columns or [f"c{j}" for j in range(k2)], name="affairs"))


TABLE = pd.DataFrame(
    [[0.25, 0.15, 0.1], [0.2, 0.29, 0.01]],
    pd.Index(["a", "b"], name="X1"),
    pd.Index(["u", "v", "w"], name="Y1"),
)
LOW, HIGH = (TABLE - 0.02).clip(lower=0.0), TABLE + 0.02
Z = np.array([[3.0, -3.0, 1.9], [-9.0, 9.0, -1.9]])


def plot_mosaic(table: pd.DataFrame, low: pd.DataFrame, *_: Any, z: Any = None, **how: Any) -> Any:
    """With the boundaries themselves for their intervals, and no departures."""
    at = table.div(table.sum(axis=1).replace(0.0, 1.0), axis=0).cumsum(axis=1).to_numpy()[:, :-1]
    how.setdefault("bars", (at, at))
    return plots.plot_mosaic(
        table, low.to_numpy(), np.zeros(table.shape) if z is None else z, **how
    )


def drawn(ax: Any) -> Any:
    ax.figure.canvas.draw()  # where matplotlib would warn
    return ax.figure.canvas.get_renderer()


def inside_the_figure(ax: Any) -> None:
    renderer = drawn(ax)
    for axes in ax.figure.axes:
        extent = axes.get_tightbbox(renderer)  # with labels, title and texts
        assert extent.x0 >= -1 and extent.x1 <= ax.figure.bbox.width + 1
        assert extent.y0 >= -1 and extent.y1 <= ax.figure.bbox.height + 1


def tile_colours(ax: Any) -> list[str]:
    return [to_hex(tile.get_facecolor()) for tile in ax.patches]


def heat_colours(ax: Any) -> list[str]:
    drawn(ax)
    return [to_hex(colour) for colour in ax.collections[0].get_facecolor()]


def hatched(ax: Any) -> int:
    found = [c for c in ax.collections if isinstance(c, PatchCollection)]
    assert all(collection.get_hatch() for collection in found)
    return sum(len(collection.get_paths()) for collection in found)


# ---- heat maps


def test_a_heat_map_writes_estimates_and_intervals():
    ax = plot_heat_map(TABLE, LOW, HIGH, title="joint")
    assert [text.get_text() for text in ax.texts] == [
        f"{100 * p:.1f}%\n[{100 * low:.1f}, {100 * high:.1f}]"
        for p, low, high in zip(*(t.to_numpy().flat for t in (TABLE, LOW, HIGH)), strict=True)
    ]
    assert [text.get_position() for text in ax.texts][:4] == [
        (0.5, 0.5), (1.5, 0.5), (2.5, 0.5), (0.5, 1.5)
    ]  # fmt: skip
    assert ax.get_ylim() == (2.0, 0.0)  # the first row on top
    assert [t.get_text() for t in ax.get_xticklabels()] == ["u", "v", "w"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert ax.get_ylabel() == "X1" and ax.get_title() == "joint"
    assert ax.figure.axes[1].get_ylabel() == "frequency"
    inside_the_figure(ax)


def test_a_heat_map_hatches_what_is_not_distinguishable_from_zero():
    ax = plot_heat_map(TABLE, LOW, HIGH)
    assert hatched(ax) == 1
    assert ax.get_xlabel() == "Y1\nhatched: the interval contains 0"
    # of a negative estimate too
    ax = plot_heat_map(TABLE - 0.02, LOW - 0.02, HIGH - 0.02)
    assert hatched(ax) == 1 and ax.texts[-1].get_text().startswith("-1.0%")
    ax = plot_heat_map(TABLE, TABLE - 0.005, HIGH)
    assert hatched(ax) == 0 and ax.get_xlabel() == "Y1"


def test_departures_within_their_noise_are_grey():
    ax = plot_heat_map(TABLE, LOW, HIGH, z=Z)
    colours = heat_colours(ax)
    assert [colour == GREY for colour in colours] == [False, False, True, False, False, True]
    red, blue = (int(colours[0][1:3], 16), int(colours[0][5:], 16))
    assert red > blue  # more than independence gives
    assert len(set(colours)) == 5  # 3 and 9 standard errors differ, and their signs
    assert hatched(ax) == 0
    assert "departure from independence" in ax.figure.axes[1].get_ylabel()


def test_text_is_left_out_where_it_does_not_fit():
    table = a_table(30, 30)
    ax = plot_heat_map(table, table * 0.9, table * 1.1)
    assert len(ax.texts) == 900 and not any("\n" in text.get_text() for text in ax.texts)
    ax = plot_heat_map(table, table * 0.9, table * 1.1, ax=plt.subplots(figsize=(6, 6))[1])
    assert len(ax.texts) == 0
    inside_the_figure(ax)
    ax = plot_heat_map(TABLE, LOW, HIGH, ax=plt.subplots(figsize=(3.0, 2.0))[1])
    assert ax.texts[0].get_text() == "25.0%"  # the intervals go first
    ax = plot_heat_map(TABLE, LOW, HIGH, ax=plt.subplots(figsize=(0.9, 0.8))[1])
    assert len(ax.texts) == 0


@pytest.mark.parametrize("shape", [(3, 4), (12, 2), (1, 1)])
def test_text_lies_within_its_cell(shape):
    table = a_table(*shape)
    ax = plot_heat_map(table, table * 0.9, table * 1.1)
    renderer = drawn(ax)
    inside_the_figure(ax)
    assert len(ax.texts) in (0, table.size) and (ax.texts or table.size > 12)
    for text in ax.texts:
        extent = text.get_window_extent(renderer)
        x, y = text.get_position()
        cell = ax.transData.transform([(x - 0.5, y + 0.5), (x + 0.5, y - 0.5)])
        assert cell[0, 0] <= extent.x0 and extent.x1 <= cell[1, 0]
        assert cell[0, 1] <= extent.y0 and extent.y1 <= cell[1, 1]


def test_departures_are_written_into_their_cells():
    ax = plot_heat_map(TABLE, LOW, HIGH, z=Z)
    written = [text.get_text() for text in ax.texts]
    assert written[:4] == ["+3.0\n25.0%", "-3.0\n15.0%", "+1.9\n10.0%", "-9.0\n20.0%"]
    ax = plot_heat_map(
        TABLE, LOW, HIGH, z=Z, ax=plt.subplots(figsize=(2.6, 1.1), layout="tight")[1]
    )
    assert ax.texts[0].get_text() == "+3.0"  # the estimates go first
    ax = plot_heat_map(TABLE, LOW, HIGH, z=Z * 0 - 0.01)
    assert ax.texts[0].get_text().startswith("+0.0")


def contrast(first: Any, second: Any) -> float:
    """Ratio of luminances, 1 to 21 (Web Content Accessibility Guidelines 2.1)."""
    bright = []
    for colour in (first, second):
        rgb = np.array(to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        bright.append(float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)
    return max(bright) / min(bright)


@pytest.mark.parametrize("departures", [False, True])
def test_text_is_readable_on_every_colour(departures):
    p = np.linspace(0.0, 1.0, 40).reshape(8, 5)
    z = np.linspace(-12.0, 12.0, 40).reshape(8, 5) if departures else None
    table = pd.DataFrame(p)
    ax = plot_heat_map(table, p - 0.01, p + 0.01, z=z)
    assert len(ax.texts) == 40
    pairs = zip(ax.texts, heat_colours(ax), strict=True)
    assert min(contrast(text.get_color(), face) for text, face in pairs) > 3.0


# ---- mosaics


def test_tiles_of_a_mosaic_have_the_area_of_their_cell():
    ax = plot_mosaic(TABLE, TABLE * 0.9, HIGH, title="joint")
    assert len(ax.patches) == 6 and hatched(ax) == 0
    areas = [tile.get_width() * tile.get_height() for tile in ax.patches]
    np.testing.assert_allclose(areas, TABLE.to_numpy().ravel(), rtol=1e-12)
    for first in (0, 3):  # the tiles of a column stand on one another
        below = [tile.get_y() for tile in ax.patches[first : first + 3]]
        above = [tile.get_y() + tile.get_height() for tile in ax.patches[first : first + 3]]
        np.testing.assert_allclose([0.0, *above], [*below, 1.0], atol=1e-12)
    assert ax.get_xlabel().startswith("X1\nbars")
    assert ax.get_ylabel() == "cumulative conditional frequency"  # a scale from the left
    side = ax.child_axes[0]
    assert side.get_ylabel() == "Y1"
    assert ax.get_title() == "joint"
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]
    assert [t.get_text() for t in side.get_yticklabels()] == ["u", "v", "w"]
    inside_the_figure(ax)


def test_labels_of_slivers_stand_apart_with_a_line_to_their_tile():
    thin = pd.DataFrame(np.outer([0.93, 0.03, 0.02, 0.02], [0.9, 0.04, 0.03, 0.03]))
    ax = plot_mosaic(thin, thin * 0.9, thin * 1.1)
    drawn(ax)
    for labels, axis in ((ax.child_axes[0].get_yticklabels(), 1), (ax.get_xticklabels(), 0)):
        assert len(labels) == 4 and all(t.get_text() for t in labels)
        ends = sorted(t.get_window_extent().extents[[axis, axis + 2]].tolist() for t in labels)
        assert all(a[1] <= b[0] + 2.0 for a, b in pairwise(ends))
    leaders = [line for line in ax.lines if not line.get_clip_on()]
    assert len(leaders) >= 4
    inside_the_figure(ax)


def test_a_mosaic_is_coloured_by_departures():
    ax = plot_mosaic(TABLE, LOW, HIGH, z=Z)
    assert [c == GREY for c in tile_colours(ax)] == [False, False, True, False, False, True]
    assert hatched(ax) == 1 and "hatched" in ax.get_xlabel()
    assert "departure from independence" in ax.figure.axes[1].get_ylabel()
    assert tile_colours(ax) == heat_colours(plot_heat_map(TABLE, LOW, HIGH, z=Z))


def test_bars_are_the_intervals_of_the_boundaries():
    cumulative = (TABLE.div(TABLE.sum(axis=1), axis=0)).cumsum(axis=1).to_numpy()[:, :-1]
    ax = plot_mosaic(TABLE, LOW, HIGH, bars=(cumulative - 0.05, cumulative + 0.03))
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    upright = [s for c in lines for s in c.get_segments() if s[0, 0] == s[1, 0]]
    caps = [s for c in lines for s in c.get_segments() if s[0, 1] == s[1, 1]]
    assert len(upright) == 4 and len(caps) == 8
    ends = np.array([[s[:, 1].min(), s[:, 1].max()] for s in upright])
    np.testing.assert_allclose(ends[:, 0], cumulative.ravel() - 0.05)
    np.testing.assert_allclose(ends[:, 1], cumulative.ravel() + 0.03)
    at = np.array([s[0, 0] for s in upright])
    for tile, x in zip((ax.patches[0], ax.patches[0], *[ax.patches[3]] * 2), at, strict=True):
        assert tile.get_x() < x < tile.get_x() + tile.get_width()
    assert len(set(at)) == 4  # side by side
    assert "bars: intervals" in ax.get_xlabel()


def test_a_row_of_zeros_is_named_not_drawn():
    table = TABLE.copy()
    table.loc["b"] = 0.0
    table /= table.to_numpy().sum()
    bars = np.full((2, 2), 0.5)
    ax = plot_mosaic(table, LOW, HIGH, z=Z, bars=(bars - 0.1, bars + 0.1))
    assert len(ax.patches) == 3
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a"]
    assert ax.get_xlabel().endswith("of frequency 0, not shown: b")
    inside_the_figure(ax)
    table = table.loc[["b", "a"]]  # as the first too
    ax = plot_mosaic(table, LOW, HIGH, z=Z)
    assert len(ax.patches) == 3 and ax.patches[0].get_x() == 0.0
    plot_heat_map(table, LOW, HIGH)


@pytest.mark.parametrize("shape", [(20, 2), (2, 12), (4, 1)])
def test_mosaics_of_any_shape(shape):
    table = a_table(*shape)
    ax = plot_mosaic(table, table * 0.9)
    inside_the_figure(ax)
    assert len(ax.patches) == table.size
    assert ax.bbox.height > 0.4 * ax.figure.bbox.height


# ---- both


@pytest.mark.parametrize("plot", [plot_heat_map, plot_mosaic])
def test_long_labels_are_shortened_and_inside_the_figure(plot):
    table = a_table(3, 4, LONG, ["$a$ and $b$", "a rather long name of a category", "c", "d & e"])
    table.index.name = "a variable whose name is a whole sentence"
    ax = plot(table, table * 0.9, table * 1.1, title="word " * 30)
    inside_the_figure(ax)
    side = (ax.child_axes or [ax])[0]
    shown = [t.get_text() for t in (*ax.get_xticklabels(), *side.get_yticklabels())]
    assert len(shown) == 7 and max(map(len, shown)) <= 26
    assert not any("\n" in text or "\t" in text for text in shown)
    assert not any(re.search(r"(?<!\\)\$", text) for text in shown)  # no mathematics
    assert ax.bbox.width > 0.4 * ax.figure.bbox.width
    assert ax.bbox.height > 0.3 * ax.figure.bbox.height


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_axes_in_a_grid_keep_apart(layout):
    """What stands right of a mosaic, its colour bar and the next axes do not overlap."""
    figure, (first, second) = plt.subplots(1, 2, figsize=(8.0, 5.0), layout=layout)
    assert plot_mosaic(TABLE, LOW, HIGH, ax=first, z=Z) is first
    plot_heat_map(TABLE, LOW, HIGH, ax=second)
    drawn(first)
    scale, bar = first.child_axes[0], figure.axes[2]
    assert scale.get_ylabel() == "Y1"
    assert scale.get_tightbbox().x1 <= bar.get_tightbbox().x0
    assert bar.get_tightbbox().x1 <= second.bbox.x0
    assert first.bbox.width > 0.2 * figure.bbox.width / 2


# ---- what is too thin to read

THIN = pd.DataFrame(
    np.outer([0.5, 0.004, 0.476, 0.008, 0.012], [0.6, 0.006, 0.38, 0.014]),
    pd.Index(list("abcde"), name="job"),
    pd.Index(list("uvwx"), name="late"),
)


def test_thin_categories_are_merged():
    merged = merging(THIN)
    assert merged.rows.tolist() == [0, 2, 1, 2, 2] and merged.columns.tolist() == [0, 2, 1, 2]
    table = merged.sums(THIN.to_numpy())
    assert list(table.index) == ["a", "c", "other (3)"] and table.index.name == "job"
    assert list(table.columns) == ["u", "w", "other (2)"] and table.columns.name == "late"
    np.testing.assert_allclose(table, np.outer([0.5, 0.476, 0.024], [0.6, 0.38, 0.02]))
    # cells that are alone keep their own value
    chosen = merged.chosen(np.arange(20.0), -np.ones(9)).reshape(3, 3)
    np.testing.assert_array_equal(chosen, [[0, 2, -1], [8, 10, -1], [-1, -1, -1]])


def test_what_is_thick_somewhere_is_not_merged():
    table = THIN.copy()
    table.loc["a", ["u", "v"]] = table.loc["a", ["v", "u"]].to_numpy()
    assert list(merging(table).labels[1]) == list("uvwx")
    single = pd.DataFrame([[0.5, 0.49], [0.006, 0.004]], list("ab"), list("uv"))
    assert list(merging(single).labels[0]) == list("ab")  # one would gain nothing
    even = pd.DataFrame(np.full((100, 2), 1 / 200))
    assert len(merging(even).labels[0]) == 100  # or nothing would be left to see
    absent = pd.concat([THIN * 1.0, pd.DataFrame(0.0, ["f", "g"], THIN.columns)])
    assert list(merging(absent).labels[0]) == ["a", "c", "f", "g", "other (3)"]


def a_fit(table: pd.DataFrame, n: int = 40_000) -> ldp.AssociationResults:
    rng = np.random.default_rng(7)
    p = table.to_numpy().ravel() / table.to_numpy().sum()
    i, j = np.divmod(rng.choice(p.size, n, p=p), table.shape[1])
    sides = [ldp.KRR(tuple(labels), epsilon=4.0) for labels in (table.index, table.columns)]
    x, y = table.index.to_numpy()[i], table.columns.to_numpy()[j]
    reports = sides[0].privatize(x, rng), sides[1].privatize(y, rng)
    return ldp.AssociationModel(*reports, names=("job", "late")).fit()


def test_a_mosaic_of_results_merges_and_adds_up():
    results = a_fit(THIN)
    ax = results.plot("mosaic")
    inside_the_figure(ax)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "c", "other (3)"]
    names = [t.get_text() for t in ax.child_axes[0].get_yticklabels()]
    assert names == ["u", "w", "other (2)"]
    areas = np.array([tile.get_width() * tile.get_height() for tile in ax.patches])
    merged = merging(results.table)
    np.testing.assert_allclose(areas, merged.sums(results.table.to_numpy()).to_numpy().ravel())
    assert areas.sum() == pytest.approx(1.0)
    # what is independent is grey, also where it was merged
    assert tile_colours(ax).count(GREY) >= 7


# ---- shares of answers given another


def test_conditional_shares_are_bars_with_their_intervals():
    results = a_fit(pd.DataFrame([[0.3, 0.1, 0.1], [0.1, 0.2, 0.2]], list("ab"), list("uvw")))
    frame = results.conditional()
    ax = results.plot("conditional")
    inside_the_figure(ax)
    widths = [bar.get_width() for bar in ax.patches]  # answer by answer
    np.testing.assert_allclose(widths, frame["estimate"].to_numpy().reshape(2, 3).T.ravel())
    lines = [s for c in ax.collections for s in c.get_segments()]
    ends = np.array([sorted(s[:, 0]) for s in lines])
    order = frame[["lower", "upper"]].to_numpy().reshape(2, 3, 2).transpose(1, 0, 2)
    np.testing.assert_allclose(ends, order.reshape(-1, 2))
    for bar, line in zip(ax.patches, lines, strict=True):  # each in the middle of its bar
        assert bar.get_y() + bar.get_height() / 2 == pytest.approx(line[0, 1])
    assert {"u", "v", "w", "95% interval"} == set(ax.get_legend_handles_labels()[1])
    other = results.plot("conditional", on=results.names[1], alpha=0.1)
    assert [t.get_text() for t in other.get_yticklabels()] == ["u", "v", "w"]
    assert len(other.patches) == 3  # of two answers the second
    panels = results.plot("conditional", panels=True)
    assert len(panels) == 2 and all(len(ax.patches) == 3 for ax in panels)
    for ask in ({"kind": "mosaic", "on": results.names[0]}, {"panels": True}):
        with pytest.raises(ldp.InvalidArgument, match='goes with kind="conditional"'):
            results.plot(**ask)
    with pytest.raises(ldp.InvalidArgument, match="leave it out with panels=True"):
        results.plot("conditional", other, panels=True)


# ---- three variables


def test_a_heat_map_for_each_category_of_the_third():
    rng, answers = np.random.default_rng(2), {"x": list("ab"), "y": list("uvw"), "z": list("pq")}
    reports = [ldp.KRR(own, 2.0).privatize(rng.choice(own, 900), rng) for own in answers.values()]
    results = ldp.AssociationModel(*reports, names=list(answers)).fit()
    panels = results.plot()
    assert [ax.get_title() for ax in panels] == ["z = p", "z = q"]
    inside_the_figure(panels[0])
    for ax, label in zip(panels, "pq", strict=True):
        shown = results.table.xs(label, level="z").to_numpy()
        np.testing.assert_allclose(ax.collections[0].get_array().ravel(), shown)
    scales = {ax.collections[0].get_clim() for ax in panels}
    assert scales == {(0.0, results.table.max())}
    with pytest.raises(ldp.InvalidArgument, match="leave it out"):
        results.plot(ax=panels[0])


# ---- matrices


def a_matrix(d: int, n: int = 500) -> ldp.AssociationMatrix:
    rng, krr = np.random.default_rng(d), ldp.KRR(3, epsilon=4.0)
    base, noise = rng.integers(0, 3, n), rng.integers(0, 3, (d, n))
    values = np.where(rng.random((d, n)) < np.linspace(0.9, 0.0, d)[:, None], base, noise)
    return ldp.associations({f"question {i}": krr.privatize(v, rng) for i, v in enumerate(values)})


def test_a_matrix_is_a_triangle_of_pairs():
    matrix = a_matrix(4)
    V, low, high = matrix.cramers_v, matrix.lower, matrix.upper
    ax = matrix.plot(title="V")
    inside_the_figure(ax)
    below = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    assert [text.get_text() for text in ax.texts] == [
        f"{V.iat[at]:.2f}\n[{low.iat[at]:.2f}, {high.iat[at]:.2f}]" for at in below
    ]
    assert [text.get_position() for text in ax.texts] == [(j + 0.5, i - 0.5) for i, j in below]
    for first, labels in ((1, ax.get_yticklabels()), (0, ax.get_xticklabels())):
        assert [t.get_text() for t in labels] == [f"question {first + i}" for i in range(3)]
    assert hatched(ax) == sum(matrix.pvalues_holm.iat[at] >= 0.05 for at in below) > 0
    assert "hatched" in ax.get_xlabel() and ax.figure.axes[1].get_ylabel() == "Cramer's V"


def test_a_large_matrix_with_a_gap():
    matrix = a_matrix(12, n=200)
    ax = matrix.plot(plt.subplots(figsize=(5.0, 4.0))[1], title="")
    inside_the_figure(ax)
    assert len(ax.texts) == 66 and "[" not in ax.texts[0].get_text() and ax.get_title() == ""
    gap = replace(matrix, pairs=matrix.pairs[1:], failed=(("question 0", "question 1", "none"),))
    assert len(gap.plot().texts) == 65
