"""The main job on real data: ``python -m ldpstats.demo [FOLDER]``.

Household income is a question that many people refuse to answer. The demonstration takes the
answers to the General Social Survey 1974-2018, asks for income and unemployment through a
questionnaire, privatises every answer sheet with the operating system's randomness, and writes what
an analyst would hold: the questionnaire and a CSV file of collected answers. Then it is the
analyst: it reads both, prints the table, and sets the truth beside it, which here is known.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

import ldpstats as ldp
from ldpstats import datasets

EPSILON = 1.0  # of each question
SAYS = "Privatise income and unemployment in the General Social Survey, and print the table."


def main(folder: Path) -> None:
    """Collect, read, fit, print, draw."""
    folder.mkdir(parents=True, exist_ok=True)
    people = datasets.expand(datasets.load_gss()).rename(columns={"age8": "age"})
    income = people["income5"].cat.rename_categories({"missing": "not stated"})  # an answer too
    people = people.assign(income=income)[["sex", "age", "income", "unemployed"]]

    questions = {
        "income": ldp.KRR(people["income"], EPSILON),
        "unemployed": ldp.KRR(people["unemployed"], EPSILON),
    }
    sheet = ldp.Questionnaire(questions)
    sheet.to_json(folder / "questionnaire.json", force=True)
    collected = sheet.collector().privatize(people)
    collected.to_csv(folder / "collected.csv", index=False)
    lies = (collected["income"].astype(str) != people["income"].astype(str)).mean()
    print(f"{folder / 'collected.csv'}: {len(collected)} answer sheets of {sheet}\n")

    survey = ldp.Survey(folder / "collected.csv", sheet)
    results = survey.frequencies("income")
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
    drawing.savefig(folder / "income.png", dpi=150)
    print(f"\nPlot: {folder / 'income.png'}")


if __name__ == "__main__":
    pd.set_option("display.width", 100)
    parser = argparse.ArgumentParser(prog="python -m ldpstats.demo", description=SAYS)
    parser.add_argument("folder", nargs="?", default="ldpstats_demo", help="where to write")
    main(Path(parser.parse_args().folder))
