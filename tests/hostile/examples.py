"""Objects that work, whose arguments are replaced, and what a callable is called with."""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import io
from ldpstats.estimators import MLE
from ldpstats.estimators import constraints as cons

JOBS = ("nurse", "teacher", "driver")
P3 = (0.5, 0.3, 0.2)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@dataclass(frozen=True)
class Fresh:
    """An argument that is made anew for each call."""

    make: Callable[[], Any]


RNG = Fresh(rng)


@dataclass(frozen=True)
class Site:
    """A public callable with arguments that work.

    Parameters
    ----------
    name : str
    call : callable
    arguments : dict
        By name; `Fresh` ones are made anew.
    also : dict
        What else than its name an error may call an argument.
    slow : bool
        Whether a call takes long: it is drawn ten times less often.
    files : bool
        Whether it is of `ldpstats.io`.
    """

    name: str
    call: Callable[..., Any]
    arguments: dict[str, Any]
    also: dict[str, tuple[str, ...]] = field(default_factory=dict)
    slow: bool = False
    files: bool = False


class Examples:
    """Objects to call methods of, and to pass where others belong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.krr = ldp.KRR(JOBS, epsilon=1.0)
        self.numbered = ldp.KRR(3, epsilon=1.0)
        self.oue = ldp.KRAPPOR(JOBS, epsilon=1.0)
        self.warner = ldp.Warner(epsilon=1.0)
        self.custom = ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
        self.orr = ldp.ORR(8, 4, epsilon=2.0)
        self.orr_closed = ldp.ORR(3, 4, epsilon=2.0, alphabet=JOBS)
        self.orappor = ldp.ORAPPOR(8, 2, 4, epsilon=3.0)
        self.rappor = ldp.RAPPOR(8, 2, 4, f=0.0, p=0.25, q=0.75)
        self.google = ldp.RAPPOR(8, 2, 2, f=0.0, p=0.25, q=0.75, hashing="google")
        self.urr = ldp.URR(JOBS, {"nurse"}, epsilon=1.0)
        self.urap = ldp.URAP(JOBS, {"nurse"}, epsilon=1.0)
        self.pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 1.0), ("home",))
        self.survey = ldp.DictionarySurvey(4, 2, "abc", epsilon=6.0)
        self.mechanisms = {
            "KRR": self.krr,
            "KRR(3)": self.numbered,
            "KRAPPOR": self.oue,
            "Warner": self.warner,
            "CustomMechanism": self.custom,
            "SquareWave": ldp.SquareWave([0, 10, 20, 50], 1.0, half_width=1),
            "ORR": self.orr,
            "ORR closed": self.orr_closed,
            "ORAPPOR": self.orappor,
            "RAPPOR": self.rappor,
            "RAPPOR google": self.google,
            "URR": self.urr,
            "URAP": self.urap,
        }
        g = rng()
        self.values = {
            name: g.integers(0, 3, 60)
            if name == "KRR(3)"
            else g.integers(0, 2, 60)
            if name == "CustomMechanism"
            else g.uniform(0, 50, 60)
            if name == "SquareWave"
            else g.choice(np.array(["no", "yes"] if name == "Warner" else JOBS, dtype=object), 60)
            for name in self.mechanisms
        }
        self.reports = {
            name: m.privatize(self.values[name], g) for name, m in self.mechanisms.items()
        }
        self.counts = {name: r.tally() for name, r in self.reports.items()}
        self.bits = {
            name: r.tally(bits=True)
            for name, r in self.reports.items()
            if self.mechanisms[name].n_bits
        }
        self.results = ldp.FrequencyModel(self.counts["KRR"]).fit()
        quiet = warnings.catch_warnings()
        with quiet:
            warnings.simplefilter("ignore")
            self.open_results = ldp.FrequencyModel(self.counts["ORR"], candidates=JOBS).fit()
            self.joint = ldp.JointCounts((self.reports["KRR"], self.reports["Warner"]))
            self.association = ldp.AssociationModel(
                self.reports["KRR"], self.reports["Warner"], names=("job", "late")
            )
            self.table = self.association.fit()
            yes = ldp.KRR(("no", "yes"), 6.0)
            many = [yes.privatize(g.choice(["no", "yes"], 3000), g) for _ in range(3)]
            self.three = ldp.AssociationModel(*many).fit()
            self.frequency = ldp.FrequencyModel(self.counts["KRR"])
            places = ["centre", "park", "clinic"] * 40
            self.personal_reports = self.pum.privatize(places, g, tags={"home": ["park"] * 120})
            self.personal = ldp.PersonalizedModel(self.personal_reports, self.pum)
            self.personal_results = self.personal.fit()
            self.strings = self.survey.privatize(["abca", "cc", "bab"] * 60, g)
            self.dictionary = ldp.DictionaryModel(self.strings)
            self.discovered = self.dictionary.fit(false_grams=5.0, max_candidates=20)
        self._blocks(g)
        self.channel = self.krr.channel()
        self.table_frame = pd.DataFrame({"report": list(JOBS), "count": [3, 2, 1]})
        self._files()
        self.others: dict[str, Any] = {
            "KRR": self.krr,
            "KRR class": ldp.KRR,
            "KRAPPOR": self.oue,
            "ORR": self.orr,
            "URAP": self.urap,
            "PUM": self.pum,
            "survey": self.survey,
            "Reports": self.reports["KRR"],
            "Reports of bits": self.reports["KRAPPOR"],
            "Reports of cohorts": self.reports["RAPPOR"],
            "Reports class": ldp.Reports,
            "Counts": self.counts["KRR"],
            "Counts of others": ldp.KRR(JOBS, 2.0).counts([1, 2, 3]),
            "no Counts": self.krr.no_counts(),
            "BitCounts": self.bits["KRAPPOR"],
            "JointCounts": self.joint,
            "DictionaryReports": self.strings,
            "FrequencyResults": self.results,
            "AssociationResults": self.table,
            "DictionaryResults": self.discovered,
            "PersonalizedResults": self.personal_results,
            "FrequencyModel": self.frequency,
            "AssociationModel": self.association,
            "channel": self.channel,
            "Effect": self.table.cramers_v(),
            "TestResult": self.table.test_independence(),
            "estimator": MLE(),
            "estimator class": MLE,
            "constraints": cons.monotone(),
            "generator of numbers": rng(),
            "list of Reports": [self.reports["KRR"], self.reports["Warner"]],
            "list of Counts": [self.counts["KRR"], None],
            "specification": self.krr.to_dict(),
            "audit": self.krr.audit(),
        }

    def _blocks(self, g: np.random.Generator) -> None:
        """Mechanisms whose reports are blocks of categories."""
        blocks = {
            "SubsetSelection": ldp.SubsetSelection(JOBS, epsilon=0.5, size=2),
            "HadamardResponse": ldp.HadamardResponse(JOBS, epsilon=0.5),
            "ProjectiveGeometryResponse": ldp.ProjectiveGeometryResponse(7, epsilon=0.5),
        }
        self.mechanisms |= blocks
        for name, m in blocks.items():
            self.values[name] = g.choice(np.array(m.categories), 60)
            self.reports[name] = m.privatize(self.values[name], g)
            self.counts[name] = self.reports[name].tally()
        self.bits["SubsetSelection"] = self.reports["SubsetSelection"].tally(bits=True)

    def _files(self) -> None:
        self.answers = str(self.folder / "answers.csv")
        Path(self.answers).write_text("id,job\n1,nurse\n2,driver\n3,teacher\n")
        self.words = str(self.folder / "words.csv")
        Path(self.words).write_text("word\nabca\ncc\n")
        self.report_file = str(self.folder / "reports.csv")
        io.write_reports(self.reports["KRR"], self.report_file)
        self.pair_file = str(self.folder / "pair.csv")
        Path(self.pair_file).write_text("id,job,late,n\n1,nurse,yes,2\n2,driver,no,3\n")
        self.string_file = str(self.folder / "strings.csv")
        io.write_dictionary_reports(self.strings, self.string_file)
        self.spec = str(self.folder / "spec.json")
        io.write_mechanism(self.krr, self.spec)
        self.survey_file = str(self.folder / "survey.json")
        io.write_survey(self.survey, self.survey_file)
        self.candidates = str(self.folder / "candidates.txt")
        Path(self.candidates).write_text("nurse\nteacher\n")
        self.map_file = str(self.folder / "map.csv")
        io.write_rappor_map(JOBS, self.google, self.map_file)
        self.params_file = str(self.folder / "params.csv")
        io.write_rappor_params(self.google, self.params_file)
        self.google_counts = str(self.folder / "counts.csv")
        io.write_rappor_counts(self.bits["RAPPOR google"], self.google_counts)
        self.google_reports = str(self.folder / "google_reports.csv")
        io.write_rappor_reports(self.reports["RAPPOR google"], self.google_reports)


def taken(call: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the callable has."""
    known = inspect.signature(call).parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return arguments
    return {name: value for name, value in arguments.items() if name in known}
