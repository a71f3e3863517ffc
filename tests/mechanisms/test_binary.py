"""Binary designs over any two labels; those over ("no", "yes") keep their specifications."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

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


@pytest.mark.parametrize(
    ("kind", "bare", "spellings"),
    [
        (ldp.Warner, (0.8,), ["Warner(epsilon=1.0)", "Warner(p=0.8)"]),
        (ldp.Warner, (1.0, (0, 1)), ["Warner(epsilon=1.0)", "Warner(p=0.8)"]),
        (ldp.ForcedResponse, (0.75, 0.125), ["ForcedResponse(p_truth=0.75, p_yes=0.125)"]),
        (ldp.UnrelatedQuestion, (0.7, 0.25), ["UnrelatedQuestion(p=0.7, prevalence=0.25)"]),
        (ldp.Mangat, (0.6,), ["Mangat(p=0.6)"]),
        (ldp.RAPPOR, (16, 2, 8, 0.5, 0.25, 0.75), ["RAPPOR(16, 2, 8, f=0.5, p=0.25, q=0.75)"]),
        (ldp.ORAPPOR, (16, 2, 8, 1.0), ["ORAPPOR(16, 2, 8, epsilon=1.0)"]),
        (ldp.ORR, (4, 16, 1.0), ["ORR(4, 16, epsilon=1.0)"]),
    ],
    ids=str,
)
def test_a_bare_number_is_refused_and_the_remedies_work(
    kind: Any, bare: tuple[Any, ...], spellings: list[str]
) -> None:
    with pytest.raises(ldp.InvalidArgument, match="needs its name") as caught:
        kind(*bare)
    assert str(caught.value).split("write ")[1] == " or ".join(spellings)
    for spelling in spellings:
        assert type(eval(spelling, vars(ldp).copy())) is kind


@pytest.mark.parametrize("p", [1e-9, 0.2, 0.49, 0.51, 0.8, 1 - 1e-9])
def test_p_is_on_the_diagonal_whichever_half_it_is_in(p: float) -> None:
    design = ldp.Warner(p=p, categories=(0, 1))
    assert np.array_equal(design.channel().matrix(), [[p, 1 - p], [1 - p, p]])
    assert design.audit().agrees
    assert ldp.mechanism_from_dict(design.to_dict()) == design
    assert design != ldp.Warner(p=1 - p, categories=(0, 1))
    n = 4000
    told = design.privatize([1] * n, np.random.default_rng(1)).y
    assert abs(told.mean() - p) <= 4 * np.sqrt(p * (1 - p) / n)  # four standard errors
    if 0.01 < p < 0.99:  # the device's own draw, from its document
        client = design.client(reports=n)
        drawn = np.mean([client.report(1) for _ in range(n)])
        assert abs(drawn - p) <= 5 * np.sqrt(p * (1 - p) / n)  # system randomness: 1 in 10^6


@pytest.mark.parametrize(
    "given", [{}, {"p": 0.5}, {"p": 0}, {"p": 1}, {"p": 1e-30}, {"p": 0.8, "epsilon": 1.0}]
)
def test_p_that_is_none(given: dict[str, float]) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"^(p|epsilon)="):
        ldp.Warner(**given)
