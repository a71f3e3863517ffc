"""CSV read by Arrow, and by the strict reader alone: the same cells, and the same errors."""

import gzip

import numpy as np
import pytest

from ldpstats.errors import LDPError
from ldpstats.io import tables

PIECES = [b"a", b"bc", b"1", b" ", b",", b",", b"\n", b"\n", b"\r\n", b"\xc3\xa9", b"NA", b"=x"]
ODD = [b'"', b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b'"a,b"', b"\n\n", b"\x0b", b"\xe2\x80\xa8"]


def outcome(path, wanted, rows, codes=()):
    """All cells of a file, or the error about it."""
    try:
        frames = list(tables.table_chunks(path, wanted, rows, codes=codes))
    except LDPError as error:
        return f"{type(error).__name__} {error}"
    columns = {name: [tables.objects(frame[name]) for frame in frames] for name in wanted}
    sizes = [len(frame) for frame in frames]
    return sizes, {name: [c for part in parts for c in part] for name, parts in columns.items()}


def strictly(path, wanted, rows, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tables, "header_of", lambda line: None)
        return outcome(path, wanted, rows)


def test_small_files_are_read_as_by_the_strict_reader(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    quick = 0
    parsed = tables.parsed_numbers

    def counted(*args):
        nonlocal quick
        found = parsed(*args)
        quick += found is not None
        return found

    monkeypatch.setattr(tables, "parsed_numbers", counted)
    for i in range(220):
        width = int(rng.integers(1, 4))
        header = b",".join([b"x", b"y", b"'=z"][:width])
        if i % 3 == 0:  # anything
            pieces = PIECES + ODD if i % 2 else PIECES
            body = b"".join(pieces[j] for j in rng.integers(0, len(pieces), rng.integers(0, 14)))
        else:  # rows that fit, but for a few
            end = b"\r\n" if i % 5 == 0 else b"\n"
            cells = [b"", b"a", b"bc ", b"\xc3\xa9", b"01"] + ([ODD[i % len(ODD)]] if i % 2 else [])
            row = [cells[j] for j in rng.integers(0, len(cells), width * int(rng.integers(0, 9)))]
            lines = [b",".join(row[k : k + width]) for k in range(0, len(row), width)]
            body = end.join(lines) + end * int(rng.integers(0, 2))
        text = [b"", b"\xef\xbb\xbf"][i % 7 == 0] + header + [b"\n", b"\r\n"][i % 4 == 0] + body
        path = tmp_path / ("t.csv.gz" if i % 11 == 0 else "t.csv")
        path.write_bytes(gzip.compress(text) if i % 11 == 0 else text)
        wanted, rows = ["y" if width > 1 else "x", "=z"][: 2 if width == 3 else 1], i % 4 + 1
        expected = strictly(path, wanted, rows, monkeypatch)
        assert outcome(path, wanted, rows) == expected, text
        assert outcome(path, wanted, rows, codes=wanted) == expected, text
    assert quick > 100


def test_long_fields_and_late_faults_are_found(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    for body in (b"a" * 140_000 + b",b\n", b"a,b\n" * 50 + b"a\n", b"a,b\n" * 50 + b'"a\nb",c\n'):
        path.write_bytes(b"x,y\n" + body)
        for rows in (7, 1000):
            expected = strictly(path, ["y"], rows, monkeypatch)
            assert outcome(path, ["y"], rows) == expected


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_blocks_are_whole_lines(rows, monkeypatch):
    from io import BytesIO

    text = b"".join(b"%d\n" % i for i in range(100)) + b"end"
    monkeypatch.setattr(tables, "_PIECE", 17)
    found = list(tables.blocks(BytesIO(text), rows))
    assert b"".join(found) == text
    assert [block.count(b"\n") for block in found[:-1]] == [rows] * (100 // rows)
