"""Designs that say "no" and "yes", in the codes and words of a survey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.devices import (
    Device,
    cohorts,
    flip,
    library,
    parts,
    question,
    recode,
    roll,
    say,
    truth,
)

DESIGNS: dict[str, Device] = {
    "cheating-detection": library.cheating_detection("1/4", "1/8"),
    "christofides": library.christofides(["1/2", "1/3", "1/6"]),
    "crosswise": library.crosswise("1/4"),
    "disguised-response": library.disguised_response(0.8),
    "forced-cards": library.forced_cards(8, 1, 2),
    "forced-categories": library.forced_categories({"no": 0.1, "yes": 0.2}),
    "forced-coins": library.forced_coins(),
    "forced-dice": library.forced_dice(yes=[1, 2]),
    "forced-response": library.forced_response("1/6", "1/3"),
    "inattentive-crosswise": library.inattentive_crosswise("1/4", attentive=0.8),
    "kuk": library.kuk(0.8, 0.3, draws=3),
    "mangat": library.mangat(0.6),
    "mangat-singh": library.mangat_singh("1/2", 0.75),
    "moors": library.moors(0.7, group=2),
    "one-saying-crosswise": library.one_saying_crosswise("1/4", one_saying=0.1),
    "stochastic-lie-detector": library.stochastic_lie_detector(0.7),
    "triangular": library.triangular("1/4"),
    "unrelated-question": library.unrelated_question("1/2", "1/12"),
    "warner": library.warner(0.8),
}
OWN = {
    "cohorts": cohorts({"A": library.forced_dice(yes=[1, 2]), "B": library.kuk(0.8, 0.3, draws=2)}),
    "item count": parts(truth, question(0.3))
    >> recode({"no, no": 0, ("no, yes", "yes, no"): 1, "yes, yes": 2}),
    "one after the other": library.forced_dice(yes=[1, 2]) >> library.crosswise("1/3"),
    "unknown prevalence": library.unrelated_question("1/2"),
    "unknown cheating": library.cheating_detection("1/4"),
}
CODES: list[Any] = [(0, 1), (2, 1), (1, 2), 2, ("nein", "ja"), ("Never", "Once"), (False, True)]


def by_report(mechanism: Any) -> dict[str, tuple[Any, ...]]:
    return dict(zip(map(str, mechanism.outputs), zip(*mechanism.exact, strict=True), strict=True))


def test_every_design_of_the_library_is_tested() -> None:
    assert set(DESIGNS) == set(library.DESIGNS)


@pytest.mark.parametrize("codes", CODES, ids=str)
@pytest.mark.parametrize("name", [*DESIGNS, *OWN])
def test_two_categories_stand_for_no_and_yes_in_order(name: str, codes: Any) -> None:
    device = (DESIGNS | OWN)[name]
    plain, own = device.mechanism(("no", "yes")), device.mechanism(codes)
    no, yes = own.categories
    said = {"no": str(no), "yes": str(yes), "A:no": f"A:{no}", "A:yes": f"A:{yes}"}
    assert by_report(own) == {said.get(y, y): law for y, law in by_report(plain).items()}
    assert own.epsilon == plain.epsilon and own.unknown == plain.unknown
    assert type(own).from_dict(own.to_dict()) == own
    told = " ".join(device.instructions(codes))
    assert told == " ".join(own.instructions())
    assert "yes" not in told and "“no”" not in told


@pytest.mark.parametrize("codes", [("ja", "nein"), (1, 0), ("Yes", "No"), (True, False)], ids=str)
def test_a_yes_that_is_listed_first_is_the_yes_all_the_same(codes: Any) -> None:
    device = library.forced_response("1/3", "1/6")
    yes, no = codes
    own = device.mechanism(codes)
    assert own.exact[::-1] == tuple(row[::-1] for row in device.mechanism(("no", "yes")).exact)
    assert f"If it stops at “say {yes}”, say “{yes}”." in " ".join(own.instructions())
    assert own.categories.tolist() == [yes, no]


@pytest.mark.parametrize(
    ("device", "categories", "said"),
    [
        (library.forced_dice(), ("yes", "no"), ["yes", "no"]),
        (truth.when({"a": "no", "b": "yes"}), ("a", "b"), ["no", "yes"]),
        (truth.when({"no": flip().when({"heads": "x"}, otherwise="y")}, otherwise="x"),
         ("no", "never"), ["x", "y"]),
        (roll(6).when({1: "a", 6: "b"}, otherwise=truth), ("a", "b"), ["a", "b"]),
    ],
)  # fmt: skip
def test_devices_in_words_of_their_own_stay(device: Device, categories: Any, said: Any) -> None:
    assert device.mechanism(categories).outputs.tolist() == said
    assert device.mechanism(categories).device == device.step


@pytest.mark.parametrize("categories", [("no", "maybe"), ("a", "b", "c")])
def test_misspelt_answers_are_refused(categories: Any) -> None:
    with pytest.raises(ldp.LDPError, match="write it as the categories do"):
        library.forced_dice().mechanism(categories)


def test_misspelt_answers_within_a_cohort_are_refused() -> None:
    with pytest.raises(ldp.LDPError, match=r"say='A:ja'.*answers=\(2, 1\) in a design"):
        cohorts({"A": library.forced_dice(answers=("nein", "ja"))}).mechanism((2, 1))
    cohorts([say(0), truth]).mechanism(3)  # cells of a hash are numbers


def test_documents_and_pages_have_the_words_of_the_survey() -> None:
    mechanism = library.forced_dice().mechanism(("nein", "ja"))
    document = json.dumps(ldp.Questionnaire({"late": mechanism}).client_document())
    assert '"ja"' in document and '"nein"' in document and '"yes"' not in document


def test_a_file_of_semicolons_is_told_how_to_be_read(tmp_path: Path) -> None:
    pd.DataFrame({"late": [1, 2], "age": [9, 9]}).to_csv(tmp_path / "wide.csv", sep=";")
    with pytest.raises(ldp.LDPError, match=r"pandas.read_csv\(file, sep=';'\)"):
        ldp.Survey(tmp_path / "wide.csv", {"late": library.warner("8/10").mechanism((2, 1))})
