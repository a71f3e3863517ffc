"""The drawing of a device: its words, and that none of them overlap."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

from itertools import combinations

import matplotlib.pyplot as plt
import pytest
from devices.designs import KNOWN, UNKNOWN

from ldpstats.devices import another, cards, cohorts, flip, hashed, parts, recode, roll, spin, truth
from ldpstats.errors import InvalidArgument, NotAvailable


def deep(n):
    device = truth
    for i in range(n):
        device = flip("2/3").when({"heads": device, "tails": f"a long label of category {i}"})
    return device


DEVICES = {
    **{name: (KNOWN[name], ("no", "yes")) for name in ("mangat-singh", "kuk-3", "crosswise")},
    "cheating": (UNKNOWN["symmetric-cheating-detection"], ("no", "yes")),
    "deep": (deep(6), ("no", "yes")),
    "wide": (roll(100).when({i: f"label {i}" for i in range(1, 16)}, otherwise=another), None),
    "long": (
        spin({"a" * 90: 0.5, "b, c, d $x$ $y$": 0.5}).when({"a" * 90: "word " * 30}, otherwise=1),
        None,
    ),
    "parts": (parts(truth, roll(14), cohorts([hashed(4), truth >> cards({1: 1, 2: 2})])), None),
    "answers": (truth.when({i: str(i) for i in range(9)}, otherwise=another), 30),
    "chinese": (
        spin({"是的是的": 0.5, "不": 0.5}).when({"不": "不是不是不是"}, otherwise=truth),
        None,
    ),
}


def texts_overlap(ax) -> bool:
    renderer = ax.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in ax.texts]
    shapes = [patch.get_window_extent(renderer) for patch in ax.patches]
    crossed = any(a.overlaps(b) for a, b in combinations(boxes, 2))
    return crossed or any(a.overlaps(b) for a, b in combinations(shapes, 2))


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("name", DEVICES)
def test_nothing_overlaps_and_all_is_inside(name) -> None:
    device, categories = DEVICES[name]
    ax = device.plot(categories)
    assert not texts_overlap(ax)
    figure = ax.figure
    renderer = figure.canvas.get_renderer()
    inside = figure.bbox.padded(1)
    for text in ax.texts:
        box = text.get_window_extent(renderer)
        assert inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1), text.get_text()
    plt.close("all")


def test_words_of_a_tree() -> None:
    ax = roll(6).when({1: "yes", 6: "no"}, otherwise=truth).plot()
    found = [text.get_text() for text in ax.texts]
    expected = ["roll a die", "1  (1/6)", "say yes", "6  (1/6)", "say no", "2 to 5  (2/3)", "truth"]
    assert sorted(found) == sorted(expected)
    unknown = UNKNOWN["cheating-detection"].plot(("no", "yes"))
    words = {text.get_text() for text in unknown.texts}
    assert {"cheats  (cheating)", "follows  (1 - cheating)"} <= words
    counted = {text.get_text() for text in KNOWN["kuk-3"].plot(("no", "yes")).texts}
    assert {"draw a card, 3 times", "3 red  (64/125)", "say 3"} <= counted
    plt.close("all")


def test_answers_without_a_branch_are_named_where_they_are_known() -> None:
    device = truth.when({"no": "a"}, otherwise="b")
    assert "otherwise" in {text.get_text() for text in device.plot().texts}
    assert "yes" in {text.get_text() for text in device.plot(("no", "yes")).texts}
    plt.close("all")


def test_axes_of_ones_own_keep_their_size() -> None:
    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    assert KNOWN["mangat-singh"].plot(ax=axes[0]) is axes[0]
    figure.canvas.draw()
    assert not texts_overlap(axes[0])
    assert figure.get_size_inches().tolist() == [8, 3]
    plt.close("all")


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="ax="):
        KNOWN["kuk"].plot(ax="tree")
    with pytest.raises(InvalidArgument, match="categories="):
        KNOWN["kuk"].plot("no")
    with pytest.raises(InvalidArgument, match="rectangular"):
        KNOWN["kuk"].plot(ax=plt.subplots(subplot_kw={"projection": "polar"})[1])
    with pytest.raises(NotAvailable, match="300 reports"):
        roll(300).when({i: f"x{i}" for i in range(1, 301)}).plot()
    with pytest.raises(NotAvailable, match="31 steps"):
        deep(30).plot()
    plt.close("all")


def test_only_results_that_can_occur_have_a_branch() -> None:
    recoded = flip(0.7).when({"heads": truth, "tails": "yes"}) >> recode({"no": "N", "yes": "Y"})
    words = [text.get_text() for text in recoded.plot(("no", "yes")).texts]
    expected = ["no", "say N", "yes", "say Y", "that result?", "in turn"]
    assert words[words.index("then") + 1 :] == expected
    later = truth.when({"a": "b"}, otherwise="c") >> recode({"b": "x"})
    words = [text.get_text() for text in later.plot().texts]
    expected = ["b", "say x", "c", "that result", "that result?", "in turn"]
    assert words[words.index("then") + 1 :] == expected
    plt.close("all")


def test_dollars_are_no_mathematics() -> None:
    device = spin({"$x$": 0.5, "y": 0.5}).when({"$x$": truth}, otherwise="$y$")
    words = {text.get_text() for text in device.plot().texts}
    assert {r"\$x\$  (1/2)", r"say \$y\$"} <= words
    plt.close("all")
