"""The files of google/rappor, there and back, against a second implementation of their format."""

import gzip
import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from shared.written_tables import rng, text_file

import ldpstats as ldp
from ldpstats import io

WORDS = (
    "apple",
    "banana",
    "carrot",
    "pear, red",
    'the "best"',
    "plüm",
    "日本",
    "two\nlines",
    "a\rb",
)


def google(k: int, h: int, m: int, f: float = 0.0, p: float = 0.25, q: float = 0.75) -> ldp.RAPPOR:
    return ldp.RAPPOR(k, h, m, f=f, p=p, q=q, hashing="google")


# -- what google/rappor publishes about itself -----------------------------------------------------


def test_its_published_map(tmp_path):
    """The expected output of the test of its tool hash_candidates."""
    rappor = google(16, 2, 4)
    published = text_file(
        tmp_path / "map.csv",
        "apple,5,1,26,26,38,34,63,62\r\n"
        "banana,12,14,28,24,37,34,62,49\r\n"
        "carrot,4,12,25,21,48,38,61,54\r\n",
    )
    found = io.read_rappor_map(published, rappor)
    assert found.labels.tolist() == ["apple", "banana", "carrot"]
    assert found.cells[:, 0].tolist() == [[4, 0], [9, 9], [5, 1], [14, 13]]
    assert np.array_equal(rappor.cells(found), rappor.cells(["apple", "banana", "carrot"]))
    io.write_rappor_map(["apple", "banana", "carrot"], rappor, tmp_path / "ours.csv")
    assert (tmp_path / "ours.csv").read_text() == published.read_bytes().decode().replace("\r", "")


def test_its_published_sums(tmp_path):
    """The expected output of the test of its tool sum_bits: "bit order is reversed"."""
    rappor = google(16, 2, 2)
    reports = text_file(
        tmp_path / "reports.csv",
        "user_id,cohort,bloom,prr,rappor\n"
        "5,1,dummy,dummy,0000111100001111\n"
        "5,1,dummy,dummy,0000000000111100\n",
    )
    sums = text_file(
        tmp_path / "counts.csv",
        "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\r\n2,1,1,2,2,1,1,0,0,1,1,1,1,0,0,0,0\r\n",
    )
    expected = io.read_rappor_counts(sums, rappor)
    for counts in (
        io.read_rappor_reports(reports, rappor, bits=True),
        io.read_rappor_reports(reports, rappor).bit_counts(),
    ):
        assert np.array_equal(counts.ones, expected.ones)
        assert counts.reports.tolist() == expected.reports.tolist() == [0, 2]


# -- a survey in its format, made by the letter of its documentation -------------------------------


@dataclass
class Survey:
    """What a collection with google/rappor leaves behind."""

    rappor: ldp.RAPPOR
    params: Path
    map: Path
    counts: Path
    reports: Path
    patterns: Counter[tuple[int, int]]  # how often each pair of cohort and number was reported


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def bits_of(word: str, cohort: int, k: int, h: int) -> list[int]:
    digest = hashlib.md5(cohort.to_bytes(4, "big") + word.encode()).digest()
    return [byte % k for byte in digest[:h]]


