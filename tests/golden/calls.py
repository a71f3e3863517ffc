"""Calls of public functions and methods with ordinary arguments, and with wrong ones."""

import contextlib
import inspect
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from golden import objects
from golden.plain import CLASSES, masked, plain, public_names, repeatable, scene, seed, text
from grid import MECHANISMS
from hostile.examples import Examples, Fresh, Site
from hostile.sites import sites

import ldpstats as ldp

Scenes = Iterator[tuple[str, Any]]

WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "nan": lambda: float("nan"),
    "-1": lambda: -1,
    "0": lambda: 0,
    "1.5": lambda: 1.5,
    "huge": lambda: 10**30,
    "True": lambda: True,
    "text": lambda: "no such label",
    "empty text": lambda: "",
    "empty list": list,
    "list": lambda: ["nurse", None, 3],
    "dict": lambda: {"nurse": 1},
    "array": lambda: np.array([0.5, np.nan, 0.2]),
    "matrix": lambda: np.eye(3),
    "twins": lambda: pd.Series([0.5, 0.3, 0.2], index=["nurse", "nurse", "driver"]),
    "frame": lambda: pd.DataFrame({"report": ["nurse"], "n": [1]}),
    "mechanism": lambda: ldp.KRR(("yes", "no"), 1.0),
    "object": object,
}
ONE_IN = 2  # of the arguments of all callables are replaced


class Kept:
    """Folders that last as long as the process."""

    folder: Any = None


@cache
def folder() -> Path:
    Kept.folder = tempfile.TemporaryDirectory()
    return Path(Kept.folder.name)


@cache
def every_site() -> list[Site]:
    """Every public callable with arguments that work, in the hostile suite."""
    with masked(folder()), repeatable("sites"):
        found: list[Site] = sites(Examples(folder()))
        return found


def given(site: Site) -> dict[str, Any]:
    return {name: v.make() if isinstance(v, Fresh) else v for name, v in site.arguments.items()}


def _called(site: Site) -> Any:
    return site.call(**given(site))


def ordinary() -> Scenes:
    """Every public callable."""
    for site in every_site():
        with masked(folder()):
            yield site.name, scene(site.name, partial(_called, site))
        plt.close("all")


