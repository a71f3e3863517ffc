"""Functions of `ldpstats.io`, with arguments that work."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from hostile.examples import JOBS, Examples, Fresh, Site

from ldpstats import io


def file_sites(e: Examples) -> Iterator[Site]:
    named = {"path": ("file", "directory", "written", "format"), "source": ("file",)}
    target = Fresh(lambda: str(e.folder / "target.csv"))
    how = {"force": True}
    yield Site("is_survey", io.is_survey, {"path": e.spec}, named)
    yield Site("read_mechanism", io.read_mechanism, {"path": e.spec}, named)
    yield Site("read_survey", io.read_survey, {"path": e.survey_file}, named)
    yield Site("read_candidates", io.read_candidates, {"path": e.candidates}, named)
    column = {"path": e.answers, "column": "job", "chunk_rows": 2, "advance": None}
    yield Site("read_column", _listed(io.read_column), column, named)
    columns = {"path": e.answers, "columns": ["job"], "chunk_rows": 2, "advance": None}
    yield Site("read_columns", _listed(io.read_columns), columns, named)
    counts = {
        "path": e.report_file,
        "mechanism": e.krr,
        "column": "report",
        "count": None,
        "cohort": None,
        "missing": "raise",
        "na": (),
        "bits": False,
        "most_bytes": 1 << 20,
        "chunk_rows": 10,
        "advance": None,
    }
    yield Site("read_counts", io.read_counts, counts, named)
    joint = {
        "path": e.pair_file,
        "mechanisms": (e.krr, e.warner),
        "columns": ("job", "late"),
        "count": "n",
        "cohorts": None,
        "id": None,
        "missing": "raise",
        "na": ("NA",),
        "most_bytes": 1 << 20,
        "chunk_rows": 10,
    }
    yield Site("read_joint_counts", io.read_joint_counts, joint, named)
    matched = joint | {"path": [e.pair_file] * 2, "id": "id", "count": None}
    yield Site("read_joint_counts ids", io.read_joint_counts, matched, named)
    strings = {
        "path": e.string_file,
        "survey": e.survey,
        "columns": None,
        "missing": "raise",
        "na": (),
        "chunk_rows": 50,
    }
    yield Site("read_dictionary_reports", io.read_dictionary_reports, strings, named)
    yield Site(
        "read_rappor_map", io.read_rappor_map, {"path": e.map_file, "rappor": e.google}, named
    )
    params = {"path": e.params_file, "hashing": "google"}
    yield Site("read_rappor_params", io.read_rappor_params, params, named)
    google = {"path": e.google_counts, "rappor": e.google}
    yield Site("read_rappor_counts", io.read_rappor_counts, google, named)
    google = {"path": e.google_reports, "rappor": e.google, "missing": "raise", "bits": True}
    yield Site("read_rappor_reports", io.read_rappor_reports, google, named)
    private = {
        "source": e.answers,
        "target": target,
        "column": "job",
        "client": e.krr.collector(),
        "name": "report",
        "keep": ("id",),
        "missing": "raise",
        "na": (),
        "force": True,
        "chunk_rows": 2,
    }
    also = named | {"client": ("mechanism",), "target": ("file", "path", "written")}
    yield Site("privatize_file", io.privatize_file, private, also)
    worded = {n: v for n, v in private.items() if n not in ("name", "keep")}
    worded |= {"source": e.words, "column": "word", "client": e.survey.collector()}
    yield Site("privatize_strings", io.privatize_strings, worded, also)
    yield Site(
        "write_reports",
        io.write_reports,
        {"reports": e.reports["KRR"], "path": target} | how,
        named,
    )
    yield Site(
        "write_dictionary_reports",
        io.write_dictionary_reports,
        {"reports": e.strings, "path": target} | how,
        named,
    )
    yield Site(
        "write_mechanism", io.write_mechanism, {"mechanism": e.krr, "path": target} | how, named
    )
    yield Site("write_survey", io.write_survey, {"survey": e.survey, "path": target} | how, named)
    bloom = {"rappor": e.google, "path": target} | how
    yield Site("write_rappor_params", io.write_rappor_params, bloom, named)
    yield Site("write_rappor_map", io.write_rappor_map, bloom | {"candidates": JOBS}, named)
    sums = {"counts": e.bits["RAPPOR google"], "path": target} | how
    yield Site("write_rappor_counts", io.write_rappor_counts, sums, named)
    rows = {"reports": e.reports["RAPPOR google"], "path": target} | how
    yield Site("write_rappor_reports", io.write_rappor_reports, rows, named)


def _listed(read: Callable[..., Iterator[Any]]) -> Callable[..., list[Any]]:
    def call(**how: Any) -> list[Any]:
        return list(read(**how))

    call.__signature__ = inspect.signature(read)
    return call