def survey(folder: Path, rappor: ldp.RAPPOR, n: int = 2000) -> Survey:
    """Filters and reports as numbers, bit b worth 2**b; text by Python's binary format."""
    k, h, m, draw = rappor.n_bits, rappor.n_hashes, rappor.n_cohorts, rng(7)
    lines, sums, patterns = ["client,cohort,bloom,prr,irr"], np.zeros((m, k + 1), int), Counter()
    for client in range(n):
        cohort, word = int(draw.integers(m)), WORDS[int(draw.integers(3))]
        bloom = irr = 0
        for bit in bits_of(word, cohort, k, h):
            bloom |= 1 << bit
        for bit in range(k):
            irr |= int(draw.random() < (rappor.p1 if bloom >> bit & 1 else rappor.p0)) << bit
        lines.append(f"c{client},{cohort},{bloom:0{k}b},{bloom:0{k}b},{irr:0{k}b}")
        sums[cohort] += [1, *(irr >> bit & 1 for bit in range(k))]
        patterns[cohort, irr] += 1
    positions = [
        [c * k + bit + 1 for c in range(m) for bit in bits_of(word, c, k, h)] for word in WORDS
    ]
    rows = [",".join([quoted(w), *map(str, p)]) for w, p in zip(WORDS, positions, strict=True)]
    row = f"{k},{h},{m},{rappor.p},{rappor.q},{rappor.f}"
    return Survey(
        rappor,
        text_file(folder / "params.csv", f'"k","h","m","p","q","f"\r\n{row}\r\n'),
        text_file(folder / "map.csv", "".join(f"{row}\r\n" for row in rows)),
        text_file(folder / "counts.csv", "".join(",".join(map(str, s)) + "\r\n" for s in sums)),
        text_file(folder / "reports.csv", "\r\n".join(lines) + "\r\n"),
        patterns,
    )


def numbers(counts: ldp.Counts) -> Counter[tuple[int, int]]:
    """Pairs of cohort and report as a number, bit b worth 2**b."""
    assert counts.cohort is not None
    found: Counter[tuple[int, int]] = Counter()
    for c, pattern, n in zip(counts.cohort.tolist(), counts.y, counts.n.tolist(), strict=True):
        found[c, int.from_bytes(pattern.tobytes(), "little")] += n
    return found


SHAPES = [(8, 1, 1), (5, 3, 2), (64, 2, 3), (65, 2, 3)]


@pytest.mark.parametrize(("k", "h", "m"), SHAPES)
def test_its_files_are_read(k, h, m, tmp_path):
    made = survey(tmp_path, google(k, h, m, f=0.25, p=0.35), n=500)
    rappor = io.read_rappor_params(made.params)
    assert rappor == made.rappor
    candidates = io.read_rappor_map(made.map, rappor)
    assert tuple(candidates.labels) == WORDS
    assert np.array_equal(rappor.cells(candidates), rappor.cells(WORDS))
    reports = io.read_rappor_reports(made.reports, rappor)
    assert isinstance(reports, ldp.Counts) and numbers(reports) == made.patterns
    counts = io.read_rappor_counts(made.counts, rappor)
    assert np.array_equal(counts.ones, reports.bit_counts().ones)
    assert np.array_equal(counts.reports, reports.bit_counts().reports)


@pytest.mark.parametrize(("k", "h", "m"), SHAPES)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_its_files_come_back(suffix, k, h, m, tmp_path):
    """Read, written and read again, and the text of the first writing stays the same."""
    made = survey(tmp_path, google(k, h, m), n=500)
    rappor = io.read_rappor_params(made.params)
    counts = io.read_rappor_counts(made.counts, rappor)
    reports = io.read_rappor_reports(made.reports, rappor)
    candidates = io.read_rappor_map(made.map, rappor)
    assert isinstance(reports, ldp.Counts)
    for again in ("a", "b"):
        names = [tmp_path / f"{again}{name}{suffix}" for name in ("p", "m", "c", "r")]
        io.write_rappor_params(rappor, names[0])
        io.write_rappor_map(candidates, rappor, names[1])
        io.write_rappor_counts(counts, names[2])
        io.write_rappor_reports(reports, names[3])
        assert io.read_rappor_params(names[0]) == rappor
        candidates = io.read_rappor_map(names[1], rappor)
        counts = io.read_rappor_counts(names[2], rappor)
        found = io.read_rappor_reports(names[3], rappor)
        assert isinstance(found, ldp.Counts) and numbers(found) == made.patterns
    for name in ("p", "m", "c"):
        assert (tmp_path / f"a{name}{suffix}").read_bytes() == (
            tmp_path / f"b{name}{suffix}"
        ).read_bytes()
    if suffix == ".csv":
        plain = made.counts.read_bytes().replace(b"\r", b"")
        assert (tmp_path / "ac.csv").read_bytes() == plain
        assert (tmp_path / "ar.csv").read_text().splitlines()[0] == "client,cohort,bloom,prr,irr"


