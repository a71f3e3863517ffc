"""What respondents are told: the sentences of every design, and words that a caller replaces."""

from __future__ import annotations

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
    "forced-cards": [
        "1. Draw a card from the deck, and show it to nobody. Of its 10 cards, 8 are marked "
        "“truth”, 1 is marked “say yes” and 1 is marked “say no”.",
        "2. If your card is marked “truth”, answer the question truthfully.",
        "3. If your card is marked “say yes”, say “yes”.",
        "4. If your card is marked “say no”, say “no”.",
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
    "mangat-singh": [
        "1. Draw a card from deck 1, and show it to nobody. Of every 3 cards in it, 1 is marked "
        "“true” and 2 are marked “random”.",
        "2. If your card is marked “true”, answer the question truthfully.",
        "3. If your card is marked “random”, draw a card from deck 2, and show it to nobody. Of "
        "every 10 cards in it, 7 are marked “A” and 3 are marked “B”.",
        "3.1. If your card is marked “A”, answer the question truthfully.",
        "3.2. If your card is marked “B”, say the opposite of your true answer.",
    ],
    "kuk": [
        UNSEEN,
        "2. If your true answer is “yes”, draw a card from deck 1, and say only what is on it. Of "
        "every 5 cards in it, 4 are marked “red” and 1 is marked “black”.",
        "3. If your true answer is “no”, draw a card from deck 2, and say only what is on it. Of "
        "every 5 cards in it, 1 is marked “red” and 4 are marked “black”.",
    ],
    "kuk-3": [
        UNSEEN,
        "2. If your true answer is “yes”, do this 3 times: draw a card from deck 1. Of every 5 "
        "cards in it, 4 are marked “red” and 1 is marked “black”. Put each card back and shuffle "
        "before you draw the next. Say only how many of the 3 results are “red”.",
        "3. If your true answer is “no”, do this 3 times: draw a card from deck 2. Of every 10 "
        "cards in it, 3 are marked “red” and 7 are marked “black”. Put each card back and shuffle "
        "before you draw the next. Say only how many of the 3 results are “red”.",
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


@pytest.mark.parametrize("name", TOLD)
def test_designs_are_told_like_this(name) -> None:
    assert MECHANISMS[name].instructions() == TOLD[name]
    assert KNOWN[name].instructions(categories_of(name)) == TOLD[name]


@pytest.mark.parametrize("device", [*KNOWN.values(), *UNKNOWN.values()], ids=repr)
def test_sentences_are_sentences(device) -> None:
    lines = device.instructions()
    assert lines[0].startswith("1. ")
    for line in lines:
        number, _, text = line.partition(" ")
        assert number[:-1].replace(".", "").isdigit() and number.endswith(".")
        assert text[0].isupper() and text[-1] in ".:" and "  " not in text and "{" not in text


def test_respondents_are_not_told_to_cheat() -> None:
    assert told(UNKNOWN["cheating-detection"]) == told(library.forced_response("1/4", 0))
    assert told(UNKNOWN["stochastic-lie-detector"]) == told(library.mangat(0.7))
    assert told(library.moors(0.7, group=2)) == ["1. Answer the other question truthfully."]
    c = unknown("c")
    with pytest.raises(NotAvailable, match="otherwise"):
        flip(c).when({"heads": truth, "tails": opposite}).instructions()
    with pytest.raises(NotAvailable, match="probability is c"):
        flip(c).instructions()


def test_results_that_are_remembered() -> None:
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


def test_parts_cohorts_and_codes() -> None:
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


def test_likely_results_are_said_in_numbers_or_percent() -> None:
    assert "equally likely" in told(spin({"a": "1/3", "b": "1/3", "c": "1/3"}))[0]
    assert "“a” 33.3% and “b” 66.7%" in told(spin({"a": "3333/10000", "b": "6667/10000"}))[0]
    assert (
        "Of its 3 cards, 1 is marked “a” and 2 are marked “b”" in told(cards({"a": 1, "b": 2}))[0]
    )
    assert "Out of 5 flips, 4 show heads and 1 shows tails" in told(flip(0.8))[0]
    assert "never" not in told(spin({"a": 1, "never": 0}))[0]


def test_words_are_replaced() -> None:
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
    ({5: "x"}, "words=5"),
    (["die"], "words=['die']"),
    ("die", "words='die'"),
    ({"die": None}, "words['die']=None"),
    ({"die": ""}, "words['die']=''"),
    ({"die": "  "}, "words['die']=' '"),
    ({"die": "{coin}"}, "words['die']"),
    ({"say": "say it"}, "{label}"),
    ({"say": "say {labels} {label}"}, "{labels}"),
    ({"say": "say {label"}, "braces"),
    ({"say": "say {label.__class__}"}, "words['say']"),
    ({"say": "say {label!r}"}, "words['say']"),
    ({"say": "say {label:>20}"}, "words['say']"),
    ({"say": "say {0} {label}"}, "words['say']"),
    ({"if": "{action}"}, "{condition}"),
]


@pytest.mark.parametrize(("words", "named"), BAD)
def test_bad_words_are_refused_by_name(words, named) -> None:
    with pytest.raises(InvalidArgument) as caught:
        library.forced_dice().instructions(NO_YES, words)
    assert named in str(caught.value)


def test_every_word_can_be_replaced_by_itself() -> None:
    for device in (*KNOWN.values(), *UNKNOWN.values()):
        assert device.instructions(NO_YES, WORDS) == device.instructions(NO_YES)


def test_outcomes_with_braces_and_percent_signs() -> None:
    device = spin({"{x}": 0.5, "%s": 0.5}).when({"{x}": truth, "%s": "{label}"})
    assert told(device)[2] == "3. If it stops at “%s”, say “{label}”."
    asked = question(0.5, text="{act}?").when({"no": truth, "yes": opposite})
    assert "{act}?" in told(asked)[0]


def test_labels_of_several_types() -> None:
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
