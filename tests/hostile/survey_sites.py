"""Surveys, with arguments that work."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, RNG, Examples, Fresh, Site

import ldpstats as ldp
from ldpstats import page
from ldpstats.devices import cohorts, library
from ldpstats.survey.analyses import privatize_sheets

COLUMN = ("column", "question", "name", "where", "table")


def survey_sites(e: Examples) -> Iterator[Site]:
    sheet = ldp.Questionnaire(
        {"job": e.krr, "late": e.warner, "word": e.orr, "place": e.pum, "host": e.survey}
    )
    table, survey = _collected(e, sheet)
    design = {"weights": None, "strata": None, "clusters": None, "fpc": None, "na": ()}
    of = {"data": ("table", "frame", "path"), "questionnaire": ("mechanisms", "question")}
    places = {"table": None, "engine": None, "on_error": "raise"}
    kinds = {"nested": True, "single_unit": "fail", "replicate_weights": None, "changes": ()}
    given = {"data": table, "questionnaire": sheet} | design | places | kinds
    yield Site("Survey", ldp.Survey, given, of)
    drawn = {"weights": "weight", "strata": ["region"], "clusters": ["town"], "fpc": "towns"}
    sample = table.assign(weight=1.5, town=np.arange(60) % 20, towns=200)
    designed = {"data": sample, "questionnaire": sheet} | drawn | kinds
    yield Site("Survey of a sample", ldp.Survey, designed, of | {"data": (*of["data"], *drawn)})
    counted = {"source": table, "mechanism": e.krr, "column": "job", "count": None, "cohort": None}
    counted |= {"bits": False, "missing": "count", "where": "age > 18", "na": (), "progress": False}
    by_name = {"source": ("table", "frame", "path"), "where": COLUMN, "column": COLUMN}
    yield Site("count", ldp.count, counted | places, by_name)
    file = {"source": e.report_file, "mechanism": e.krr, "column": "report", "cohort": None}
    yield Site("count in files", ldp.count, file, by_name)
    mapping = {"job": e.krr, "late": e.warner}
    weights = {"columns": "rep_*", "kind": "Fay", "rho": 0.3, "scale": None, "rscales": None}
    weights |= {"mse": False, "combined": True, "df": 8.0}
    yield Site("ReplicateWeights", ldp.ReplicateWeights, weights, {"columns": COLUMN})
    sampled = ldp.Survey(table.assign(w=1.5), sheet, weights="w", clusters="who")
    drawn = {"kind": "bootstrap", "rng": np.random.default_rng(3), "n": 20}
    yield Site("Survey.replicates", sampled.replicates, drawn)
    totals = {"region": {"n": 40.0, "s": 60.0}, ("urban",): {True: 45.0, False: 55.0}}
    calibration = {"margins": totals, "method": "logit", "bounds": (0.2, 5.0), "total": None}
    yield Site("Survey.calibrate", sampled.calibrate, calibration)
    yield Site(
        "Survey.poststratify", sampled.poststratify, {"totals": {"region": totals["region"]}}
    )
    trimming = {"lower": None, "upper": 4.0, "strict": True}
    yield Site("Survey.trim", sampled.trim, trimming)
    yield Site("Survey mapping", ldp.Survey, {"data": table, "questionnaire": mapping}, of)
    condition = {"condition": "18 <= age < 65 and (region in ['n', 's'] or not urban)"}
    yield Site("where", survey.where, condition, {"condition": COLUMN})
    yield Site("Survey[mask]", lambda mask: survey[mask], {"mask": np.arange(60) % 2 == 0})
    yield Site("Survey.reports", survey.reports, {"name": "job", "id": "who"}, {
        "name": COLUMN, "id": COLUMN,
    })  # fmt: skip
    how = {"method": "mle", "cov_type": "default", "candidates": None, "incomplete": False}
    names = {"name": COLUMN, "by": COLUMN, "names": COLUMN}
    given = {"name": "job", "by": ["region", "urban"], **how}
    yield Site("Survey.frequencies", survey.frequencies, given, names)
    given = {"name": "job", "time": "year", **how}
    waves = ldp.Survey(table.assign(year=np.arange(60) % 2), sheet)
    yield Site("Survey.trend", waves.trend, given, {"name": COLUMN, "time": COLUMN})
    opened = {"name": "word", "candidates": JOBS, "incomplete": True, "method": "inversion"}
    yield Site("Survey.frequencies open", survey.frequencies, opened, names)
    personal = {"name": "place", "background": {"home": [0.5, 0.3, 0.2]}, "exact": False}
    yield Site("personalized", survey.personalized, personal | {"method": "mle"}, names)
    strings = {"name": "host", "keep": "[abc]+", "max_candidates": 20, "false_grams": 5.0}
    yield Site("dictionary", survey.dictionary, strings, names, slow=True)
    several = {"names": ("job", "late", "region")}
    yield Site("joint_counts", _several(survey.joint_counts), several, names)
    joint = several | {"candidates": None, "other": False, "method": "mle"}
    yield Site("Survey.association", _several(survey.association), joint, names)
    yield Site("Survey.associations", survey.associations, joint | {"alpha": 0.1}, names, slow=True)
    two = {"first": "late", "second": "again", "name": "late", "waves": ("a", "b")}
    again = ldp.Survey(table.assign(again=table["late"]), sheet.mechanisms | {"again": e.warner})
    yield Site("Survey.change", again.change, two | {"method": "mle"}, {
        "first": COLUMN, "second": COLUMN,
    })  # fmt: skip
    if find_spec("svy"):
        weighted = ldp.Survey(table, sheet, weights="age")
        yield Site("to_svy", weighted.to_svy, {"names": ["job", "late"]}, {"names": COLUMN})
    two = {"other": survey, "id": "who", "suffixes": ("_1", "_2")}
    yield Site("matched", survey.matched, two, {"id": COLUMN})


def _several(call: Any) -> Any:
    def called(names: Any, **how: Any) -> Any:
        return call(*(names if isinstance(names, list | tuple) else (names,)), **how)

    return called


def _collected(e: Examples, sheet: ldp.Questionnaire) -> tuple[pd.DataFrame, ldp.Survey]:
    """Sixty respondents, and their survey."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"job": rng.choice(JOBS, 60), "late": rng.choice(["no", "yes"], 60)})
    people["word"] = people["job"]
    people["place"] = rng.choice(["centre", "park", "clinic"], 60)
    people["host"] = rng.choice(["abca", "cc"], 60)
    people["age"] = rng.integers(18, 80, 60)
    people["region"] = rng.choice(["n", "s"], 60)
    people["urban"] = rng.random(60) < 0.5
    people["who"] = np.arange(60)
    table = sheet.privatize(people, rng)
    return table, ldp.Survey(table, sheet)