def test_the_opposite_order_of_bits_fails(tmp_path):
    """The negative control: what `read_counts` makes of these reports explains nothing."""
    made = survey(tmp_path, google(32, 2, 8), n=6000)
    wrong = io.read_counts(made.reports, made.rappor, "irr", cohort="cohort")
    assert isinstance(wrong, ldp.Counts) and numbers(wrong) != made.patterns
    results = ldp.FrequencyModel(wrong, candidates=WORDS).fit("inversion")
    assert results.linear_params[list(WORDS[:3])].max() < 0.2


@pytest.mark.parametrize(
    "parameters",
    [(0.1 + 0.2, 1 / 3, 1e-5), (0.0, 0.0, 1.0), (1e-6, 0.25, 2 / 3), (0.5, 0.75, 0.25)],
)
def test_parameters_come_back_to_the_last_digit(parameters, tmp_path):
    rappor = google(16, 2, 4, *parameters)
    io.write_rappor_params(rappor, tmp_path / "params.csv")
    assert io.read_rappor_params(tmp_path / "params.csv") == rappor


def test_reports_keep_their_order(tmp_path):
    rappor = google(12, 2, 3)
    reports = rappor.privatize(["apple", "pear"] * 50, rng())
    io.write_rappor_reports(reports, tmp_path / "r.csv")
    lines = (tmp_path / "r.csv").read_text().splitlines()[1:]
    labels = rappor.report_labels(reports)
    fields = [line.split(",") for line in lines]
    assert [f"{c}:{irr[::-1]}" for _, c, _, _, irr in fields] == labels.tolist()
    assert lines[0].startswith(",") and ",,," in lines[0]  # neither client nor filter


def test_another_hash_travels_in_the_map(tmp_path):
    """Filters that are too wide for the MD5, with cells from the map."""
    rappor = ldp.RAPPOR(300, 2, 4, f=0.0, p=0.25, q=0.75)
    with pytest.raises(ldp.InvalidArgument, match="n_bits=256"):
        io.write_rappor_params(rappor, tmp_path / "p.csv")
        io.read_rappor_params(tmp_path / "p.csv")
    assert io.read_rappor_params(tmp_path / "p.csv", hashing="ldpstats") == rappor
    io.write_rappor_map(WORDS, rappor, tmp_path / "m.csv")
    candidates = io.read_rappor_map(tmp_path / "m.csv", rappor)
    assert np.array_equal(rappor.cells(candidates), rappor.cells(WORDS))


@pytest.mark.parametrize("number", ["100000", "1e+05", "1E5", "100000.0", "1.0e5"])
def test_numbers_as_r_writes_them(number, tmp_path):
    path = text_file(tmp_path / "c.csv", f"2e+05,{number},7\n")
    counts = io.read_rappor_counts(path, google(2, 1, 1))
    assert counts.ones.tolist() == [[100_000, 7]] and counts.nobs == 200_000


def test_the_map_of_its_simulations(tmp_path):
    """Positions in ascending order, each once, and empty fields at the end of the row."""
    rappor = google(8, 3, 2)
    path = text_file(tmp_path / "m.csv", '"V_1",1,5,8,9,11,16\n"V_2",4,9,16,,,\n"V_3",2,3,5,12,,\n')
    candidates = io.read_rappor_map(path, rappor)
    assert candidates.cells[:, 0].tolist() == [[0, 4, 7], [0, 2, 7]]
    sets = [[set(own) for own in cohort] for cohort in candidates.cells.tolist()]
    assert sets == [[{0, 4, 7}, {3}, {1, 2, 4}], [{0, 2, 7}, {0, 7}, {3}]]


# -- bad input -------------------------------------------------------------------------------------

