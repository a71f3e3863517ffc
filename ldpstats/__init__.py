"""Collect and analyse categorical answers under local differential privacy.

A respondent's device privatises a true category through a known random mechanism; the analyst sees
only the noisy reports and gets what any survey gives: estimates, standard errors, confidence
intervals, tests, tables and plots.

>>> import numpy as np, ldpstats as ldp
>>> krr = ldp.KRR(("nurse", "teacher", "driver"), epsilon=1.0)
>>> reports = krr.privatize(["nurse"] * 600 + ["driver"] * 400, np.random.default_rng(1))
>>> results = ldp.FrequencyModel(reports).fit()
>>> list(results.detected(alpha=0.05))
['nurse', 'driver']
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ldpstats import errors, privacy
from ldpstats.channels.base import Channel
from ldpstats.channels.combined import Kronecker, Mapped, Stacked
from ldpstats.channels.structured import Bits, Dense, Uniformised
from ldpstats.errors import (
    BoundaryWarning,
    BudgetSpent,
    ConvergenceWarning,
    IncompleteListWarning,
    InvalidArgument,
    LDPError,
    LDPWarning,
    MechanismMismatch,
    MisfitWarning,
    NotAvailable,
    NotIdentified,
    UnknownCategory,
)
from ldpstats.inference.tables.effects import Effect
from ldpstats.inference.tests import TestResult
from ldpstats.mechanisms import (
    KRAPPOR,
    KRR,
    ORAPPOR,
    ORR,
    PUM,
    RAPPOR,
    URAP,
    URR,
    CandidateMap,
    Client,
    Collector,
    CustomMechanism,
    ForcedResponse,
    Mangat,
    Mechanism,
    PUMClient,
    RAPPORClient,
    UnrelatedQuestion,
    Warner,
    lump,
    mechanism_from_dict,
    paired,
    withhold,
)
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.dictionary.model import DictionaryModel
from ldpstats.models.dictionary.reports import DictionaryReports
from ldpstats.models.dictionary.results import DictionaryResults
from ldpstats.models.dictionary.survey import DictionaryClient, DictionarySurvey
from ldpstats.models.frequency.model import FrequencyModel, two_sample_test
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.personalized.model import PersonalizedModel
from ldpstats.models.personalized.results import PersonalizedResults
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import BitCounts, Counts, Reports

__version__ = "0.1.0"

__all__ = [
    "KRAPPOR",
    "KRR",
    "ORAPPOR",
    "ORR",
    "PUM",
    "RAPPOR",
    "URAP",
    "URR",
    "AssociationModel",
    "AssociationResults",
    "BitCounts",
    "Bits",
    "BoundaryWarning",
    "BudgetSpent",
    "CandidateMap",
    "Channel",
    "Client",
    "Collector",
    "ConvergenceWarning",
    "Counts",
    "CustomMechanism",
    "Dense",
    "DictionaryClient",
    "DictionaryModel",
    "DictionaryReports",
    "DictionaryResults",
    "DictionarySurvey",
    "Effect",
    "ForcedResponse",
    "FrequencyModel",
    "FrequencyResults",
    "IncompleteListWarning",
    "InvalidArgument",
    "JointCounts",
    "Kronecker",
    "LDPError",
    "LDPWarning",
    "Mangat",
    "Mapped",
    "Mechanism",
    "MechanismMismatch",
    "MisfitWarning",
    "NotAvailable",
    "NotIdentified",
    "PUMClient",
    "PersonalizedModel",
    "PersonalizedResults",
    "RAPPORClient",
    "Reports",
    "Stacked",
    "TestResult",
    "Uniformised",
    "UnknownCategory",
    "UnrelatedQuestion",
    "Warner",
    "errors",
    "lump",
    "mechanism_from_dict",
    "paired",
    "privacy",
    "two_sample_test",
    "withhold",
]

_ON_DEMAND = ("datasets", "io", "planning")  # imported when they are first named


def __getattr__(name: str) -> ModuleType:
    if name in _ON_DEMAND:
        return import_module(f"ldpstats.{name}")
    raise AttributeError(f"module 'ldpstats' has no attribute {name!r}")
