"""The surveys whose reports are compared, by name, with answers to each."""

from fractions import Fraction
from typing import Any

from clients.vectors.reference import places
from grid import MECHANISMS

import ldpstats as ldp
from ldpstats import devices
from ldpstats.mechanisms import LumpedUnary

STRANGE = (
    *(
        "__proto__",
        "constructor",
        "toString",
        "hasOwnProperty",
        "</script>",
        "\"\\'",
        "a,b",
        " a ",
        "1",
    ),
    *("nul\0", "\x7f\x1f\b\t\n\f\r", "\u2028", "\uffff", "😀", "Zu\u0308rich", "Zürich", "\ufffd"),
)
OPEN = ("apple", "", "Zürich", "Zu\u0308rich", "日本", "😀", "a\0b", "www.example.org/" + 48 * "x")
HALF, SMALL = Fraction(1, 2), Fraction(1, 3 << 70)

_SIZES = {
    "krr-1000": ldp.KRR(1000, epsilon=2.0),
    "krr-strange": ldp.KRR(STRANGE, epsilon=1.0),
    "krr-numbers": ldp.KRR((-1, 2.5, 1e6, True, 10**20, "0"), epsilon=1.0),
    "krr-exact": devices.flip(Fraction((3 << 64) + 1, 1 << 66))
    .when({"heads": devices.truth}, otherwise=devices.another)
    .mechanism(2),
    "lumped-odd": LumpedUnary(3, p1=((1 << 52) + 3) / 2**64, p0=((1 << 52) + 1) / 2**64),
    **{f"krappor-{m}": ldp.KRAPPOR(m, epsilon=2.0) for m in (8, 9, 64, 65, 128)},
    "krappor-strange": ldp.KRAPPOR(STRANGE, epsilon=0.7),
    "lumped-66": LumpedUnary(66, p1=0.7, p0=0.2),
    "subsets-65": ldp.SubsetSelection(65, epsilon=1.0),
    "subsets-128": ldp.SubsetSelection(128, epsilon=3.0),
    "hadamard-600": ldp.HadamardResponse(600, epsilon=2.0, order=1024),
    "hadamard-1000": ldp.HadamardResponse(1000, epsilon=2.0),
    "projective-3000": ldp.ProjectiveGeometryResponse(3000, epsilon=2.0),
    "geometric-12": ldp.GeometricResponse(12, epsilon=4.0),
    "device-tiny": devices.spin({"a": HALF, "b": SMALL, "c": 2 * SMALL, "d": HALF - 3 * SMALL})
    .when({"a": devices.truth}, otherwise=devices.truth.when({0: "x", 1: "y"}))
    .mechanism(2, outputs=(0, 1, "x", "y")),
    "device-rare": devices.truth.when(
        {
            "a": devices.spin({"u": HALF, "v": SMALL, "w": 2 * SMALL, "x": HALF - 3 * SMALL}),
            "b": devices.spin({"u": "1/3", "v": "1/3", "w": "1/3"}),
        }
    ).mechanism(("a", "b"), outputs=("u", "v", "w", "x")),
    "urap-66": ldp.URAP(66, range(65), epsilon=2.0),
    "urap-levels-9": ldp.URAP(10, epsilon={x: 0.3 + x / 4 for x in range(9)}),
    "orr-1000": ldp.ORR(1000, 65536, epsilon=3.0),
    "orr-closed-1000": ldp.ORR(7, 100, epsilon=2.0, alphabet=1000),
    "orr-strange": ldp.ORR(5, 3, epsilon=2.0, alphabet=STRANGE[:-1]),
    "orappor-128": ldp.ORAPPOR(128, 2, 8, epsilon=4.0),
    "orappor-repeats": ldp.ORAPPOR(3, 4, 5, epsilon=3.0, alphabet=4),
    "rappor-128": ldp.RAPPOR(128, 2, 64, f=0.5, p=0.5, q=0.75),
    "rappor-16": ldp.RAPPOR(16, 2, 64, f=0.5, p=0.25, q=0.75),
    "rappor-google-256": ldp.RAPPOR(256, 16, 300, f=0.25, p=0.25, q=0.75, hashing="google"),
    "rappor-strange": ldp.RAPPOR(20, 3, 5, f=0.25, p=0.25, q=0.75, alphabet=STRANGE[:-1]),
    "kept": ldp.KRR(("nurse", "cook", "none"), 2.0).then(
        ldp.KRR(("nurse", "cook", "none"), 1.0), keep="first"
    ),
    "kept-strange": ldp.KRR(STRANGE, 1.0)
    .then({label: i % 3 for i, label in enumerate(STRANGE)})
    .then(ldp.GeometricResponse(3, 0.5), keep="first"),
}

