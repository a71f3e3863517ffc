"""The hash of open alphabets: its specification, its two implementations, and its randomness."""

import hashlib
from importlib.resources import files

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from ldpstats import kernels
from ldpstats.errors import InvalidArgument
from ldpstats.sampling.hashing import (
    distinct_cells,
    hash_strings,
    hashed_cells,
    keys,
    md5_cells,
    own_cells,
    permuted_cells,
)

MASK = 2**64 - 1
VECTORS = {  # hash, and cells for m = 100 in PLACES
    "": (0x141CFC9842C4B0E3, [89, 55, 42, 89]),
    "a": (0xCABD1BCA128197CA, [14, 59, 41, 78]),
    "Zürich": (0x35B6CA065E685142, [20, 54, 72, 94]),
    "日本": (0xCB26E35B0CBF2ACF, [42, 87, 22, 15]),
    "www.example.org/" + 48 * "x": (0x667ADCB0AF55942A, [39, 67, 45, 54]),
}
PLACES = {  # cohort and hash, with the key
    (0, 0): 0xE220A8397B1DCDAF,
    (0, 1): 0x6E789E6AA1B965F4,
    (1, 0): 0xA5535D75DD6E7A02,
    (1000, 1): 0x76F071331633373D,
}


# The specification in whole numbers of Python, as its text says it.


def plain_mix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def plain_key(c: int, j: int) -> int:
    return plain_mix(0x9E3779B97F4A7C15 * (65536 * c + j + 1) & MASK)


def plain_hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "little")


def plain_cell(h: int, c: int, j: int, m: int) -> int:
    return (plain_mix(h ^ plain_key(c, j)) >> 32) * m >> 32


@pytest.fixture
def compiled(monkeypatch):
    """Send short arrays too through the compiled kernels."""
    monkeypatch.setattr("ldpstats.sampling.hashing._MANY_STRINGS", 0)
    monkeypatch.setattr(kernels, "LOADING", 0.0)


@pytest.fixture(
    params={"compiled": (0, 0.0), "arrow": (0, np.inf), "hashlib": (1 << 62, np.inf)}.items(),
    ids=lambda item: item[0],
)
def way(request, monkeypatch):
    """Hash strings in each of the ways that there are."""
    many, loading = request.param[1]
    monkeypatch.setattr("ldpstats.sampling.hashing._MANY_STRINGS", many)
    monkeypatch.setattr(kernels, "LOADING", loading)


# --- vectors ---


def test_vectors():
    hashes = hash_strings("values", list(VECTORS))
    assert hashes.tolist() == [h for h, _ in VECTORS.values()]
    K = keys(range(1001), 2)
    assert {place: int(K[place]) for place in PLACES} == PLACES
    cells = hashed_cells(hashes, 1001, 2, 100)
    for x, (_, expected) in enumerate(VECTORS.values()):
        assert [int(cells[c, x, j]) for c, j in PLACES] == expected


def test_vectors_of_closed_alphabets():
    cells, ranks = permuted_cells(8, range(2), 2, 3), permuted_cells(8, range(2), 2, 8)
    assert ranks[0, :, 0].tolist() == [3, 5, 2, 4, 1, 6, 7, 0]
    assert cells[0, :, 0].tolist() == [0, 2, 2, 1, 1, 0, 1, 0]
    assert ranks[1, :, 1].tolist() == [0, 6, 1, 2, 7, 4, 5, 3]
    assert cells[1, :, 1].tolist() == [0, 0, 1, 2, 1, 1, 2, 0]


def test_the_specification_has_these_vectors():
    text = files("ldpstats.clients").joinpath("SPECIFICATION.md").read_text(encoding="utf-8")
    for string, (h, cells) in VECTORS.items():
        shown = {"": "(empty)"}.get(string, string).replace(48 * "x", "xx...x")
        assert f"| {' | '.join([shown, f'0x{h:016X}', *map(str, cells)])} |" in text
    for (c, j), key in PLACES.items():
        assert f"K({c}, {j}) = 0x{key:016X}" in text
    assert "3 5 2 4 1 6 7 0 in (0, 0), 0 6 1 2 7 4 5 3 in (1, 1)" in text


