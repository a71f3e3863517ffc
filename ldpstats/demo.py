"""The main job on real data: ``python -m ldpstats.demo [FIGURE]``.

Household income is a question that many people refuse to answer. The demonstration takes the
income classes of the General Social Survey 1974-2018, privatises every respondent's answer with the
operating system's randomness, fits the reports, and prints the summary with the
truth beside it, which here is known.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import ldpstats as ldp
from ldpstats import datasets

EPSILON = 1.0


def main(figure: Path) -> None:
    """Privatise, fit, print, draw."""
    people = datasets.expand(datasets.load_gss())
    income = people["income5"].cat.rename_categories({"missing": "not stated"})  # an answer too
    mechanism = ldp.KRR(income, epsilon=EPSILON)
    reports = mechanism.collector().privatize(income)
    lies = (mechanism.report_labels(reports) != income.to_numpy()).mean()

    results = ldp.FrequencyModel(reports).fit()
    print(results.summary())

    truth = income.value_counts(normalize=True).reindex(results.params.index)
    beside = results.conf_int().assign(truth=truth)
    beside["covered"] = beside["truth"].between(beside["lower"], beside["upper"])
    beside.index.name = "income, 1986 dollars"
    print(f"\nThe truth, which the analyst does not see ({lies:.0%} of the reports are false):")
    print(beside.to_string(float_format="{:.4f}".format))

    from matplotlib.figure import Figure

    drawing = Figure(figsize=(7.0, 3.2), layout="constrained")
    results.plot(ax=drawing.add_subplot(), truth=truth, sort=False)
    drawing.savefig(figure, dpi=150)
    print(f"\nPlot: {figure}")


if __name__ == "__main__":
    pd.set_option("display.width", 100)
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "ldpstats_demo.png"))