_REGIONS = ("centre", "park", "hospital", "__proto__", "😀")
_STRINGS = ldp.ORR(n_outputs=9, n_cohorts=5, epsilon=1.0)
PERSONAL = {
    "pum": ldp.PUM(ldp.URR(_REGIONS, {"hospital"}, epsilon=1.0), tags=("home", "constructor")),
    "pum-numbers": ldp.PUM(ldp.URAP(9, {0, 4}, epsilon=1.0), tags=("home",)),
    "pum-levels": ldp.PUM(ldp.URR(_REGIONS, (), epsilon=2.0), tags={"home": 0.5, "Bürö": 1.5}),
    "pum-alone": ldp.PUM(ldp.URAP(_REGIONS, (), epsilon=1.0, theta=0.4), tags=(1, 2.5)),
}
GRAMS = {
    "strings": ldp.DictionarySurvey(length=6, gram=2, alphabet="abcde", epsilon=12.0),
    "strings-overlap": ldp.DictionarySurvey(
        *(4, 2, "ab😀é"), pad="_", step=1, replace="a", string_mechanism=_STRINGS,
        gram_mechanism=ldp.ORAPPOR(9, 2, 3, epsilon=2.0),
    ),
    "strings-bits": ldp.DictionarySurvey(
        *(4, 2, "ab"), gram_mechanism="oue", string_mechanism="rappor", epsilon=6.0
    ),
}  # fmt: skip
SINGLE: dict[str, Any] = MECHANISMS | _SIZES | PERSONAL | GRAMS

_JOBS = ldp.KRR(("nurse", "cook", "none of these"), epsilon=1.0)
_FIVE = {
    name: ldp.KRR(("0", "1", "2"), epsilon=0.5)
    for name in ("__proto__", "a", "é", "😀", "toString")
}
SHEETS = {
    "sheet": ldp.Questionnaire(
        {"job": _JOBS, "ill": ldp.Warner(epsilon=0.5), "region": ldp.Observed(3)}
    ),
    "sheet-asks-2": ldp.Questionnaire({**_FIVE, "region": ldp.Observed(3)}, ask=2),
    "sheet-asks-4": ldp.Questionnaire(_FIVE, ask=4, refused="2"),
    "sheet-asks-all": ldp.Questionnaire(_FIVE, ask=5, refused={"a": "0"}),
    "sheet-observed": ldp.Questionnaire({"region": ldp.Observed(STRANGE[:-1])}),
    "sheet-of-all-kinds": ldp.Questionnaire(
        {
            "url": MECHANISMS["rappor-lifetime"],
            "site": MECHANISMS["rappor-google"],
            "place": PERSONAL["pum"],
            "region": ldp.Observed(("n", "s")),
            "strings": GRAMS["strings-overlap"],
            "both": MECHANISMS["product-wide"],
            "die": MECHANISMS["device-die"],
            "bits": MECHANISMS["urap-levels"],
            "block": MECHANISMS["projective-11"],
        },
        ask=7,
        refused={"bits": "a", "strings": "aa"},
    ),
    "sheet-wave": ldp.Questionnaire({"job": _JOBS}, wave="2026-05"),
    "sheet-linked": ldp.Questionnaire(
        {"a": ldp.Warner(epsilon=0.5), "😀": ldp.Warner(epsilon=0.5)},
        ask=1,
        wave="2026-05",
        link=True,
    ),
}
SHEETS["sheet-kept"] = ldp.Questionnaire(
    {
        "job": _SIZES["kept"],
        "job again": _SIZES["kept"],
        "url": MECHANISMS["rappor-lifetime"],
        "once": MECHANISMS["rappor-google"],
        "ill": MECHANISMS["rappor-boolean"],
        "late": ldp.Warner(epsilon=0.5),
    },
    ask=5,
    refused={"job": "none"},
    wave="2026-05",
    link=True,
    keep=True,
)
SHEETS["sheet-linked-again"] = SHEETS["sheet-linked"].in_wave("été ☃ 2026")

SURVEYS = SINGLE | SHEETS


def answers(survey: Any, most: int) -> list[Any]:
    """Up to so many answers: the first and the last ones of a list."""
    if isinstance(survey, ldp.DictionarySurvey):
        letters = survey.alphabet
        return [letters[0], letters * 3, letters[::-1], letters[1] * 4, letters[-1] * 3][:most]
    if not isinstance(survey, ldp.PUM) and survey.is_open:
        return list(OPEN[:most])
    every = list(places(survey.categories))
    half = -(-min(most, len(every)) // 2)
    return every[:half] + every[half:][-(min(most, len(every)) - half) :]


def tags(survey: Any) -> Any:
    """Categories of a respondent's own, of a PUM."""
    if not isinstance(survey, ldp.PUM):
        return None
    own = list(places(survey.categories))
    names = [str(tag) for tag in survey.tags.tolist()]
    return dict(zip(names, ([own[1]], own[3:]), strict=False))


def sheets(sheet: ldp.Questionnaire, n: int) -> list[Any]:
    """n sheets of answers, of which some are missing."""
    every = {name: answers(made_by, 9) for name, made_by in sheet.mechanisms.items()}
    found = []
    for i in range(n):
        sheet_i = {name: some[i % len(some)] for name, some in every.items()}
        for j, name in enumerate(every):
            if (i + j) % 4 == 3:
                sheet_i[name] = None
            elif (i + j) % 7 == 6:
                del sheet_i[name]
        found.append(sheet_i)
    return found
