"""A questionnaire with every kind of question, and people who answer it."""

from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp

STRINGS = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
PUM = ldp.PUM(ldp.URR(("park", "centre", "mill"), {"mill"}, epsilon=1.0), ("home",))
MECHANISMS: dict[str, Any] = {
    "job": ldp.KRR(("cook", "nurse", "refused"), 1.0),
    "ill": ldp.Warner(epsilon=0.5),
    "children": ldp.KRR(4, 1.0),
    "bits": ldp.KRAPPOR(("x", "y"), 1.0),
    "region": ldp.Observed(("north", "south")),
    "url": STRINGS,
    "host": ldp.ORR(8, 4, epsilon=1.0),
    "place": PUM,
    "filter": ldp.RAPPOR(16, 2, 8, f=0.5, p=0.2, q=0.8),
    "size": ldp.KRR((1.5, 2.5), 1.0),
    "late": ldp.KRR((True, False), 1.0),
}
ANSWERS: dict[str, Any] = {
    "job": ["cook", "nurse"],
    "ill": ["no", "yes"],
    "children": [0, 1, 2, 3],
    "bits": ["x", "y"],
    "region": ["north", "south"],
    "url": ["abc", "aa", "b"],
    "host": ["a.org", "b.org"],
    "place": ["park", "centre", "mill"],
    "filter": ["u", "v"],
    "size": [1.5, 2.5],
    "late": [True, False],
}


def every_kind(ask: int | None = None) -> ldp.Questionnaire:
    """A questionnaire with every kind of question; a refusal to name a job is a category."""
    return ldp.Questionnaire(MECHANISMS, ask=ask, refused={"job": "refused"})


def people(n: int, missing: float = 0.0, seed: int = 1) -> pd.DataFrame:
    """True answers of n people, with an identifier and their homes; some of the answers missing."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {"id": np.arange(n)}
    for name, answers in ANSWERS.items():
        values = np.array(answers, dtype=object)[rng.integers(0, len(answers), n)]
        values[rng.random(n) < missing] = None
        columns[name] = pd.Series(values, dtype=object)
    columns["home"] = rng.choice(np.array(["park", "centre"], dtype=object), n)
    return pd.DataFrame(columns)


def cells(frame: Any) -> dict[str, list[Any]]:
    """The cells of a frame of any kind in plain Python, None where empty."""
    if isinstance(frame, pd.DataFrame):
        columns: Any = {name: column.tolist() for name, column in frame.items()}
        return {name: [None if pd.isna(v) else v for v in some] for name, some in columns.items()}
    if type(frame).__module__.startswith("polars"):
        return dict(frame.to_dict(as_series=False))
    return {name: frame.column(name).to_pylist() for name in frame.schema.names}
