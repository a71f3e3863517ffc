"""Small multiples: a panel a group, with the same categories in the same rows of one axis."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from ldpstats import InvalidArgument
from ldpstats.models.plots import plot_groups


def frames(groups: Any, k: int = 3) -> dict[Any, pd.DataFrame]:
    found = {}
    for seed, group in enumerate(groups):
        p = np.random.default_rng(seed).dirichlet(np.ones(k))
        columns = {"params": p, "lower": np.maximum(p - 0.05, 0.0), "upper": p + 0.05}
        found[group] = pd.DataFrame(columns, [f"answer {i}" for i in range(k)])
    return found


def rows(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def estimates(ax: Any) -> list[float]:
    (line,) = (line for line in ax.get_lines() if line.get_label() == "estimate")
    return list(line.get_xdata())


def apart(axes: Any) -> None:
    """Nothing overlaps, and all is inside the figure."""
    figure = axes[0].figure
    figure.canvas.draw()  # where matplotlib would warn
    boxes = [ax.get_tightbbox() for ax in axes] + [figure.legends[0].get_window_extent()]
    for i, box in enumerate(boxes):
        assert not any(box.shrunk(0.99, 0.99).overlaps(other) for other in boxes[:i])
        assert box.x0 >= -1 and box.y0 >= -1
        assert box.x1 <= figure.bbox.width + 1 and box.y1 <= figure.bbox.height + 1


def test_rows_are_the_same_in_every_panel():
    given = frames(["north", "south"])
    axes = plot_groups(given, 0.1, default="job by region")
    apart(axes)
    mean = (given["north"] + given["south"])["params"].sort_values(ascending=False)
    assert rows(axes[0]) == list(mean.index)
    for ax, frame in zip(axes, given.values(), strict=True):
        assert estimates(ax) == list(frame["params"][mean.index])
    assert [ax.get_title() for ax in axes] == ["north", "south"]
    assert axes[0].figure.get_suptitle() == "job by region"
    words = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert words == ["90% interval", "estimate"]
    assert rows(plot_groups(given, 0.1, sort=False)[0]) == list(given["north"].index)


@pytest.mark.parametrize("n", [1, 5])
def test_panels_of_any_number_keep_apart(n):
    axes = plot_groups(frames([f"group {i}" for i in range(n)], 2), 0.05)
    assert len(axes) == n == len(axes[0].figure.axes)
    apart(axes)
    assert len({ax.get_xlim() for ax in axes}) == 1
    below = [ax for ax in axes if ax.get_xlabel() == "frequency"]
    assert len(below) == len({round(ax.get_position().x0, 3) for ax in axes})


def test_of_many_groups_and_categories_some_are_drawn():
    given = frames([("a very long name of a region", i) for i in range(30)], 8)
    axes = plot_groups(given, 0.05, most=3, most_groups=6, sizes=range(1000, 1030))
    apart(axes)
    assert len(axes) == 6 and rows(axes[0])[-1] == "and 5 more" and len(rows(axes[0])) == 4
    assert axes[0].figure.legends[0].get_title().get_text() == "and 24 more groups"
    titles = [ax.get_title().replace("\n", " ") for ax in axes]
    assert len(set(titles)) == 6 and titles[1].endswith("n = 1,001")


def test_categories_that_a_group_lacks_are_left_open():
    given = frames(["a", "b"])
    given["b"] = given["b"].iloc[:2]
    axes = plot_groups(given, 0.05)
    assert len(rows(axes[0])) == 3
    assert np.isnan(estimates(axes[1])).sum() == 1
    apart(axes)


def test_figures_of_the_callers_own():
    figure = plt.figure(figsize=(8.0, 4.0))
    axes = plot_groups(frames("abc"), 0.05, title="Mine", figure=figure)
    assert axes[0].figure is figure and figure.get_size_inches().tolist() == [8.0, 4.0]
    apart(axes)
    part = plt.figure(layout="constrained").subfigures(1, 2)[1]
    assert plot_groups(frames("ab"), 0.05, figure=part)[0].figure is part


@pytest.mark.parametrize("wrong", [{"title": 3}, {"sort": "x"}, {"most_groups": 0}, {"figure": 1}])
def test_refusals(wrong):
    with pytest.raises(InvalidArgument, match=f"^{next(iter(wrong))}="):
        plot_groups(frames("ab"), 0.05, **wrong)