def wrong() -> Scenes:
    """Errors, and warnings, of calls of which one argument is replaced."""
    kinds = list(WRONG)
    for site in every_site():
        if site.slow:
            continue
        for name in site.arguments:
            at = seed(f"{site.name} {name}")
            if at % ONE_IN:
                continue
            kind = kinds[at // ONE_IN % len(kinds)]

            def call(site: Site = site, name: str = name, kind: str = kind) -> Any:
                with contextlib.redirect_stdout(io.StringIO()):
                    site.call(**given(site) | {name: WRONG[kind]()})
                return "returns"

            with masked(folder()):
                yield f"{site.name}({name}={kind})", scene(site.name, call)
    plt.close("all")


def of_family(name: str) -> Scenes:
    """The members of all objects of a family."""
    for kind, make in objects.FAMILIES[name]().items():
        with masked(folder()):
            yield kind, scene(kind, make, 1)
    plt.close("all")


def plots() -> Scenes:
    """Words and lines of plots."""
    s = objects.survey()
    drawn: dict[str, Callable[[], Any]] = {
        "frequencies": lambda: s.frequencies("job").plot(),
        "grouped": lambda: s.frequencies("job", by="region").plot().ravel()[0],
        "heat": lambda: s.association("job", "late").plot(kind="heatmap"),
        "weighted": lambda: objects.survey("weighted").frequencies("job").plot(),
        "coefficients": lambda: objects.regression("logit").plot_coefficients(),
        "effects": lambda: objects.regression("logit").plot_effects("age", points=5),
        "change": lambda: s.change("late", "again").plot(),
        "strings": lambda: objects.dictionary().plot(),
        "graph": lambda: objects.dictionary().plot_graph(max_strings=3),
    }
    for name, call in drawn.items():
        yield name, scene(name, call)
        plt.close("all")


def exported() -> Scenes:
    """Kind, signature and first line of the docstring of each public name and its members."""
    for name, value in public_names().items():
        yield name, _listed(value)
        if inspect.isclass(value) and value.__module__.startswith("ldpstats"):
            for member in sorted(m for m in dir(value) if not m.startswith("_")):
                static = inspect.getattr_static(value, member)
                if any(vars(base).get(member) is static and base in CLASSES
                       for base in value.__mro__[1:]):  # fmt: skip
                    continue
                if getattr(static, "__module__", "ldpstats").startswith("ldpstats"):
                    yield f"{name}.{member}", _listed(static)


def _listed(value: Any) -> str:
    value = getattr(value, "__func__", value)
    kind = type(value).__name__ if not inspect.isclass(value) else "class"
    signature = ""
    if inspect.isclass(value) or inspect.isroutine(value):
        with contextlib.suppress(ValueError, TypeError):
            signature = str(inspect.signature(value))
    told = kind in ("class", "function", "property", "cached_property", "module")
    words = (inspect.getdoc(value) or "").split("\n")[0] if told else ""
    return text(f"{kind} {signature} {words}".strip(), 400)


def documents() -> Scenes:
    """The bytes of specifications."""
    for name, mechanism in MECHANISMS.items():
        written = json.dumps(mechanism.to_dict())
        yield name, {"bytes": text(written), "fingerprint": mechanism.fingerprint}
        with contextlib.suppress(ldp.LDPError):
            told = json.dumps(mechanism.client_document())
            yield f"{name} client", {"bytes": text(told), "sum": seed(told)}
    sheet = objects.sheet()
    yield "sheet", {"json": sheet.to_json(), "fingerprint": sheet.fingerprint}
    yield "sheet client", text(json.dumps(sheet.client_document()), 100_000)
    yield "page", plain(ldp.page.page_text(sheet))
    yield "texts", plain(ldp.page.page_texts(sheet))


def programs(*numbers: int) -> Scenes:
    """What the nine programs of the design print."""
    for number in numbers:
        program = PROGRAMS[number - 1]
        names: dict[str, Any] = {}
        said = io.StringIO()
        with contextlib.redirect_stdout(said):

            def run(names: dict[str, Any] = names, program: str = program) -> None:
                exec(compile(START + program, "<program>", "exec"), names)

            ended = scene(f"program {number}", run)
        yield f"{number}", {"prints": text(said.getvalue(), 20_000), "ends": ended}


START = """
import numpy as np, pandas as pd, ldpstats as ldp
rng = np.random.default_rng(2024)
jobs = ("nurse", "teacher", "driver", "cook")
job = rng.choice(jobs, p=[.4, .3, .2, .1], size=20_000)
krr = ldp.KRR(jobs, epsilon=1.0)
paid = ldp.KRR(("no", "yes"), epsilon=1.0)
late = np.where(rng.random(20_000) < .2 + .4 * (job == "nurse"), "yes", "no")
"""
PROGRAMS = (
    "print(ldp.FrequencyModel(krr.privatize(job, rng)).fit().summary())",
    """
rap = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=16, f=0.0, p=.25, q=.75)
words = tuple(f"w{i}" for i in range(40))
parts = (rap.privatize(rng.choice(words[:9], size=5_000), rng).tally() for _ in range(4))
counts = sum(parts, start=rap.no_counts())
hits = ldp.FrequencyModel(counts, candidates=words).fit("inversion")
print(list(hits.detected(alpha=0.05)))
print(hits.summary())
""",
    """
joint = ldp.AssociationModel(krr.privatize(job, rng), paid.privatize(late, rng)).fit()
print(joint.test_independence())
""",
    """
survey = ldp.DictionarySurvey(length=6, gram=2, alphabet="abcde", epsilon=12.0)
reports = survey.privatize(rng.choice(["abcade", "eedabc"], size=8_000), rng)
print(ldp.DictionaryModel(reports).fit(alpha=0.05).summary())
""",
    """
urr = ldp.URR(jobs, sensitive={"nurse"}, epsilon=1.0)
print(ldp.FrequencyModel(urr.privatize(job, rng)).fit("em").conf_int())
""",
    """
X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=20_000)})
ill = (rng.random(20_000) < 1 / (1 + np.exp(.5 - .8 * X.age))).astype(int)
print(ldp.PrivatizedLogit(ldp.KRR((0, 1), 1.0).privatize(ill, rng), X).fit().summary())
""",
    """
people = pd.DataFrame({"job": job, "late": late, "age": rng.integers(18, 80, 20_000),
                       "region": rng.choice(["n", "s"], 20_000),
                       "weight": rng.uniform(.5, 2, 20_000)})
sheet = ldp.Questionnaire({"job": krr, "late": paid})
collected = sheet.privatize(people, rng)
survey = ldp.Survey(collected, sheet, weights="weight", strata="region")
print(survey.frequencies("job", by="region").summary())
print(survey.association("job", "late").test_independence())
print(survey.regression("late ~ age + job").fit().summary())
""",
    """
die = ldp.devices.roll(6)
card = die.when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
forced = card.mechanism(("no", "yes"))
print(forced.epsilon, card.instructions())
model = ldp.FrequencyModel(forced.privatize(late, rng))
print(model.fit_posterior(rng, draws=400).summary())
""",
    """
best = ldp.planning.design_channel(jobs, epsilon=1.0, prior=[.4, .3, .2, .1])
print(best.gap, best.efficiency)
""",
)
