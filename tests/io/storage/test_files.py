"""What a path may be: links, pipes, and files that are replaced."""

import os

import pytest
from shared.written_tables import text_file

import ldpstats as ldp
from ldpstats import io


def test_a_link_stays_a_link(tmp_path):
    path = text_file(tmp_path / "a.txt", "old")
    (tmp_path / "link").symlink_to(path)
    with io.replacing(tmp_path / "link", force=True) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink() and path.read_text() == "new"


@pytest.mark.parametrize("force", [False, True])
def test_only_regular_files_are_replaced(force, tmp_path):
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(ldp.InvalidArgument, match="regular file"), io.replacing(path, force):
            pass


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_pipe_is_no_table(kind, suffix, tmp_path):
    """It is refused before anybody waits for who writes to it."""
    path, out = tmp_path / f"a{suffix}", tmp_path / "r.csv"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(os.devnull)
    mechanism = ldp.KRR(("nurse", "cook"), 1.0)
    for call in (
        lambda: next(io.read_columns(path, ["job"])),
        lambda: io.read_counts(path, mechanism, "job"),
        lambda: io.privatize_file(path, out, "job", mechanism.collector()),
        lambda: io.privatize_file(path, out, "b", mechanism.collector(), keep=["job"]),
    ):
        with pytest.raises(ldp.InvalidArgument, match="is not a regular file: write its content"):
            call()