# Questionnaires, their clients and collectors, with arguments that work.


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


# Weighted frequencies and tables, with arguments that work.

COLUMN_WEIGHTED_SITES = ("column", "question", "name", "where", "table", "names", "groups")


def weighted_sites(e: Examples) -> Iterator[Site]:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"job": rng.choice(JOBS, 90), "late": rng.choice(["no", "yes"], 90)})
    people = table.assign(w=rng.uniform(1.0, 3.0, 90), unit=np.arange(90) // 6)
    people["region"] = rng.choice(["n", "s"], 90)
    survey = ldp.Survey(people, {"job": e.krr, "late": e.warner}, weights="w", clusters="unit")
    names = {"names": ("job", "late"), "candidates": None, "other": False, "method": "inversion"}

    def association(names: Any, **how: Any) -> Any:
        return survey.association(*(names if isinstance(names, list | tuple) else (names,)), **how)

    yield Site("Survey.association weighted", association, names)
    yield from _sample_sites(e, people, survey, rng)
    three = survey.association("job", "late", "region")
    yield from _table_sites(survey.association("job", "late"), three)
    yield from _frequency_sites(survey.frequencies("job"), survey.frequencies("job", by="region"))


def _sample_sites(
    e: Examples, people: pd.DataFrame, survey: Any, rng: np.random.Generator
) -> Iterator[Site]:
    names = {"name": COLUMN_WEIGHTED_SITES, "by": COLUMN_WEIGHTED_SITES}
    asked: dict[str, Any] = {"name": "job", "by": ["region"], "candidates": None}
    asked |= {"incomplete": False, "method": "mle", "constraints": None, "cov_type": "default"}
    drawn = survey.replicates("bootstrap", np.random.default_rng(1), 20)
    fixed = survey.calibrate({"region": {"n": 90.0, "s": 90.0}})
    for kind, one in {"weighted": survey, "of replicates": drawn, "calibrated": fixed}.items():
        given = asked | {"method": "mle" if one is survey else None}
        yield Site(f"Survey.frequencies {kind}", one.frequencies, given, names)
    sheet = ldp.Questionnaire({"word": e.orr})
    held = sheet.privatize(people[["w", "region"]].assign(word=people["job"]), rng)
    opened = ldp.Survey(held, sheet, weights="w")
    listed = {"name": "word", "by": "region", "candidates": JOBS, "incomplete": True}
    yield Site("Survey.frequencies weighted open", opened.frequencies, listed, names)
    several = {"name": "word", "candidates": {"word": JOBS}, "other": False}
    yield Site(
        "Survey.association weighted open",
        lambda name, **how: opened.association(name, "region", **how),
        several,
        {"name": ("names", "column", "question")},
    )
    yield Site(
        "where weighted",
        lambda condition: fixed.where(condition).frequencies("job"),
        {"condition": "region == 'n' or w > 2"},
        {"condition": COLUMN_WEIGHTED_SITES},
    )
    mask = {"mask": np.arange(90) % 2 == 0}
    yield Site("Survey[mask] weighted", lambda mask: survey[mask].frequencies("job"), mask)
    factors = _replicates(people, 4)
    columns = {"data": people.join(factors), "questionnaire": {"job": e.krr}, "weights": "w"}
    given = columns | {"replicate_weights": ldp.ReplicateWeights("rep_*", "BRR"), "changes": ()}
    also = {"data": ("table", "frame", "path", "weights", "replicate_weights", "columns")}
    also |= {"questionnaire": ("mechanisms", "question")}
    yield Site("Survey of replicates", ldp.Survey, given, also)


def _replicates(people: pd.DataFrame, n: int) -> pd.DataFrame:
    """Columns of replicate weights."""
    rng = np.random.default_rng(6)
    return pd.DataFrame({f"rep_{r}": people["w"] * rng.integers(0, 3, 90) for r in range(n)})


def _frequency_sites(r: Any, grouped: Any) -> Iterator[Site]:
    alpha: dict[str, Any] = {"alpha": 0.05}
    domain = {"domain": "n", "method": "second"}
    calls: dict[str, tuple[Any, dict[str, Any]]] = {
        "conf_int": (r.conf_int, alpha | {"method": "default", "clip": True}),
        "totals": (grouped.totals, alpha),
        "mean": (grouped.mean, alpha | {"scores": [1, 2, 3]}),
        "ratio": (r.ratio, alpha | {"numerator": "nurse", "denominator": ["driver", "teacher"]}),
        "differences": (grouped.differences, alpha | {"reference": "s", "all_pairs": False}),
        "t_test": (r.t_test, {"hypothesis": (np.eye(3)[0], 0.1)}),
        "wald_test": (r.wald_test, {"hypothesis": (np.eye(3)[0], 0.1)}),
        "test_equal": (grouped.test_equal, {"method": "first"}),
        "test_distribution": (grouped.test_distribution, {"p0": [0.5, 0.3, 0.2]} | domain),
        "summary_frame": (r.summary_frame, alpha),
        "to_frame": (grouped.to_frame, alpha),
        "summary": (grouped.summary, alpha | {"max_rows": 40, "details": True}),
        "from_dict": (type(r).from_dict, {"document": grouped.to_dict()}),
        "from_json": (type(r).from_json, {"text": grouped.to_json()}),
    }
    for name, (call, given) in calls.items():
        yield Site(f"WeightedResults.{name}", call, given)
    plot = alpha | {"sort": True, "most": 2, "title": "Jobs"}
    yield Site("WeightedResults.plot", r.plot, plot | {"ax": None}, slow=True)
    yield Site("WeightedResults plots", grouped.plot, plot | {"figure": None}, slow=True)


def _table_sites(t: Any, three: Any) -> Iterator[Site]:
    alpha: dict[str, Any] = {"alpha": 0.05}
    rows = {"max_rows": 40, "details": True}
    cells = {"numerator": ("nurse", "yes"), "denominator": [("driver", "yes"), ("driver", "no")]}
    pairs = {"rows": ("nurse", "driver"), "columns": ("yes", "no")}
    calls: dict[str, dict[str, Any]] = {
        "conf_int": alpha | {"method": "default", "clip": True},
        "totals": alpha,
        "margins": alpha,
        "conditional": alpha | {"on": "late"},
        "differences": alpha | {"on": "job", "reference": "nurse", "all_pairs": False},
        "ratio": alpha | cells,
        "odds_ratio": alpha | pairs,
        "risk_difference": alpha | {"rows": pairs["rows"], "column": "yes"},
        "risk_ratio": alpha | {"rows": pairs["rows"], "column": "yes"},
        "cramers_v": alpha,
        "test_independence": {"method": "first", "effects": "observed"},
        "summary_frame": alpha,
        "to_frame": alpha,
        "summary": alpha | rows,
    }
    for name, given in calls.items():
        yield Site(f"WeightedTable.{name}", getattr(t, name), given)
    yield Site("WeightedTable.collapse", three.collapse, {"names": ["region", "job"]})
    given, call = {"given": "late", "method": "first"}, three.test_conditional_independence
    yield Site("WeightedTable.test_conditional_independence", call, given)
    plot = {"kind": "heatmap", "ax": None, "alpha": 0.05, "title": "Late"}
    yield Site("WeightedTable.plot", t.plot, plot, slow=True)
    for test in ("t_test", "wald_test"):
        contrast = {"hypothesis": (np.eye(6)[0] - np.eye(6)[3], 0.1)}
        yield Site(f"WeightedTable.{test}", getattr(t, test), contrast)
    yield Site("WeightedTable.from_dict", type(t).from_dict, {"document": t.to_dict()})
    yield Site("WeightedTable.from_json", type(t).from_json, {"text": t.to_json()})


# Pages of questionnaires, with arguments that work.


def page_sites(e: Examples) -> Iterator[Site]:
    sheet = ldp.Questionnaire({"job": e.krr, "host": e.orr, "place": e.pum})
    words = {
        "lang": "en",
        "dir": "ltr",
        "title": "Work",
        "introduction": ["One.", "Two."],
        "questions": {"job": {"question": "Your job?", "help": "", "skip": True}},
        "words": {"next": "Next", "progress": "{number} of {total}"},
    }
    given = {"questionnaire": sheet, "texts": words, "post": "/sheets", "show_first": True}
    keys = ("lang", "dir", "title", "introduction", "thanks", "questions", "words")
    also = {"texts": (*keys, "file", "specification")}
    yield Site("page_texts", page.page_texts, {"questionnaire": sheet})
    yield Site("page_text", page.page_text, given, also)


def page_file_sites(e: Examples) -> Iterator[Site]:
    sheet = ldp.Questionnaire({"job": e.krr})
    given = {"questionnaire": sheet, "path": str(e.folder / "page.html"), "post": None}
    given |= {"texts": {"title": "Work"}, "force": True}
    words = {"texts": ("title", "file", "specification"), "path": ("file", "directory", "written")}
    yield Site("write_page", page.write_page, given, words)
