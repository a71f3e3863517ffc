"""Random words that lead to what happens once in billions of reports."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from clients.vectors.surveys import SURVEYS
from clients.vectors.tapes import ALL, W

LOW = (1 << 32) - 1
REST = 0x9E3779B97F4A7C15  # a word like any other


class Rare(NamedTuple):
    """Words, all of which the answers take: so the path is the one that is meant."""

    name: str
    survey: str
    words: list[int]
    answers: list[Any]


def draw(survey: str) -> dict[str, Any]:
    found: dict[str, Any] = SURVEYS[survey].client_document()["question"]["draw"]
    return found


def coin(limit: int, value: bool, lane: int = 0) -> list[int]:
    """Words of COINS(1, limit) after which the bit of a lane has this value, if it can early."""
    digits = f"{limit:064b}".rstrip("0")[:12]
    if limit in (0, W):
        return []
    first = digits.index("01"[value])
    return [1 << lane] * first + [0] * (len(digits) - first)


def keeps() -> Iterator[Rare]:
    """KEEP: the upper halves agree, then the lower ones; and Lemire's rejection."""
    keep = int(draw("warner-weak")["keep"])
    high, low = keep >> 32, keep & LOW
    tie = high << 32 | (LOW - 6)
    for name, second in (("below", low - 1), ("equal", low), ("above", low + 1)):
        yield Rare(f"keep, tie, {name}", "warner-weak", [tie, second << 32 | 7], ["no"])
    near = [(high - 1) << 32 | 5, (high + 1) << 32 | LOW, (high + 1) << 32]
    yield Rare("keep, next to a tie", "warner-weak", near, ["no", "no", "yes"])
    lost = (ALL >> 32) << 32
    words = [lost, 0, 5 << 32, 214748365, lost | 1 << 31 | 1]  # 20 * 214748365 is 4 modulo 2^32
    yield Rare("keep, rejection", "krr-20", words, ["19"])
    tie = (int(draw("krr-20")["keep"]) >> 32) << 32
    yield Rare("keep, tie and rejection", "krr-20", [tie, ALL, 0, ALL], ["3"])


def exact_keeps() -> Iterator[Rare]:
    """KEEP with a rest: BELOW takes as many words as it needs."""
    keep = int(draw("device-krr")["keep"])
    tie = [(keep >> 32) << 32 | 1 << 31, (keep & LOW) << 32 | 9]
    third = 2 * W // 3
    for name, more in (("below", third - 1), ("above", third + 1)):
        words = [*tie, third, third, more]
        yield Rare(f"keep, rest, {name}", "device-krr", words, ["4"])
    keep = int(draw("krr-exact")["keep"])
    tie = [(keep >> 32) << 32 | LOW, (keep & LOW) << 32]
    words = [*tie, 1 << 63, *tie, (1 << 63) - 1, *tie, (1 << 63) + 1]
    yield Rare("keep, rest of a half", "krr-exact", words, ["0", "0", "0"])


def coins() -> Iterator[Rare]:
    """COINS: all 64 digits are tied, in one lane and in all."""
    other, own = int(draw("lumped-odd")["other"][0]), int(draw("lumped-odd")["own"][0])
    assert other & 1 and own & 1  # 64 digits
    yield Rare("coins, tied to the end", "lumped-odd", [ALL] * 128, ["0"])
    late = [1] * 63 + [0] + [128] * 63 + [0]
    yield Rare("coins, decided by the last digit", "lumped-odd", late, ["1"])
    yield Rare(
        "coins, tied at twelve digits",
        "lumped-odd",
        [1] * 12 + [0] * 12 + coin(own, True, 7),
        ["1"],
    )
    m = 128
    half = [ALL if i % 2 else 0 for i in range(2 * 12)]  # the second of two words is tied
    limit = int(draw(f"krappor-{m}")["other"])
    rest = limit << 12 & ALL
    more = [0] * len(f"{rest:064b}".rstrip("0")[:12])
    words = [*half, *more, *coin(int(draw(f"krappor-{m}")["own"]), False, 7)]
    yield Rare("coins, one word of two is tied", f"krappor-{m}", words, ["127"])


def subsets() -> Iterator[Rare]:
    """Subsets whose keys are equal where it matters, and where it does not."""
    keep = int(draw("subsets")["keep"])  # three keys, of which one or two are chosen
    small, large = [5 << 32 | 5, 9], [9 << 32 | 5, 9]
    again, kept, left = [3 << 32 | 2, 1], coin(keep, True), coin(keep, False)
    words = [*kept, *small, *again, *kept, *large, *left, *small, *left, *large, *again]
    yield Rare("subset, equal keys", "subsets", words, ["nurse", "cook", "nurse", "cook"])
    keep = int(draw("subsets-9")["keep"])  # eight keys, all of which may be chosen
    words = [*coin(keep, False), *[7 << 32 | 7] * 4, *coin(keep, True), *[7 << 32 | 7] * 4]
    more = [(2 * i + 1) << 32 | 2 * i for i in range(4)]
    yield Rare("subset, all places", "subsets-9", [*words, *more], ["0", "8"])
    keep = int(draw("subsets-2")["keep"])
    words = [*coin(keep, True), ALL, *coin(keep, False), ALL]
    yield Rare("subset, none and one of one place", "subsets-2", words, ["0", "1"])


