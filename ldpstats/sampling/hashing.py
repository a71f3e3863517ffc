"""How values become cells: the hash of the package, as a client in any language computes it.

Respondents are divided into cohorts. In each cohort a value owns one of m cells (bits of a Bloom
filter, or labels of O-RR) for each of the hashes that the mechanism uses.

Section 6 of ``ldpstats/clients/SPECIFICATION.md`` specifies the hash, with test values. In short: a
string is hashed by SHA-256, as its UTF-8 bytes without Unicode normalisation, and mixed with a key
of its cohort and hash. Of a closed alphabet (KBR16 section 5.4) no string is hashed: its values are
permuted by the same keys, so that each cell has floor(S / m) or ceil(S / m) of S values.

Mechanisms allow 1 to 65,535 hashes, 1 to 2^31 cohorts and 1 to 2^31 cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array
from ldpstats.errors import InvalidArgument
from ldpstats.kernels import in_numpy, repaid
from ldpstats.labels import Codes

U64 = npt.NDArray[np.uint64]

_GOLDEN = 0x9E3779B97F4A7C15
_MANY_STRINGS = 20_000  # hashlib needs 20 ms for these: distinct ones are worth looking for
_FIRST = 1 << 12  # strings that show whether many repeat
_AT_A_TIME = 1 << 15  # cells that numpy hashes at a time, in a near cache
_STRING, _CELL = 1e-6, 2e-8  # seconds that hashlib needs for a string, and numpy for a cell


def hash_strings(name: str, column: Any) -> U64:
    """Hashes of a column of strings to 64 bits: step 1 of the specification."""
    strings = _arrow_strings(column) if len(column) >= _MANY_STRINGS else None
    if strings is None:
        return _hash_texts(utf8(name, column))
    chunks = getattr(strings, "chunks", [strings])
    return np.concatenate([_hash_chunk(chunk) for chunk in chunks])


def utf8(name: str, column: Any) -> list[bytes]:
    """The UTF-8 bytes of each entry, one at a time, with a message for the first without them."""
    texts: list[bytes] = []
    try:
        for value in column:
            if not isinstance(value, str):
                break
            texts.append(str.encode(value, "utf-8"))
        else:
            return texts
    except UnicodeEncodeError:
        remedy = "has a lone surrogate, and so no UTF-8 form: read the text in its own encoding"
    except UnicodeDecodeError:  # a column of Arrow bytes that claim to be text
        raise InvalidArgument(
            f"{name}[{len(texts)}]", "bytes", "are not UTF-8: read the text in its own encoding"
        ) from None
    else:
        missing = value is None or value is pd.NA or value is pd.NaT
        missing = missing or (isinstance(value, float) and np.isnan(value))
        remedy = (
            "is missing: leave missing answers out"
            if missing
            else "values of an open alphabet are strings: convert with .astype(str)"
        )
    raise InvalidArgument(f"{name}[{len(texts)}]", value, remedy)


def _hash_chunk(strings: Any) -> U64:
    """Hashes of an Arrow array of valid strings; of each distinct one once, where many repeat."""
    first = strings[:_FIRST]
    if 2 * len(first.unique()) < len(first):
        encoded = strings.dictionary_encode()
        hashes = _hash_chunk(encoded.dictionary)
        return np.asarray(hashes[encoded.indices.to_numpy()])
    if not repaid("hashing", len(strings) * _STRING):
        with in_numpy("hashing"):
            return _hash_texts(text.as_buffer() for text in strings)
    from ldpstats.kernels.hashing import sha256_words

    out = np.empty(len(strings), dtype=np.uint64)
    _, offsets, text = strings.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[strings.offset :][: len(strings) + 1]
    sha256_words(np.frombuffer(text or b"", dtype=np.uint8), ends, out)
    return out


def _hash_texts(texts: Iterable[Any]) -> U64:
    """Hashes of strings, given as bytes or buffers."""
    heads = b"".join(hashlib.sha256(text).digest()[:8] for text in texts)
    return np.frombuffer(heads, dtype="<u8").astype(np.uint64)


def _arrow_strings(column: Any) -> Any:
    """The column as an Arrow array of valid strings; None if some entry is not one, in UTF-8."""
    import pyarrow as pa

    if isinstance(column, np.ma.MaskedArray):
        return None
    dtype = None if isinstance(column, list | tuple) else column.dtype
    try:
        if isinstance(dtype, pd.ArrowDtype):  # pandas cannot tell what is in some of these types
            kind = dtype.pyarrow_dtype
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            kinds = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
            if not any(is_kind(kind) for is_kind in kinds):
                return None
            strings = pa.array(column)
        else:
            fixed = isinstance(column, np.ndarray) and column.dtype != object
            if fixed or isinstance(dtype, pd.CategoricalDtype):
                column = np.asarray(column, dtype=object)  # pyarrow would cut numpy's at a NUL
            if pd.api.types.infer_dtype(column, skipna=False) != "string":  # it would take bytes
                return None
            strings = pa.array(column, type=pa.large_string())
        # a column that is in Arrow already may keep its own type, such as offsets of 32 bits
        strings = strings.cast(pa.large_string())
        strings.validate(full=True)
    except (UnicodeError, pa.ArrowException):
        return None
    return None if strings.null_count else strings


def mix64(z: U64) -> U64:
    """Mix the bits of numbers by a bijection: step 2 of the specification."""
    z = z ^ (z >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def keys(cohorts: Any, n_hashes: int) -> U64:
    """Keys K(c, j) of cohorts, (n,), and all hashes, (n, h): step 3 of the specification."""
    j: U64 = np.arange(n_hashes, dtype=np.uint64)
    number = (np.asarray(cohorts, dtype=np.uint64)[:, None] << np.uint64(16)) + j + np.uint64(1)
    number *= np.uint64(_GOLDEN)
    return mix64(number)


def _cells(z: U64, n_cells: int) -> U64:
    """Cells of mixed numbers: step 4 of the specification."""
    return ((z >> np.uint64(32)) * np.uint64(n_cells)) >> np.uint64(32)


def cell_type(n_cells: int) -> Any:
    """The type of tables of cells, with room for n_cells, which stands for no cell."""
    return np.uint16 if n_cells < 65535 else np.uint32


def hashed_cells(hashes: U64, n_cohorts: int, n_hashes: int, n_cells: int) -> Array:
    """Cells of strings in every cohort: step 4 of the specification."""
    K = keys(np.arange(n_cohorts), n_hashes)
    out = np.empty((n_cohorts, hashes.size, n_hashes), dtype=cell_type(n_cells))
    if not repaid("hashing", out.size * _CELL):
        step = max(1, _AT_A_TIME // max(hashes.size * n_hashes, 1))
        with in_numpy("hashing"):
            for c in range(0, n_cohorts, step):
                mixed = mix64(hashes[None, :, None] ^ K[c : c + step, None, :])
                out[c : c + step] = _cells(mixed, n_cells)
        return out
    from ldpstats.kernels import hashing as hash_kernels

    for j in range(n_hashes):
        hash_kernels.cells(hashes, K[:, j].copy(), np.uint64(n_cells), out[:, :, j])
    return out


def own_cells(hashes: U64, cohort: Array, n_hashes: int, n_cells: int) -> Codes:
    """Cells of respondents, each in her own cohort: step 4 of the specification."""
    if not repaid("hashing", hashes.size * n_hashes * _CELL):
        with in_numpy("hashing"):
            mixed = mix64(hashes[:, None] ^ keys(cohort, n_hashes))
            return _cells(mixed, n_cells).astype(np.int64)
    from ldpstats.kernels import hashing as hash_kernels

    out, numbers = np.empty((hashes.size, n_hashes), dtype=np.int64), cohort.astype(np.uint64)
    for j in range(n_hashes):
        hash_kernels.own_cells(hashes, numbers, np.uint64(j), np.uint64(n_cells), out[:, j])
    return out


def permuted_cells(size: int, cohorts: Sequence[int], n_hashes: int, n_cells: int) -> Array:
    """Cells of the values of a closed alphabet in some cohorts: step 5 of the specification."""
    K = keys(cohorts, n_hashes)
    out = np.empty((len(cohorts), size, n_hashes), dtype=cell_type(n_cells))
    values = np.arange(size, dtype=np.uint64)
    cell_of_rank = (values % np.uint64(n_cells)).astype(out.dtype)
    for (c, j), key in np.ndenumerate(K):
        out[c, np.argsort(mix64(values ^ key)), j] = cell_of_rank
    return out


def distinct_cells(cells: Array, n_cells: int) -> Array:
    """Name each cell of a value once: of equal ones among h the first stays, others become m.

    A bit is set once however many hashes name it; the entry m stands for no cell.
    """
    n_hashes = cells.shape[-1]
    if n_hashes == 1:
        return cells
    out = cells.copy()
    for j in range(1, n_hashes):
        for i in range(j):
            out[..., j][cells[..., j] == cells[..., i]] = n_cells
    return out


def md5_cells(texts: list[bytes], cohorts: Sequence[int], n_hashes: int, n_cells: int) -> Array:
    """Cells as the clients of google/rappor hash them, to decode what these have collected.

    Cell j in cohort c is byte j, modulo m, of the MD5 of the cohort's number, 4 bytes big-endian,
    followed by the UTF-8 bytes of the value (``get_bloom_bits`` of its Python client; its C++
    client writes the last byte of the cohort only, which is the same for up to 256 cohorts). Bytes
    modulo m favour the first cells where m does not divide 256. New surveys should not use this.
    """
    out = np.empty((len(cohorts), len(texts), n_hashes), dtype=cell_type(n_cells))
    for i, c in enumerate(cohorts):
        head = c.to_bytes(4, "big")
        digests = b"".join(hashlib.md5(head + t, usedforsecurity=False).digest() for t in texts)
        table = np.frombuffer(digests, dtype=np.uint8).reshape(len(texts), 16)
        out[i] = table[:, :n_hashes] % np.uint16(n_cells)
    return out
