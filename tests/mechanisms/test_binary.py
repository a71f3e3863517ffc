"""Binary designs over any two labels; those over ("no", "yes") keep their specifications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli.program import main

DESIGNS: dict[str, tuple[type[ldp.Mechanism], dict[str, float], str]] = {
    # fingerprints of release 0.1.0
    "warner": (ldp.Warner, {"epsilon": 1.0}, "21e29585a0a4"),
    "forced": (ldp.ForcedResponse, {"p_truth": 0.5, "p_yes": 0.25}, "67f958b6b44d"),
    "unrelated": (ldp.UnrelatedQuestion, {"p": 0.7, "prevalence": 0.25}, "929ec0bea2c7"),
    "mangat": (ldp.Mangat, {"p": 0.6}, "ffe44f8d2aa8"),
}
LABELS: list[tuple[Any, Any]] = [(0, 1), (False, True), ("No", "Yes"), (0.5, 1.5), ("yes", "no")]


@pytest.mark.parametrize("name", DESIGNS)
def test_the_usual_labels_keep_their_specification(name: str) -> None:
    kind, numbers, fingerprint = DESIGNS[name]
    design = kind(**numbers)
    head = {"format": "ldpstats-mechanism", "version": 1, "mechanism": kind.__name__}
    assert design.to_dict() == head | numbers | {"fingerprint": fingerprint}
    assert kind.from_dict(design.to_dict()) == design == kind(**numbers, categories=["no", "yes"])
    assert design.categories.tolist() == ["no", "yes"]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", DESIGNS)
def test_other_labels_change_the_words_only(name: str, labels: tuple[Any, Any]) -> None:
    kind, numbers, fingerprint = DESIGNS[name]
    usual, design = kind(**numbers), kind(**numbers, categories=labels)
    assert design != usual and design.fingerprint != fingerprint
    assert ldp.mechanism_from_dict(design.to_dict()) == design
    assert np.array_equal(design.channel().matrix(), usual.channel().matrix())
    assert str(design) == str(usual)
    answers = np.array([0, 1, 1, 0, 1] * 40)
    drawn = [
        made.privatize([made.categories[a] for a in answers], np.random.default_rng(3))
        for made in (usual, design)
    ]
    assert np.array_equal(drawn[0].y, drawn[1].y)
    fits = [ldp.FrequencyModel(reports).fit() for reports in drawn]
    assert fits[1].params.index.tolist() == list(labels)
    assert fits[1].params.tolist() == fits[0].params.tolist()
    client = design.client(allow_no_privacy=True)
    assert client.report(labels[1]) in labels


@pytest.mark.parametrize(
    "bad", [3, 1, ("a",), ("a", "a"), (1, "1"), None, "no", ["x", None], "abc", {"a", "b"}, 2.0]
)
def test_categories_that_are_not_two_labels(bad: Any) -> None:
    for kind, numbers, _ in DESIGNS.values():
        with pytest.raises(ldp.InvalidArgument, match=r"categories"):
            kind(**numbers, categories=bad)


def test_specifications_that_are_none() -> None:
    spec = ldp.Warner(epsilon=1.0, categories=(0, 1)).to_dict()
    with pytest.raises(ldp.InvalidArgument, match="fingerprint"):
        ldp.Warner.from_dict(spec | {"categories": ["no", "yes"]})
    with pytest.raises(ldp.InvalidArgument, match="must be two labels"):
        ldp.Warner.from_dict(spec | {"categories": 3})
    with pytest.raises(ldp.InvalidArgument, match="specification"):
        ldp.Warner.from_dict([1])  # type: ignore[arg-type]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers, reports, spec = (str(tmp_path / name) for name in ("a.csv", "r.csv", "s.json"))
    Path(answers).write_text("smokes\n" + "0\n1\n1\n" * 30)
    made = ["--mechanism", "warner", "--epsilon", "1", "--categories", "2", "--write-spec", spec]
    assert main(["privatize", answers, reports, "--column", "smokes", *made]) == 0
    assert files.read_mechanism(spec) == ldp.Warner(epsilon=1.0, categories=(0, 1))
    assert main(["fit", reports, "--spec", spec]) == 0
    assert "\n0 " in capsys.readouterr().out
    again = [part if part != "2" else "Yes,No,Maybe" for part in made]
    again += ["--force"]
    assert main(["privatize", answers, reports, "--column", "smokes", *again]) == 2
    assert "must be two labels" in capsys.readouterr().err