# --- strings ---


def texts_of_all_lengths() -> list[str]:
    """Strings of 0 to 200 bytes, in one, two, three and four bytes a character, then some long."""
    plain = ["".join(chr(33 + (7 * n + i) % 90) for i in range(n)) for n in range(201)]
    wide = [character * n for character in "ü日🙂" for n in range(1, 67)]
    return [*plain, *wide, "é" * 5000, "z" * 1_000, "a\0b", "\0"]


def test_kernel_is_sha256(compiled):
    texts = texts_of_all_lengths()
    np.random.default_rng(2).shuffle(texts)
    expected = [plain_hash(text) for text in texts]
    assert hash_strings("values", texts).tolist() == expected
    for n in (1, 63, 64, 65):
        assert hash_strings("values", texts[:n]).tolist() == expected[:n]


def arrow_column(values: pa.Array | pa.ChunkedArray) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(values))


class KeepsItsType(pd.arrays.ArrowExtensionArray):
    """As in pandas 2.2, whose columns ignore the type that pyarrow asks them for."""

    def __arrow_array__(self, type=None):
        return self._pa_array


def forms(texts: list[str]) -> dict[str, object]:
    """The same strings in every container that may hold them."""
    chunks = pa.chunked_array(
        [pa.array(part, pa.large_string()) for part in (texts[:9], texts[9:])]
    )
    sliced = pd.Series(["before", *texts, "after"])[1:-1]
    short = pa.chunked_array(
        [pa.array(["before", *part], pa.string())[1:] for part in (texts[:9], texts[9:])]
    )
    return {
        "list": texts,
        "tuple": tuple(texts),
        "array of objects": np.array(texts, dtype=object),
        "array of strings": np.array(texts),
        "StringDType": np.array(texts, dtype=np.dtypes.StringDType()),
        "Series": pd.Series(texts),
        "Series of objects": pd.Series(texts, dtype=object),
        "other storage": pd.Series(texts, dtype=pd.StringDtype("python")),
        "Arrow type": pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
        "Arrow type, long": pd.Series(texts, dtype=pd.ArrowDtype(pa.large_string())),
        "Arrow views": arrow_column(pa.array(texts, pa.string_view())),
        "Arrow dictionary": arrow_column(pa.array(texts).dictionary_encode()),
        "chunks": pd.Series(pd.arrays.ArrowStringArray(chunks)),
        "chunks of slices with short offsets": arrow_column(short),
        "keeps short offsets": pd.Series(KeepsItsType(short)),
        "slice": sliced,
        "every other": pd.Series([t for text in texts for t in (text, "no")])[::2],
        "Categorical": pd.Series(texts, dtype="category"),
        "Index": pd.Index(texts),
        "extension array": pd.array(texts, dtype="string"),
        "np.str_": [np.str_(text) for text in texts],
    }


@pytest.mark.parametrize("name", forms(["a"] * 10))
@pytest.mark.parametrize("repeated", [0, 3])
def test_every_container(name, repeated, way):
    texts = ["", "a\0b", "Zürich", *(f"w{i}" * (i % 40) + "." for i in range(100))]
    texts += [*texts[:90]] * repeated
    expected = [plain_hash(text) for text in texts]
    hashes = hash_strings("values", forms(texts)[name])
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == expected


