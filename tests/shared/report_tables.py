"""Reports of any mechanism as tables hold them."""

import grid
import numpy as np
import pyarrow as pa

import ldpstats as ldp
from ldpstats.io.tables import stored_columns


def some_reports(mechanism: ldp.Mechanism, n: int, seed: int = 1) -> ldp.Reports:
    """Reports at random among all that there are."""
    every = grid.all_reports(mechanism)
    return every[np.random.default_rng(seed).integers(0, len(every), n)]


def as_text(reports: ldp.Reports, absent: np.ndarray) -> pa.Table:
    """Reports as text in the column answer, "cohort:report" where they have cohorts."""
    cells = np.full(absent.size, None, dtype=object)
    cells[~absent] = reports.mechanism.report_labels(reports).astype(str)
    return pa.table({"answer": pa.array(cells, pa.string())})


def as_stored(reports: ldp.Reports, absent: np.ndarray) -> pa.Table:
    """Reports as Parquet holds them in the columns answer and answer_cohort; not of labels."""
    found = stored_columns("answer", reports, absent)
    return pa.table({name: column.array.__arrow_array__() for name, column in found.items()})
