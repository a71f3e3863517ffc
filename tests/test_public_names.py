"""What `import ldpstats` offers."""

import html
import importlib
import inspect
import pickle
import pkgutil
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp


def test_modules_are_there_when_they_are_named():
    assert ldp.planning.best_theta(10, 3, 1.0).theta == pytest.approx(0.556, abs=1e-3)
    assert ldp.datasets and ldp.io and ldp.inference
    with pytest.raises(AttributeError, match="no attribute 'regressions'"):
        ldp.regressions  # noqa: B018
    assert not hasattr(ldp, "no.module")


@pytest.mark.parametrize("folder", ["planning", "privacy"])
def test_no_module_bears_the_name_of_a_function(folder):
    """Importing such a module would put it in the function's place."""
    package = getattr(ldp, folder)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules and not modules & set(package.__all__)


# Errors: short messages, and errors that travel between processes.


def test_messages_are_short_and_errors_travel():
    for error in (
        ldp.InvalidArgument("a" * 9_000, "b", "c" * 9_000),
        ldp.NotAvailable("x" * 9_000),
        ldp.BudgetSpent("x" * 9_000),
    ):
        assert len(str(error)) <= 2_000
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
    with pytest.raises(ldp.InvalidArgument) as found:
        ldp.KRR(3, epsilon=-1.0)
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.name, again.remedy) == (found.value.name, found.value.remedy)
    assert issubclass(ldp.BudgetSpent, ldp.LDPError) and issubclass(ldp.BudgetSpent, ValueError)


# What is printed for reading shows itself in notebooks, too.

# arguments of other calls, which print as a line
LINES = {"Source", "ReplicateWeights", "MadeReplicates", "WeightStep", "Difference"}


def classes() -> list[type]:
    """All classes of the package that print in a form of their own."""
    found = set()
    for module in pkgutil.walk_packages(ldp.__path__, "ldpstats."):
        if module.name.rpartition(".")[2] in ("__main__", "ldpstats_client", "spark", "pymc"):
            continue
        for one in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(one) and one.__module__.startswith("ldpstats."):
                found.add(one)
    return sorted(
        (one for one in found if "__str__" in vars(one) and not issubclass(one, BaseException)),
        key=lambda one: one.__name__,
    )


def test_what_prints_is_shown_in_notebooks():
    made = classes()
    assert {"Audit", "MechanismChoice", "TestResult", "Ledger"} <= {one.__name__ for one in made}
    lack = {
        one.__name__
        for one in made
        if not hasattr(one, "_repr_html_")
        and not {"Goal", "Calibration", "Trimming"} & {kind.__name__ for kind in one.__mro__}
    }
    assert lack <= LINES


JOBS = ("<a>", "b", "c")

KRR, URR = ldp.KRR(JOBS, 1.0), ldp.URR(JOBS, {"<a>"}, 1.0)

SURVEY = ldp.FrequencyModel(KRR.counts([420, 330, 250]))

HASHED = ldp.ORR(8, 16, epsilon=3.0).privatize(["a", "b"] * 50, np.random.default_rng(1))

P = [0.5, 0.3, 0.2]

WHOLE: dict[str, Any] = {  # shown as a summary
    "precision": ldp.planning.precision(KRR, P, n=1000),
    "manipulation": ldp.planning.manipulation(KRR, 0.01, P),
    "channel": ldp.planning.design_channel(JOBS, 1.0, prior=P),
}

AS_PRINTED: dict[str, Any] = {
    "audit": KRR.audit(),
    "sheet audit": ldp.Questionnaire({"<b>": KRR}).audit(),
    "uldp": ldp.privacy.uldp(URR),
    "osldp": ldp.privacy.osldp(URR),
    "choice": ldp.planning.recommend(JOBS, 1.0),
    "theta": ldp.planning.best_theta(10, 2, 1.0),
    "fieller": SURVEY.fit().ratio("<a>", "b"),
    "bayes factor": SURVEY.fit_posterior(np.random.default_rng(1)).bayes_factor("<a> = b"),
    "unexplained": ldp.FrequencyModel(HASHED, candidates=("a",)).fit_quietly().unexplained,
}


@pytest.mark.parametrize("kind", list(WHOLE))
def test_summaries_are_tables_in_notebooks(kind):
    page = WHOLE[kind]._repr_html_()
    assert page == WHOLE[kind].summary().as_html() and "<table" in page and "<a>" not in page


@pytest.mark.parametrize("kind", list(AS_PRINTED))
def test_other_results_are_shown_as_they_print(kind):
    page = AS_PRINTED[kind]._repr_html_()
    assert page.startswith("<pre>") and page.endswith("</pre>")
    inside = page[len("<pre>") : -len("</pre>")]
    assert "<" not in inside and html.unescape(inside) == str(AS_PRINTED[kind])