def test_no_or_only_empty_strings(way):
    for none in ([], np.array([], dtype=object), pd.Series([], dtype="str")):
        assert hash_strings("values", none).shape == (0,)
    assert hash_strings("values", [""] * 3).tolist() == [VECTORS[""][0]] * 3


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"a", "are strings: convert with .astype(str)"),
        (7, "are strings: convert with .astype(str)"),
        (["a"], "are strings: convert with .astype(str)"),
        (None, "is missing"),
        (np.nan, "is missing"),
        (pd.NA, "is missing"),
        ("\ud800", "has a lone surrogate"),
        ("x\udc80y", "has a lone surrogate"),
    ],
    ids=repr,
)
def test_bad_entries_are_refused(bad, says, way):
    entries = np.empty(4, dtype=object)
    entries[:] = ["a", "b", bad, "c"]
    for column in (entries, list(entries), pd.Series(entries, dtype=object)):
        with pytest.raises(InvalidArgument, match=r"^answers\[2\]=") as caught:
            hash_strings("answers", column)
        assert says in str(caught.value)


def test_bad_columns_are_refused(way):
    with pytest.raises(InvalidArgument, match=r"values\[0\]"):
        hash_strings("values", np.arange(3))
    missing = pd.Series(["a", None])
    for column in (missing, missing.astype(pd.ArrowDtype(pa.string())), missing.astype("category")):
        with pytest.raises(InvalidArgument, match=r"values\[1\]=.*missing"):
            hash_strings("values", column)
    with pytest.raises(InvalidArgument, match=r"values\[1\]="):
        hash_strings("values", np.ma.array(["a", "b"], mask=[False, True]))


def test_columns_of_bytes_that_are_not_utf8_are_refused(way):
    # what a Parquet file holds whose writer declared Latin-1 bytes to be text
    latin = pa.array([b"a", b"Z\xfcrich"]).cast(pa.large_string(), safe=False)
    with pytest.raises(InvalidArgument, match="not UTF-8"):
        hash_strings("values", pd.Series(pd.arrays.ArrowStringArray(latin)))


# --- cells ---


@pytest.mark.parametrize("m", [1, 2, 100, 65534, 65535, 2**31])
@pytest.mark.parametrize("h", [1, 3])
def test_cells_against_whole_numbers(h, m, monkeypatch):
    hashes = hash_strings("values", [f"w{i}" for i in range(30)])
    expected = [[[plain_cell(int(x), c, j, m) for j in range(h)] for x in hashes] for c in range(5)]
    cohort = np.arange(30) % 5
    for loading in (0.0, np.inf):
        monkeypatch.setattr(kernels, "LOADING", loading)
        cells = hashed_cells(hashes, 5, h, m)
        assert cells.tolist() == expected
        assert cells.dtype == (np.uint16 if m < 65535 else np.uint32)
        assert cells.flags.c_contiguous
        own = own_cells(hashes, cohort, h, m)
        assert own.dtype == np.int64
        np.testing.assert_array_equal(own, cells[cohort, np.arange(30)])