RAPPOR = google(4, 2, 2)
GOOD = {
    "params": "k,h,m,p,q,f\n4,2,2,0.25,0.75,0.0\n",
    "map": "a,1,4,5,8\nb,2,2,6,7\n",
    "counts": "10,1,2,3,4\n10,0,0,10,1\n",
    "reports": "client,cohort,bloom,prr,irr\n1,0,,,0110\n2,1,,,1111\n",
}
READ: dict[str, Callable[[Path], object]] = {
    "params": io.read_rappor_params,
    "map": lambda path: io.read_rappor_map(path, RAPPOR),
    "counts": lambda path: io.read_rappor_counts(path, RAPPOR),
    "reports": lambda path: io.read_rappor_reports(path, RAPPOR),
}

# the kind of file, its text, and what the message says, beside the file's name
BAD: list[tuple[str, str, tuple[str, ...]]] = [
    ("params", "", ("k,h,m,p,q,f",)),
    ("params", "k,h,m,p,q\n4,2,2,0.25,0.75\n", ("must begin with the line k,h,m,p,q,f",)),
    ("params", "k,h,m,p,q,f\n", ("no row",)),
    ("params", "k,h,m,p,q,f\n4,2,2,0.25,0.75\n", ("row 1 has 5 fields, not 6",)),
    ("params", GOOD["params"] + "4,2,2,0.25,0.75,0\n", ("2 rows",)),
    ("params", "k,h,m,p,q,f\n4,2,2,0.25,0.75,\n", ("row 1, field 'f'", "number")),
    ("params", "k,h,m,p,q,f\nfour,2,2,0.25,0.75,0\n", ("row 1, field 'k'", "'four'", "whole")),
    ("params", "k,h,m,p,q,f\n4,2,0,0.25,0.75,0\n", ("row 1, field 'm'", "'0'", "at least 1")),
    ("params", "k,h,m,p,q,f\n0,2,2,0.25,0.75,0\n", ("row 1, field 'k'", "at least 2")),
    ("params", "k,h,m,p,q,f\n1,2,2,0.25,0.75,0\n", ("row 1, field 'h'", "must be 1")),
    ("params", "k,h,m,p,q,f\n4,2,2,-.25,0.75,0\n", ("row 1, field 'p'", "[0, 1]")),
    ("params", "k,h,m,p,q,f\n4,2,2,0.25,0.75,1\n", ("row 1, field 'f'", "'1'", "[0, 1)")),
    ("params", "k,h,m,p,q,f\n4,2,2,0.25,0.25,0\n", ("row 1, field 'q'", "differ")),
    ("params", "k,h,m,p,q,f\n4,2,2,nan,0.25,0\n", ("row 1, field 'p'", "'nan'", "number")),
    ("params", "k,h,m,p,q,f\n٤,2,2,0.25,0.25,0\n", ("row 1, field 'k'", "number")),
    ("params", "k,h,m,p,q,f\n400,2,2,0.25,0.75,0\n", ("row 1", "n_bits=256")),
    ("map", "", ("no row",)),
    ("map", "a,1,4,5,8\nb,2,2,6\n", ("row 2 has 4 fields, not 5",)),
    ("map", "a,1,4,5,8\n\nb,2,2,6,7\n", ("row 2 has 0 fields",)),
    ("map", "a,1,4,5,8\nb,2,x,6,7\n", ("row 2, field 3", "'x'", "whole number")),
    ("map", "a,1,-4,5,8\n", ("row 1, field 3", "'-4'", "negative")),
    ("map", "a,0,4,5,8\n", ("row 1, field 2=0", "outside cohort 0", "1 to 4")),
    ("map", "a,1,4,4,8\n", ("row 1, field 4=4", "outside cohort 1", "5 to 8")),
    ("map", "a,1,,5,8\n", ("row 1, field 3", "''", "whole number")),
    ("map", "a,1,4,,\n", ("row 1", "empty fields", "4 c + 1")),
    ("map", "a,4,1,5,\n", ("row 1", "empty fields", "ascending")),
    ("map", "a,,,,\n", ("row 1", "empty fields")),
    ("map", "a,1,4,5,8\nb,2,2,6,7\na,2,2,6,7\n", ("row 3, field 1", "'a'", "of row 1")),
    ("map", 'a,1,4,5,8\n"b,2,2,6,7\n', ("CSV",)),
    ("counts", "", ("no row",)),
    ("counts", "10,1,2,3,4\n", ("1 rows", "2 are needed")),
    ("counts", "10,1,2,3\n10,1,2,3,4\n", ("row 1 has 4 fields, not 5",)),
    ("counts", "10,1,2,3,4\n10,1,2,11,4\n", ("row 2, field 4=11", "exceeds", "field 1, 10")),
    ("counts", "10,1,2,3,4\n10,1,2,three,4\n", ("row 2, field 4", "'three'")),
    ("counts", "10,1,2,-3,4\n10,1,2,3,4\n", ("row 1, field 4", "'-3'", "negative")),
    ("counts", "10,1,2,3.5,4\n10,1,2,3,4\n", ("row 1, field 4", "'3.5'", "whole")),
    ("counts", "1e17,1,2,3,4\n10,1,2,3,4\n", ("row 1, field 1", "whole")),
    ("counts", "n,a,b,c,d\n10,1,2,3,4\n10,1,2,3,4\n", ("row 1, field 1", "'n'")),
    ("reports", "", ("header is []",)),
    ("reports", "client,cohort,report\n1,0,0110\n", ("'irr' (or 'rappor')", "report")),
    ("reports", "cohort,irr,irr\n1,0110,0110\n", ("more than one",)),
    ("reports", "cohort,irr\n1,0110\n0\n", ("row 2 has 1 fields",)),
    ("reports", "cohort,irr\n1,0110\n0,011\n", ("row 2='011'", "4 characters")),
    ("reports", "cohort,irr\n1,0110\n0,0120\n", ("row 2='0120'", "0 or 1")),
    ("reports", "cohort,irr\n1,0110\n0,\n", ("row 2", "missing")),
    ("reports", "cohort,irr\n2,0110\n", ("column 'cohort', row 1=2", "from 0 to 1")),
    ("reports", "cohort,irr\n1.5,0110\n", ("column 'cohort', row 1='1.5'", "whole")),
    ("reports", "cohort,irr\n,0110\n", ("column 'cohort', row 1=None", "missing")),
]


