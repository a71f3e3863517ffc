"""Files: specifications of mechanisms and surveys, columns of answers, reports and their counts.

Tables are CSV (comma, quotes doubled, UTF-8, a header line; ``.csv`` or ``.csv.gz``) or Parquet
(``.parquet``), read and written in chunks, so that a file may be larger than memory. Nothing is
guessed about a value:

- Text stays text ("01" is not 1). It is matched to a label by the label's own text, ``str(label)``;
  numbers and booleans in a Parquet file are matched to labels as numbers and booleans.
- An empty field of a CSV file and a null or NaN of a Parquet file are missing. Any other text, "NA"
  and "None" included, is a label or an error, unless the caller lists it in ``na``.
- A row with too few or too many fields, bytes that are not UTF-8, and a column name that occurs
  twice are errors. A byte order mark at the start is tolerated.

Files of google/rappor are described in `ldpstats.io.google`.

In CSV, a column of fingerprints follows the reports: report_fingerprint for the column report and
survey_fingerprint for the five columns of a dictionary survey. Every row says which specification
made it, and a row of another one is refused. Parquet stores the fingerprint once for each column.
Files without fingerprints are read as well.

A file is written under a temporary name beside its target, flushed to the disk and renamed at the
end; files that belong together are renamed together or not at all. So a failure leaves nothing
half-written. If two programs make the same new file, the second is refused. An overwritten file
keeps its permissions. (SIGKILL and crashes may leave a temporary file, whose name begins with
".ldpstats-".)

Errors of `privatize_file` and `privatize_strings` never show what the file of answers holds.
"""

from __future__ import annotations

from ldpstats.io.counting import read_counts, read_joint_counts
from ldpstats.io.dictionary import (
    privatize_strings,
    read_dictionary_reports,
    write_dictionary_reports,
)
from ldpstats.io.google import (
    read_rappor_counts,
    read_rappor_map,
    read_rappor_params,
    read_rappor_reports,
    write_rappor_counts,
    write_rappor_map,
    write_rappor_params,
    write_rappor_reports,
)
from ldpstats.io.reports import privatize_file, read_candidates, write_reports
from ldpstats.io.specifications import (
    is_survey,
    read_mechanism,
    read_survey,
    write_mechanism,
    write_survey,
)
from ldpstats.io.storage import replacing, replacing_all
from ldpstats.io.tables import read_column, read_columns

__all__ = [
    "is_survey",
    "privatize_file",
    "privatize_strings",
    "read_candidates",
    "read_column",
    "read_columns",
    "read_counts",
    "read_dictionary_reports",
    "read_joint_counts",
    "read_mechanism",
    "read_rappor_counts",
    "read_rappor_map",
    "read_rappor_params",
    "read_rappor_reports",
    "read_survey",
    "replacing",
    "replacing_all",
    "write_dictionary_reports",
    "write_mechanism",
    "write_rappor_counts",
    "write_rappor_map",
    "write_rappor_params",
    "write_rappor_reports",
    "write_reports",
    "write_survey",
]
