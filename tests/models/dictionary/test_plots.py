"""What the plots of unknown dictionaries draw, and that all of it is inside the figure."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

import ldpstats as ldp
from ldpstats.errors import InvalidArgument

GREY = "#cccccc"
NAMES = ["abcade", "eedabc", "bad", "deceba"]
SHARES = [0.4, 0.3, 0.2, 0.1]
TRUTH = pd.Series(SHARES, NAMES)


@cache
def found(n: int = 6_000, epsilon: float = 12.0, gram: int = 2, alphabet: str = "abcde") -> Any:
    survey = ldp.DictionarySurvey(length=6, gram=gram, alphabet=alphabet, epsilon=epsilon)
    rng = np.random.default_rng(5)
    strings = rng.choice(NAMES, size=n, p=SHARES)
    results = ldp.DictionaryModel(survey.privatize(strings, rng)).fit()
    return ldp.DictionaryResults.from_json(results.to_json())  # plots need no more than is stored


def inside_the_figure(ax: Any) -> None:
    ax.figure.canvas.draw()  # where matplotlib would warn
    extent = ax.get_tightbbox(ax.figure.canvas.get_renderer())
    assert extent.x0 >= -1 and extent.x1 <= ax.figure.bbox.width + 1
    assert extent.y0 >= -1 and extent.y1 <= ax.figure.bbox.height + 1


def rows(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def drawn(ax: Any, label: str) -> Any:
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line


# ---- frequencies


def test_what_was_found_is_drawn_with_its_intervals() -> None:
    results = found()
    ax = results.plot(alpha=0.1)
    assert rows(ax) == list(results.index) and set(results.index) == set(NAMES)
    np.testing.assert_allclose(drawn(ax, "estimate").get_xdata(), results.params)
    bars = next(c for c in ax.collections if isinstance(c, LineCollection))
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, results.conf_int(0.1))
    assert "90% interval" in [text.get_text() for text in ax.get_legend().get_texts()]
    inside_the_figure(ax)
    assert results.plot(most=1).get_xlabel().endswith("not shown: 3 rarer ones that were found")


def test_missed_and_false_strings_are_told_apart() -> None:
    results = found()
    truth = pd.Series([0.5, 0.3, 0.15, 0.05], ["aaaaaa", *NAMES[:3]])  # one of four is not in it
    ax = results.plot(truth=truth)
    assert rows(ax) == ["aaaaaa  (missed)", *NAMES[:3], NAMES[3]]
    colours = [to_hex(label.get_color()) for label in ax.get_yticklabels()]
    assert colours[0] != colours[1] == colours[4]
    false = drawn(ax, "estimate of a string that nobody holds")
    assert false.get_ydata().tolist() == [0]
    np.testing.assert_allclose(drawn(ax, "true frequency").get_xdata(), [0.5, 0.3, 0.15, 0.05, 0.0])
    inside_the_figure(ax)
    ax = results.plot(truth=TRUTH, most=2)
    assert rows(ax) == NAMES[:2] and "not shown: 2 rarer ones" in ax.get_xlabel()
    assert not any("nobody" in str(line.get_label()) for line in ax.lines)


def test_the_truth_is_read_as_the_survey_reads_it() -> None:
    cut = {"abcadeab": 0.1, "abcadeba": 0.3, "eedabc": 0.3, "bad": 0.2, "deceba": 0.1}
    ax = found().plot(truth=cut)
    assert rows(ax)[0] == "abcade"
    np.testing.assert_allclose(drawn(ax, "true frequency").get_xdata(), [0.4, 0.3, 0.2, 0.1])


def test_nothing_found() -> None:
    results = found(400, 0.5)
    assert results.k == 0
    ax = results.plot()
    assert rows(ax) == [] and ax.texts[0].get_text() == "no string was found"
    assert rows(results.plot(truth=TRUTH))[0] == "abcade  (missed)"
    inside_the_figure(ax)
    inside_the_figure(results.plot_graph())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"truth": [0.5, 0.5]}, "truth.*index are strings"),
        ({"truth": {"abc": "high"}}, "truth"),
        ({"truth": {"abc": np.nan}}, "truth.*frequencies"),
        ({"truth": {"abc": 0.7, "bcd": 0.7}}, "truth.*one in all"),
        ({"truth": {"XYZ": 0.5}}, "truth.*alphabet"),
        ({"most": 0}, "most"),
        ({"alpha": 2.0}, "alpha"),
        ({"ax": 1}, "ax="),
    ],
)
def test_refusals(change: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        found().plot(**change)


# ---- graph


def lines(ax: Any, grey: bool) -> list[LineCollection]:
    found = [c for c in ax.collections if isinstance(c, LineCollection)]
    return [c for c in found if (to_hex(c.get_edgecolor()[-1]) == GREY) == grey]


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_strings_are_paths_through_their_grams() -> None:
    results = found()
    ax = results.plot_graph()
    inside_the_figure(ax)
    (nodes,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    at = {
        tuple(place): text for place, text in zip(nodes.get_offsets(), texts(ax)[4:], strict=True)
    }
    for string, path in zip(results.index, lines(ax, grey=False), strict=True):
        steps = path.get_segments()
        assert len(steps) == 3  # two edges, and the line to the name
        ends = [steps[0][0], steps[0][-1], steps[1][-1]]
        assert "".join(at[tuple(end)] for end in ends).rstrip("\u2423") == string
    assert [text.split()[0] for text in texts(ax)[:4]] == list(results.index)
    sizes = dict(zip(texts(ax)[4:], nodes.get_sizes(), strict=True))
    assert sizes["ce"] < sizes["da"] < sizes["ca"] < max(sizes.values()) + 1e-9  # .1, .3, .4
    assert max(sizes.values()) == pytest.approx(300.0)


def test_what_is_not_drawn_is_counted() -> None:
    results = found()
    ax = results.plot_graph(max_strings=1)
    (nodes,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    (grey,) = lines(ax, grey=True)
    assert len(lines(ax, grey=False)) == 1 and "3 strings" in ax.get_xlabel()
    assert len(nodes.get_offsets()) <= 3 * (1 + 5) and len(grey.get_segments()) <= 120
    rest = results.n_edges - len(grey.get_segments())
    assert (f"{rest:,} edges" in ax.get_xlabel()) == (rest > 0)
    rest = len(results.grams) - len(nodes.get_offsets())
    assert f"{rest:,} grams" in ax.get_xlabel()


def test_many_positions_have_the_edges_of_neighbours_alone() -> None:
    results = found(gram=1, alphabet="abcde$")
    assert len(results.grams["start"].unique()) == 6 and results.k
    ax = results.plot_graph()
    inside_the_figure(ax)
    for segment in lines(ax, grey=True)[0].get_segments():
        assert segment[-1, 0] - segment[0, 0] == 1.0
    assert not any(text in ("$", "$$") for text in texts(ax))  # no mathematics