@pytest.mark.parametrize(("kind", "text", "says"), BAD)
def test_a_bad_file_is_refused(kind, text, says, tmp_path):
    path = text_file(tmp_path / f"{kind}.csv", text)
    with pytest.raises(ldp.InvalidArgument) as caught:
        READ[kind](path)
    message = str(caught.value)
    assert all(part in message for part in (path.name, *says)), message
    assert "\n" not in message


@pytest.mark.parametrize("kind", GOOD)
def test_the_good_file_is_not(kind, tmp_path):
    """The negative control."""
    READ[kind](text_file(tmp_path / f"{kind}.csv", GOOD[kind]))


@pytest.mark.parametrize("kind", GOOD)
def test_a_file_that_is_no_text(kind, tmp_path):
    data = GOOD[kind].encode()
    for name, spoiled, says in (
        ("latin.csv", data + b"\xe9,1\n", "UTF-8"),
        ("zip.csv.gz", data, "cannot be read"),
        ("cut.csv.gz", gzip.compress(data)[:-9], "cannot be read"),
        ("is.parquet", data, "Parquet"),
        ("is.txt", data, ".csv"),
    ):
        (tmp_path / name).write_bytes(spoiled)
        with pytest.raises(ldp.InvalidArgument, match=says):
            READ[kind](tmp_path / name)
    with pytest.raises(ldp.InvalidArgument, match="no such file"):
        READ[kind](tmp_path / "none.csv")


def other_reports() -> ldp.Reports:
    return ldp.ORAPPOR(4, 2, 2, epsilon=1.0).privatize(["a"] * 9, rng())