@pytest.mark.parametrize(("size", "m"), [(1, 4), (7, 7), (12, 5), (1000, 64), (10, 100)])
def test_permutations_fill_cells_evenly(size, m):
    cells = permuted_cells(size, range(6), 2, m)
    assert cells.shape == (6, size, 2)
    for c in range(6):
        for j in range(2):
            used = np.bincount(cells[c, :, j], minlength=m)
            assert set(used) <= {size // m, -(-size // m)}
            mixed = [plain_mix(i ^ plain_key(c, j)) for i in range(size)]
            ranks = np.argsort(np.argsort(np.array(mixed, dtype=np.uint64)))
            np.testing.assert_array_equal(cells[c, :, j], ranks % m)


@pytest.mark.parametrize("h", [1, 2, 3, 5])
def test_distinct_cells_against_sets(h):
    cells = np.random.default_rng(4).integers(0, 6, size=(4, 50, h)).astype(np.uint16)
    before, out = cells.copy(), distinct_cells(cells, 6)
    assert out.dtype == cells.dtype
    for row, kept in zip(cells.reshape(-1, h), out.reshape(-1, h), strict=True):
        seen: set[int] = set()
        for cell, now in zip(row.tolist(), kept.tolist(), strict=True):
            assert now == (6 if cell in seen else cell)
            seen.add(cell)
    np.testing.assert_array_equal(cells, before)


# --- google/rappor ---


def test_md5_cells_are_those_of_google():
    values = [text.encode() for text in ("", "foo", "Zürich", "v1")]
    cells = md5_cells(values, range(300), 16, 256)
    assert cells.shape == (300, 4, 16)
    for c, x in [(0, 0), (1, 1), (255, 2), (256, 3), (299, 1)]:
        digest = hashlib.md5(c.to_bytes(4, "big") + values[x]).digest()
        assert bytes(cells[c, x].tolist()) == digest
    np.testing.assert_array_equal(md5_cells(values, range(9), 2, 24), cells[:9, :, :2] % 24)
    # the MD5 of 00 00 00 00 61 starts with D2 A2
    assert md5_cells([b"a"], [0], 2, 256).tolist() == [[[0xD2, 0xA2]]]


# --- randomness ---
# Nothing is drawn here: strings as alike as possible stand for random ones. Pearson's statistic
# must lie where a random table of cells puts it but for a share of 1e-6, too even included.

TAIL = 1e-6
M = 64


def uniform(cells: np.ndarray, m: int) -> bool:
    """Whether values fall on cells as if each drew its own; (n,) cells below m."""
    n = np.bincount(cells, minlength=m)
    statistic = float(((n - n.mean()) ** 2 / n.mean()).sum())
    return min(stats.chi2.sf(statistic, m - 1), stats.chi2.cdf(statistic, m - 1)) > TAIL / 2


def independent(first: np.ndarray, second: np.ndarray, m: int) -> bool:
    """Whether the cells of one table say nothing about those of another.

    Pearson's statistic of the pairs of cells is, up to location and scale, how many pairs of values
    collide in both tables: a share of 1/m^2 if each collides at rate 1/m, and independently.
    """
    return uniform(first.astype(np.int64) * m + second, m * m)


def columns(cells: np.ndarray) -> list[np.ndarray]:
    """The table (C, S, h) of cells as one of (S,) for each cohort and hash."""
    return [cells[c, :, j] for c, j in np.ndindex(cells.shape[0], cells.shape[2])]


@pytest.fixture(scope="module")
def sequential():
    return hash_strings("values", [f"w{i}" for i in range(100_000)])


# Numbers without any hash of strings too: closed alphabets rely on the mix alone.
@pytest.mark.parametrize("hashed", [True, False], ids=["strings", "numbers"])
def test_cells_are_uniform_and_independent(hashed, sequential):
    hashes = sequential if hashed else np.arange(sequential.size, dtype=np.uint64)
    tables = columns(hashed_cells(hashes, 6, 3, M))
    assert all(uniform(table, M) for table in tables)
    assert all(uniform(table, 1000) for table in columns(hashed_cells(hashes, 6, 3, 1000)))
    for i, first in enumerate(tables):
        assert all(independent(first, second, M) for second in tables[:i])


def test_simple_hashes_fail(sequential):
    """Neither a cell that all cohorts share, nor one that a key shifts, passes for independent."""
    same = (sequential % np.uint64(M)).astype(np.int64)
    assert uniform(same, M)
    assert not independent(same, same, M)
    one, other = (
        ((sequential + key) % np.uint64(M)).astype(np.int64) for key in keys([0, 1], 1)[:, 0]
    )
    assert uniform(one, M) and uniform(other, M)
    assert not independent(one, other, M)
    assert not uniform(np.arange(sequential.size) % M, M)  # too even
    bytes_of_md5 = md5_cells([b"w%d" % i for i in range(20_000)], [0], 1, 100)
    assert not uniform(bytes_of_md5[0, :, 0], 100)  # 256 is no multiple of 100
