"""Questionnaires, their clients and collectors, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, RNG, Examples, Fresh, Site

import ldpstats as ldp
from ldpstats.devices import cohorts, library
from ldpstats.survey.analyses import privatize_sheets


def questionnaire_sites(e: Examples) -> Iterator[Site]:
    made = {"job": e.krr, "late": e.warner, "host": e.orr, "place": e.pum, "url": e.survey}
    sheet = ldp.Questionnaire({**made, "region": ldp.Observed(("north", "south"))}, ask=3)
    named = {"mechanisms": ("question",), "refused": ("question", "category", "label")}
    whole = {"mechanisms": made, "ask": 2, "refused": {"job": "nurse"}}
    yield Site("Questionnaire", ldp.Questionnaire, whole, named)
    yield Site("Questionnaire refused", ldp.Questionnaire, {"mechanisms": made, "refused": None})
    yield Site("Questionnaire.columns", sheet.columns, {"name": "url"})
    yield Site("Questionnaire.question", sheet.question, {"name": "url"}, {"name": ("question",)})
    document = {"document": sheet.to_dict()}
    also = {"document": ("question", "refused", "specification", "mechanism", "categories")}
    yield Site("Questionnaire.from_dict", ldp.Questionnaire.from_dict, document, also)
    source = {"source": sheet.to_json()}
    words = {"source": ("path", "text", "specification", *also["document"])}
    yield Site("Questionnaire.from_json", ldp.Questionnaire.from_json, source, words)
    people = pd.DataFrame(
        {
            "job": [*JOBS] * 4,
            "late": ["no", "yes", None] * 4,
            "host": "a.org",
            "place": ["centre", "park", "clinic"] * 4,
            "url": ["abca", "cc", "bab"] * 4,
            "region": ["north", "south", "south"] * 4,
        }
    )
    columns = {"frame": (*people.columns, "question")}
    own = {"place": {"home": np.array(["park"] * 12, dtype=object)}}
    frame = {"frame": people, "rng": RNG, "tags": own}
    yield Site("Questionnaire.privatize", sheet.privatize, frame, columns)
    collector = sheet.collector()
    yield Site("SheetCollector.privatize", collector.privatize, {"frame": people}, columns)
    limits: dict[str, Any] = {"max_epsilon": 30.0, "allow_no_privacy": False}
    yield Site("Questionnaire.collector", sheet.collector, limits)
    yield from _by_hand()
    device = {**limits, "reports": 1, "tags": {"place": {"home": {"park"}}}}
    yield Site("Questionnaire.client", sheet.client, device)
    answers: dict[str, Any] = {name: column.iloc[0] for name, column in people.items()}
    yield Site("SheetCollector.report", collector.report, {"answers": answers})
    client = sheet.client(reports=None)
    yield Site("SheetClient.report", client.report, {"answers": Fresh(lambda: dict(answers))})


def sheet_file_sites(e: Examples) -> Iterator[Site]:
    sheet = ldp.Questionnaire({"job": e.krr})
    target = str(e.folder / "sheets.csv")
    given = {"source": e.answers, "target": target, "client": sheet.collector(), "keep": ("id",)}
    given |= {"na": (), "force": True, "spreadsheet_safe": True, "chunk_rows": 2}
    how = ("file", "path", "written", "column", "label")
    also = {name: how for name in given}
    yield Site("privatize_sheets", privatize_sheets, given, also)


def _by_hand() -> Iterator[Site]:
    """A question that groups are asked with devices of an unknown parameter."""
    groups = {p: library.cheating_detection(p, "1/6") for p in ("1/6", "1/2")}
    made = cohorts(groups).mechanism(("no", "yes"))
    sheet = ldp.Questionnaire({"used": made})
    frame = pd.DataFrame({"used": ["no", "yes"], "used_cohort": ["1/6", "1/2"]})
    values = {"used": {"cheating": 0.1}}
    also = {"parameters": ("cheating", "values", "used"), "frame": ("used", "question")}
    given = {"frame": frame, "rng": RNG, "parameters": values}
    yield Site("Questionnaire.privatize cohorts", sheet.privatize, given, also)
    yield Site("Questionnaire.collector cohorts", sheet.collector, {"parameters": values}, also)
    reports = pd.DataFrame({"used": ["no", "yes"] * 9, "used_cohort": ["1/6", "1/6", "1/2"] * 6})
    count = {"source": reports, "column": "used", "cohort": "used_cohort"}
    by_name = {"source": ("table", "frame", "path")}
    yield Site("count cohorts", lambda **how: ldp.count(mechanism=made, **how), count, by_name)