def numbers() -> Iterator[Rare]:
    """NUMBER: words above the last multiple are drawn again."""
    keep = int(draw("projective")["keep"])  # 3 own labels, 4 others
    words = [*coin(keep, True), ALL, ALL - 1, *coin(keep, False), ALL]
    yield Rare("number, rejection", "projective", words, ["a", "f"])
    keep = int(draw("projective-11")["keep"])  # 4 and 9
    most = W - W % 9
    words = [*coin(keep, False), most, most - 1, *coin(keep, True), 0]
    yield Rare("number, the last multiple", "projective-11", words, ["10", "0"])


def rows() -> Iterator[Rare]:
    """Words at the border of two outcomes."""
    upper = [int(word) for word in draw("custom-square")["rows"][0]["upper"]]
    words = [0, upper[0], upper[0] + 1, upper[1], upper[1] + 1, ALL]
    yield Rare("rows, borders", "custom-square", words, ["a"] * 6)
    first = [int(word) for word in draw("custom-tiny")["rows"][0]["upper"]]
    yield Rare("rows, the rarest report", "custom-tiny", [first[0], first[0] + 1, ALL], ["0"] * 3)
    law = [int(word) for word in draw("urr-levels-weak")["law"]["upper"]]
    keep = coin(int(draw("urr-levels-weak")["keep"]), False)
    words = [REST, *keep, law[0], REST, *keep, law[0] + 1]
    yield Rare("replace, borders", "urr-levels-weak", words, ["0.5", "2.5"])


def inversions() -> Iterator[Rare]:
    """INVERSION: words that agree with a cumulative probability, and further ones."""
    law = draw("device-uneven")["law"]
    first, digits = int(law["upper"][0]), W // 3
    for name, last in (("below", digits - 1), ("above", digits + 1)):
        yield Rare(f"inversion, tie, {name}", "device-uneven", [first, digits, digits, last], ["c"])
    row = draw("device-cohorts")["rows"][0]
    assert row["rest"][1] == "0"
    at = int(row["upper"][1])
    words = [at, 0, at, 1, at - 1, at + 1, ALL, 0]
    yield Rare("inversion, a rest of zero", "device-cohorts", words, ["a"] * 6)
    row = draw("device-rare")["rows"][0]
    at, total = int(row["upper"][0]), int(row["total"])
    assert row["upper"][0] == row["upper"][1] == row["upper"][2]  # u, v and w are that close
    ends = [int(rest) * W // total for rest in row["rest"]]
    words = [at, 0, at, 1, at, ends[1], 0, at, ends[1], ALL]
    words += [at, ends[2], at, ends[2] - 1, at, ends[2] + 1]
    yield Rare("inversion, three ends in one word", "device-rare", words, ["a"] * 7)


def others() -> Iterator[Rare]:
    """The answer itself, accepted with a chance of three fifths."""
    quarter, share = W >> 2, W * 3 // 5
    own, rest = 5, W * 3 - 5 * share  # five times what is left
    assert draw("device-others")["accepted"][0] == ["3", "5"]
    next_ = rest * W // 5
    words = [own, share - 1, own, share, next_ - 1, own, share, next_ + 1, 3 * quarter, own]
    yield Rare("others, ties", "device-others", [*words[:-1], 0], ["0", "0", "0"])
    tie = [quarter, 7, own, share + 1, 2 * quarter, 0, ALL]
    yield Rare("others, drawn again", "device-others", tie, ["0", "0", "1"])


def uniforms() -> Iterator[Rare]:
    """UNIFORM: a tie at zero takes a word, and so does a rejection."""
    band = draw("square-wave")
    near = coin(int(band["keep"]), True)
    words = [*near, 0, ALL, 0, 1 << 32 | 5, 0, ALL, 9 << 32, REST]
    yield Rare("band, ties and rejections", "square-wave", words, ["[20.5, 30)"])
    words = [LOW, ALL, REST, 0, 0, 7 << 32, REST, REST]
    yield Rare("hash, a cohort that is drawn again", "orr", words, ["", "日本"])


def every() -> list[Rare]:
    """All rare cases."""
    made = (keeps, exact_keeps, coins, subsets, numbers, rows, inversions, others, uniforms)
    return [case for kind in made for case in kind()]