WRITE: list[tuple[str, Callable[[Path], object], str]] = [
    (
        "params with an alphabet",
        lambda f: io.write_rappor_params(ldp.RAPPOR(4, 1, 2, f=0.0, p=0.2, q=0.7, alphabet=4), f),
        "open alphabet",
    ),
    ("counts of another", lambda f: io.write_rappor_counts(other_reports().tally(), f), "RAPPOR"),
    ("reports of another", lambda f: io.write_rappor_reports(other_reports(), f), "RAPPOR"),
    (
        "reports that are sums",
        lambda f: io.write_rappor_reports(RAPPOR.counts([[1] * 4] * 2, [2, 2]), f),
        "write_rappor_counts",
    ),
    (
        "missing answers",
        lambda f: io.write_rappor_reports(RAPPOR.privatize(["a", None], rng(), missing="count"), f),
        "n_missing",
    ),
    ("a candidate twice", lambda f: io.write_rappor_map(["a", "a"], RAPPOR, f), "twice"),
    ("a lone surrogate", lambda f: io.write_rappor_map(["\ud800"], RAPPOR, f), "surrogate"),
    (
        "cells of others",
        lambda f: io.write_rappor_map(ldp.CandidateMap(["a"], np.ones((2, 1, 3), int)), RAPPOR, f),
        "(2, 1, 2)",
    ),
    (
        "cells out of range",
        lambda f: io.write_rappor_map(ldp.CandidateMap(["a"], np.full((2, 1, 2), 4)), RAPPOR, f),
        "from 0 to 3",
    ),
    ("Parquet", lambda f: io.write_rappor_params(RAPPOR, f.with_suffix(".parquet")), "Parquet"),
]


@pytest.mark.parametrize(("write", "says"), [c[1:] for c in WRITE], ids=[c[0] for c in WRITE])
def test_what_has_no_place_in_the_files(write, says, tmp_path):
    with pytest.raises(ldp.InvalidArgument) as caught:
        write(tmp_path / "out.csv")
    assert says in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# -- truth values ----------------------------------------------------------------------------------


def test_files_of_truth_values(tmp_path):
    """k = 1, h = 1, m cohorts: the sums of all cohorts add up, and reports are digits."""
    params = text_file(tmp_path / "params.csv", "k,h,m,p,q,f\n1,1,2,0.25,0.75,0.5\n")
    rappor = io.read_rappor_params(params)
    assert rappor == ldp.RAPPOR(1, 1, 1, f=0.5, p=0.25, q=0.75)
    counts = io.read_rappor_counts(text_file(tmp_path / "counts.csv", "100,40\n50,22\n"), rappor)
    assert isinstance(counts, ldp.Counts) and counts.vector().tolist() == [88, 62]
    rows = "client,cohort,bloom,prr,irr\n5,1,,,0\n6,0,,,1\n7,0,,,1\n8,0,,,\n"
    path = text_file(tmp_path / "reports.csv", rows)
    read = io.read_rappor_reports(path, rappor, missing="count")
    assert (read.vector().tolist(), read.n_missing) == ([1, 2], 1)
    io.write_rappor_params(rappor, tmp_path / "p.csv")
    io.write_rappor_counts(counts, tmp_path / "c.csv")
    io.write_rappor_reports(rappor.privatize([True] * 9, rng(1)), tmp_path / "r.csv")
    assert (tmp_path / "p.csv").read_text("utf-8").split() == ["k,h,m,p,q,f", "1,1,1,0.25,0.75,0.5"]
    assert (tmp_path / "c.csv").read_text("utf-8").split() == ["150,62"]
    assert io.read_rappor_reports(tmp_path / "r.csv", rappor).nobs == 9
    with pytest.raises(ldp.InvalidArgument, match="has no map"):
        io.read_rappor_map(path, rappor)
    with pytest.raises(ldp.InvalidArgument, match="exceeds"):
        io.read_rappor_counts(text_file(tmp_path / "worse.csv", "10,11\n"), rappor)
    with pytest.raises(ldp.InvalidArgument, match="field 'h'"):
        io.read_rappor_params(text_file(tmp_path / "two.csv", "k,h,m,p,q,f\n1,2,2,0.25,0.75,0.5\n"))
