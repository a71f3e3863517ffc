"""Every design of the library, with parameters as they occur in surveys."""

from fractions import Fraction

from ldpstats.devices import library

BORN = "Was your mother born in January, February or March?"
KNOWN = {
    "warner": library.warner(0.7),
    "forced-response": library.forced_response("1/6", "1/12"),
    "forced-dice": library.forced_dice(),
    "forced-cards": library.forced_cards(8, 1, 1),
    "forced-coins": library.forced_coins(),
    "forced-categories": library.forced_categories({"nurse": 0.1, "driver": 0.1, "cook": 0.2}),
    "unrelated-question": library.unrelated_question(0.7, 0.25, BORN),
    "mangat": library.mangat(0.6),
    "mangat-singh": library.mangat_singh("1/3", 0.7),
    "kuk": library.kuk(0.8, 0.2),
    "kuk-3": library.kuk(0.8, 0.3, draws=3),
    "disguised-response": library.disguised_response(0.75),
    "christofides": library.christofides([5, 3, 2]),
    "crosswise": library.crosswise(0.25, BORN),
    "triangular": library.triangular(Fraction(1, 4), BORN),
}
UNKNOWN = {
    "moors": library.moors(0.7),
    "moors-2": library.moors(0.7, group=2, text=BORN),
    "unrelated-question": library.unrelated_question(0.7),
    "stochastic-lie-detector": library.stochastic_lie_detector(0.7),
    "cheating-detection": library.cheating_detection("1/4"),
    "symmetric-cheating-detection": library.cheating_detection("1/4", "1/4"),
}


def categories_of(name: str) -> tuple[str, ...]:
    return ("nurse", "driver", "cook") if name == "forced-categories" else ("no", "yes")


MECHANISMS = {name: device.mechanism(categories_of(name)) for name, device in KNOWN.items()}
