"""What respondents are told: the sentences of every design, and words that a caller replaces."""

from fractions import Fraction
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from devices.designs import KNOWN, MECHANISMS, UNKNOWN, categories_of

import ldpstats as ldp
from ldpstats.devices import (
    WORDS,
    another,
    cards,
    cohorts,
    flip,
    hashed,
    library,
    opposite,
    parts,
    question,
    recode,
    roll,
    spin,
    truth,
    unknown,
)
from ldpstats.errors import InvalidArgument, NotAvailable

NO_YES = ("no", "yes")

THINK = "1. Think of your true answer to the question, but keep it to yourself."

UNSEEN = f"{THINK} Do what follows where nobody can see you."

OTHER = "the other question (“Was your mother born in January, February or March?”)"


def told(device, categories=NO_YES, **words):
    return device.instructions(categories, words or None)


TOLD = {
    "warner": [
        "1. Spin the spinner, and show the result to nobody. Out of 10 spins, 7 stop at “A” and 3 "
        "stop at “B”, on average.",
        "2. If it stops at “A”, answer the question truthfully.",
        "3. If it stops at “B”, say the opposite of your true answer.",
    ],
    "forced-dice": [
        "1. Roll the die, and show the result to nobody.",
        "2. If it shows 1, say “yes”.",
        "3. If it shows 6, say “no”.",
        "4. If it shows 2 to 5, answer the question truthfully.",
    ],
    "forced-coins": [
        "1. Flip the coin, and show the result to nobody.",
        "2. If it shows heads, answer the question truthfully.",
        "3. If it shows tails, flip the coin again, and show the result to nobody:",
        "3.1. If it shows heads, say “yes”.",
        "3.2. If it shows tails, say “no”.",
    ],
    "unrelated-question": [
        "1. Spin the spinner, and show the result to nobody. Out of 10 spins, 7 stop at “first” "
        "and 3 stop at “other”, on average.",
        "2. If it stops at “first”, answer the question truthfully.",
        f"3. If it stops at “other”, answer {OTHER} truthfully.",
    ],
    "mangat": [
        UNSEEN,
        "2. If your true answer is “yes”, say “yes”.",
        "3. If your true answer is “no”, spin the spinner, and show the result to nobody. Out of 5 "
        "spins, 3 stop at “A” and 2 stop at “B”, on average.",
        "3.1. If it stops at “A”, answer the question truthfully.",
        "3.2. If it stops at “B”, say the opposite of your true answer.",
    ],
    "kuk": [
        UNSEEN,
        "2. If your true answer is “yes”, draw a card from deck 1, and say only what is on it. Of "
        "every 5 cards in it, 4 are marked “red” and 1 is marked “black”.",
        "3. If your true answer is “no”, draw a card from deck 2, and say only what is on it. Of "
        "every 5 cards in it, 1 is marked “red” and 4 are marked “black”.",
    ],
    "christofides": [
        UNSEEN,
        "2. If your true answer is “no”, draw a card from the deck, and say only what is on it. Of "
        "its 10 cards, 5 are marked “1”, 3 are marked “2” and 2 are marked “3”.",
        "3. If your true answer is “yes”, draw a card from the deck, and show it to nobody:",
        "3.1. If your card is marked “1”, say “3”.",
        "3.2. If your card is marked “2”, say “2”.",
        "3.3. If your card is marked “3”, say “1”.",
    ],
    "crosswise": [
        THINK,
        f"2. Think of your answer to {OTHER}, but keep it to yourself.",
        "3. If your true answer is “no” and your answer to the other question is “no”, say “same”.",
        "4. If your true answer is “no” and your answer to the other question is “yes”, say "
        "“different”.",
        "5. If your true answer is “yes” and your answer to the other question is “yes”, say "
        "“same”.",
        "6. If your true answer is “yes” and your answer to the other question is “no”, say "
        "“different”.",
    ],
    "triangular": [
        THINK,
        f"2. Think of your answer to {OTHER}, but keep it to yourself.",
        "3. If your true answer is “yes”, say “triangle”.",
        "4. If your true answer is “no” and your answer to the other question is “yes”, say "
        "“triangle”.",
        "5. If your true answer is “no” and your answer to the other question is “no”, say "
        "“circle”.",
    ],
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_mechanism_tells_what_its_device_tells(name):
    """What each design tells is in the golden record."""
    assert MECHANISMS[name].instructions() == KNOWN[name].instructions(categories_of(name))


@pytest.mark.parametrize("device", [*KNOWN.values(), *UNKNOWN.values()], ids=repr)
def test_sentences_are_sentences(device):
    lines = device.instructions()
    assert lines[0].startswith("1. ")
    for line in lines:
        number, _, text = line.partition(" ")
        assert number[:-1].replace(".", "").isdigit() and number.endswith(".")
        assert text[0].isupper() and text[-1] in ".:" and "  " not in text and "{" not in text


def test_respondents_are_not_told_to_cheat():
    assert told(UNKNOWN["cheating-detection"]) == told(library.forced_response("1/4", 0))
    assert told(UNKNOWN["stochastic-lie-detector"]) == told(library.mangat(0.7))
    assert told(library.moors(0.7, group=2)) == ["1. Answer the other question truthfully."]
    c = unknown("c")
    with pytest.raises(NotAvailable, match="otherwise"):
        flip(c).when({"heads": truth, "tails": opposite}).instructions()
    with pytest.raises(NotAvailable, match="probability is c"):
        flip(c).instructions()


def test_results_that_are_remembered():
    first = spin({"A": 0.7, "B": 0.3}).when({"A": truth, "B": another})
    device = first >> flip().when({"heads": truth}, otherwise=opposite)
    assert told(device)[1:] == [
        "2. If it stops at “A”, remember your true answer.",
        "3. If it stops at “B”, remember one of the other answers, picked so that each is equally "
        "likely.",
        "4. Flip the coin, and show the result to nobody.",
        "5. If it shows heads, say the result that you remember.",
        "6. If it shows tails, say the opposite of the result that you remember.",
    ]
    assert told(truth >> opposite) == told(opposite)


def test_parts_cohorts_and_codes():
    device = parts(truth, roll(20).when({range(3, 12): "yes"}, otherwise="no"))
    assert told(device) == [
        "1. Give 2 answers, one after the other.",
        "2. For answer 1, answer the question truthfully.",
        "3. For answer 2, roll the die, and show the result to nobody. The die has 20 sides.",
        "3.1. If it shows 3 to 11, say “yes”.",
        "3.2. If it shows anything else, say “no”.",
    ]
    lines = told(cohorts([hashed(4, 0), hashed(4, 1) >> another]))
    assert lines[0].startswith("1. Let the program pick one of 2 sets of instructions")
    assert lines[-1].endswith("Say the number of your set before your answer.")


def test_a_deck_that_was_used_is_made_whole_again():
    deck = cards({"truth": 8, "yes": 2}).when({"truth": truth}, otherwise="yes")
    back = "put the card back, shuffle, and draw a card from the deck, and show it to nobody"
    assert told(parts(deck, deck))[4] == f"3. For answer 2, {back}:"
    assert f"4. {back.capitalize()}." in told(deck >> deck)
    named = (deck >> recode({"yes": "Y", "no": "N"})).when({"Y": deck}, otherwise=truth)
    assert any(back in line for line in told(named))
    assert "again" in told(parts(flip(), flip()))[2]
    apart = told(truth.when({"yes": deck}, otherwise=deck >> recode({"yes": "no"})))
    assert not any(back in line for line in apart)  # one or the other, never both


def test_parts_and_cohorts_that_others_follow_are_kept():
    counted = parts(truth, question(0.3)) >> recode(
        {"no, no": 0, "no, yes": 1, "yes, no": 1, "yes, yes": 2}
    )
    assert told(counted)[:3] == [
        "1. Find 2 results, one after the other, and keep them to yourself.",
        "2. For result 1, remember your true answer.",
        "3. For result 2, remember your true answer to the other question.",
    ]
    assert counted.mechanism(NO_YES).exact[1] == (0, Fraction(7, 10), Fraction(3, 10))
    lines = told(cohorts([truth, opposite]) >> recode({"0:yes": "1:yes"}))
    assert lines[3] == "4. Remember which set it was, together with the result."
    assert not any("say the number" in line.lower() for line in lines)


def test_recoded_answers():
    assert told(recode({"often": "yes"}), ("often", "no"))[1:] == [
        "2. If your true answer is “often”, say “yes”.",
        "3. If your true answer is “no”, say it.",
    ]
    assert told(recode({"often": "yes"}), None)[2].endswith("anything else, say it.")
    coin = flip(0.7).when({"heads": truth}, otherwise=another)
    swapped = coin >> recode({"a": "b", "b": "a"})
    assert told(swapped, ("a", "b", "c"))[3:] == [
        "4. If the result that you remember is “a”, say “b”.",
        "5. If the result that you remember is “b”, say “a”.",
        "6. If the result that you remember is “c”, say it.",
    ]
    assert told(swapped, ("a", "b"))[-1].startswith("5. ")  # and nothing else
    assert told(swapped >> coin, ("a", "b", "c"))[3:7] == [
        "4. Do only the first of these that fits:",  # else “a” would become “b”, and “a” again
        "4.1. If the result that you remember is “a”, remember “b”.",
        "4.2. If the result that you remember is “b”, remember “a”.",
        "4.3. If the result that you remember is “c”, remember it.",
    ]
    twice = truth.when({"yes": "b", "no": "a"}).when({"a": flip(), "b": roll()})
    assert told(twice)[:2] == [UNSEEN, "2. If your true answer is “yes”, remember “b”."]


def test_what_is_drawn_is_said_in_one_sentence():
    jobs = ("nurse", "cook", "driver")
    deck = cards({"truth": 7, "nurse": 1, "cook": 1, "driver": 1})
    said = deck.when({"truth": truth} | {job: job for job in jobs})
    assert told(said, jobs)[1:] == [
        "2. If your card is marked “truth”, answer the question truthfully.",
        "3. If your card is marked “nurse”, “cook” or “driver”, say what is on it.",
    ]
    assert told(said >> recode({"nurse": "cook"}), jobs)[2].endswith("remember what is on it.")
    many = range(1, 21)
    die = roll(30).when({i: i for i in many}, otherwise=truth)
    assert told(die, 30)[1] == "2. If it shows 21 to 30, answer the question truthfully."
    assert told(die, 30)[2] == "3. If it shows 1 to 20, say the result."
    letters = "abcdefgh"
    spun = spin({"x": "1/9"} | dict.fromkeys(letters, "1/9"))
    rest = spun.when({"x": truth} | {v: v for v in letters})
    assert told(rest)[-1] == "3. If it stops at anything else, say the result."


def test_likely_results_are_said_in_numbers_or_percent():
    assert "equally likely" in told(spin({"a": "1/3", "b": "1/3", "c": "1/3"}))[0]
    assert "“a” 33.3% and “b” 66.7%" in told(spin({"a": "3333/10000", "b": "6667/10000"}))[0]
    assert (
        "Of its 3 cards, 1 is marked “a” and 2 are marked “b”" in told(cards({"a": 1, "b": 2}))[0]
    )
    assert "Out of 5 flips, 4 show heads and 1 shows tails" in told(flip(0.8))[0]
    assert "never" not in told(spin({"a": 1, "never": 0}))[0]


def test_words_are_replaced():
    die = library.forced_dice()
    assert told(die, die="wooden cube")[0].startswith("1. Roll the wooden cube,")
    assert told(die, question="whether you smoke")[3].endswith(
        "answer whether you smoke truthfully."
    )
    assert told(flip().when({"heads": truth}, otherwise="yes"), heads="the king")[1] == (
        "2. If it shows the king, answer the question truthfully."
    )
    german = {
        "roll": "würfeln Sie",
        "hide": "{act}, ohne jemandem die Augenzahl zu zeigen",
        "if": "wenn {condition}, {action}",
        "shows": "Sie {outcome} würfeln",
        "range": "{first} bis {last}",
        "say": "sagen Sie {label}",
        "say truth": "antworten Sie wahrheitsgemäß",
        "label": "„{label}“",
        "number": "{number})",
    }
    assert told(library.forced_dice(answers=("nein", "ja")), **german) == [
        "1) Würfeln Sie, ohne jemandem die Augenzahl zu zeigen.",
        "2) Wenn Sie 1 würfeln, sagen Sie „ja“.",
        "3) Wenn Sie 6 würfeln, sagen Sie „nein“.",
        "4) Wenn Sie 2 bis 5 würfeln, antworten Sie wahrheitsgemäß.",
    ]
    assert told(die) == TOLD["forced-dice"]  # nothing is kept from call to call


BAD = [
    ({"dice": "x"}, "words='dice': is no such word"),
    ({"dice": "x"}, "did you mean 'die'"),
    ("die", "words='die'"),
    ({"die": None}, "words['die']=None"),
    ({"die": ""}, "words['die']=''"),
    ({"die": "{coin}"}, "words['die']"),
    ({"say": "say it"}, "{label}"),
    ({"say": "say {labels} {label}"}, "{labels}"),
    ({"say": "say {label"}, "braces"),
    ({"say": "say {label.__class__}"}, "words['say']"),
    ({"say": "say {label!r}"}, "words['say']"),
    ({"if": "{action}"}, "{condition}"),
]


@pytest.mark.parametrize(("words", "named"), BAD)
def test_bad_words_are_refused_by_name(words, named):
    with pytest.raises(InvalidArgument) as caught:
        library.forced_dice().instructions(NO_YES, words)
    assert named in str(caught.value)


def test_every_word_can_be_replaced_by_itself():
    for device in (*KNOWN.values(), *UNKNOWN.values()):
        assert device.instructions(NO_YES, WORDS) == device.instructions(NO_YES)


def test_labels_of_several_types():
    for labels in ((0, 1), (False, True), (0.5, 1.5)):
        mechanism = library.mangat(0.6, answers=labels).mechanism(labels)
        assert mechanism.instructions()[1] == (
            f"2. If your true answer is “{labels[1]}”, say “{labels[1]}”."
        )
    many = truth.when({0: "none"}, otherwise="some").instructions(1000)
    assert many[2] == "3. If your true answer is “1” to “999”, say “some”."
    assert truth.when({"a": "x"}, otherwise="y").instructions()[2] == (
        "3. If your true answer is anything else, say “y”."
    )
    with pytest.raises(InvalidArgument, match="categories"):
        truth.instructions(categories=1.5)
    assert isinstance(ldp.devices.WORDS, dict)


# The drawing of a device: its words, and that none of them overlap.

mpl.use("Agg")


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
def test_nothing_overlaps_and_all_is_inside(name):
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


def test_words_of_a_tree():
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


def test_answers_without_a_branch_are_named_where_they_are_known():
    device = truth.when({"no": "a"}, otherwise="b")
    assert "otherwise" in {text.get_text() for text in device.plot().texts}
    assert "yes" in {text.get_text() for text in device.plot(("no", "yes")).texts}
    plt.close("all")


def test_axes_of_ones_own_keep_their_size():
    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    assert KNOWN["mangat-singh"].plot(ax=axes[0]) is axes[0]
    figure.canvas.draw()
    assert not texts_overlap(axes[0])
    assert figure.get_size_inches().tolist() == [8, 3]
    plt.close("all")


def test_what_cannot_be_drawn_is_refused():
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


def test_only_results_that_can_occur_have_a_branch():
    recoded = flip(0.7).when({"heads": truth, "tails": "yes"}) >> recode({"no": "N", "yes": "Y"})
    words = [text.get_text() for text in recoded.plot(("no", "yes")).texts]
    expected = ["no", "say N", "yes", "say Y", "that result?", "in turn"]
    assert words[words.index("then") + 1 :] == expected
    later = truth.when({"a": "b"}, otherwise="c") >> recode({"b": "x"})
    words = [text.get_text() for text in later.plot().texts]
    expected = ["b", "say x", "c", "that result", "that result?", "in turn"]
    assert words[words.index("then") + 1 :] == expected
    plt.close("all")


def test_dollars_are_no_mathematics():
    device = spin({"$x$": 0.5, "y": 0.5}).when({"$x$": truth}, otherwise="$y$")
    words = {text.get_text() for text in device.plot().texts}
    assert {r"\$x\$  (1/2)", r"say \$y\$"} <= words
    plt.close("all")
