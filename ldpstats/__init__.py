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
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ldpstats import errors, mechanisms
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
    NotConverged,
    NotIdentified,
    PosteriorWarning,
    UnknownCategory,
)

if TYPE_CHECKING:
    from ldpstats import cells as cells
    from ldpstats import channels as channels
    from ldpstats import privacy as privacy
    from ldpstats.inference.tables.ratio import Effect
    from ldpstats.inference.tests import TestResult
    from ldpstats.mechanisms import *  # noqa: F403  a new one is exported there alone
    from ldpstats.models.association.model import AssociationModel
    from ldpstats.models.association.results import AssociationResults
    from ldpstats.models.cells import CellModel, CellResults
    from ldpstats.models.change import ChangeResults, change
    from ldpstats.models.dictionary.model import DictionaryModel
    from ldpstats.models.dictionary.results import DictionaryResults
    from ldpstats.models.dictionary.survey import (
        DictionaryClient,
        DictionaryReports,
        DictionarySurvey,
    )
    from ldpstats.models.frequency.model import FrequencyModel
    from ldpstats.models.frequency.results import FrequencyResults
    from ldpstats.models.frequency.samples import TwoSampleResult, homogeneity_test, two_sample_test
    from ldpstats.models.grouped import GroupedModel, GroupedResults
    from ldpstats.models.matrix import AssociationMatrix, associations
    from ldpstats.models.parameters import ParametersResults
    from ldpstats.models.personalized import PersonalizedModel, PersonalizedResults
    from ldpstats.models.posterior.evidence import BayesFactor
    from ldpstats.models.posterior.results import PosteriorResults
    from ldpstats.models.regression.front import regression
    from ldpstats.models.regression.intercepts import MixedRegressionResults, PrivatizedMixedLogit
    from ldpstats.models.regression.least_squares import PrivatizedOLS, PrivatizedOLSResults
    from ldpstats.models.regression.model import (
        PrivatizedLogit,
        PrivatizedMNLogit,
        PrivatizedOrderedModel,
    )
    from ldpstats.models.regression.plots import plot_coefficients
    from ldpstats.models.regression.results import RegressionResults
    from ldpstats.models.small_areas import SmallAreas
    from ldpstats.models.trend import TrendResults
    from ldpstats.models.weighted.calibration import CalibrationReport
    from ldpstats.models.weighted.results import WeightedResults
    from ldpstats.models.weighted.tables import WeightedTable
    from ldpstats.reports.joint import JointCounts
    from ldpstats.reports.single import BitCounts, Counts, Reports
    from ldpstats.survey.analyses import count
    from ldpstats.survey.design import ReplicateWeights
    from ldpstats.survey.questionnaire import Questionnaire
    from ldpstats.survey.survey import Survey

__version__ = "0.2.0"

_FOLDERS = (
    "cells",
    "channels",
    "datasets",
    "devices",
    "inference",
    "io",
    "page",
    "planning",
    "priors",
    "privacy",
    "pymc",
)  # imported when they are first named
_HOMES = {  # and the modules of these
    "inference.tables.ratio": "Effect",
    "inference.tests": "TestResult",
    "models.association.model": "AssociationModel",
    "models.association.results": "AssociationResults",
    "models.cells": "CellModel CellResults",
    "models.change": "ChangeResults change",
    "models.dictionary.model": "DictionaryModel",
    "models.dictionary.results": "DictionaryResults",
    "models.dictionary.survey": "DictionaryClient DictionaryReports DictionarySurvey",
    "models.frequency.model": "FrequencyModel",
    "models.frequency.results": "FrequencyResults",
    "models.frequency.samples": "TwoSampleResult homogeneity_test two_sample_test",
    "models.grouped": "GroupedModel GroupedResults",
    "models.matrix": "AssociationMatrix associations",
    "models.parameters": "ParametersResults",
    "models.personalized": "PersonalizedModel PersonalizedResults",
    "models.posterior.evidence": "BayesFactor",
    "models.posterior.results": "PosteriorResults",
    "models.regression.front": "regression",
    "models.regression.intercepts": "MixedRegressionResults PrivatizedMixedLogit",
    "models.regression.least_squares": "PrivatizedOLS PrivatizedOLSResults",
    "models.regression.model": "PrivatizedLogit PrivatizedMNLogit PrivatizedOrderedModel",
    "models.regression.plots": "plot_coefficients",
    "models.regression.results": "RegressionResults",
    "models.small_areas": "SmallAreas",
    "models.trend": "TrendResults",
    "models.weighted.calibration": "CalibrationReport",
    "models.weighted.results": "WeightedResults",
    "models.weighted.tables": "WeightedTable",
    "reports.joint": "JointCounts",
    "reports.single": "BitCounts Counts Reports",
    "survey.analyses": "count",
    "survey.design": "ReplicateWeights",
    "survey.questionnaire": "Questionnaire",
    "survey.survey": "Survey",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    *mechanisms.__all__,
    *_FOLDERS,
    "AssociationMatrix",
    "AssociationModel",
    "AssociationResults",
    "BayesFactor",
    "BitCounts",
    "BoundaryWarning",
    "BudgetSpent",
    "CalibrationReport",
    "CellModel",
    "CellResults",
    "ChangeResults",
    "ConvergenceWarning",
    "Counts",
    "DictionaryClient",
    "DictionaryModel",
    "DictionaryReports",
    "DictionaryResults",
    "DictionarySurvey",
    "Effect",
    "FrequencyModel",
    "FrequencyResults",
    "GroupedModel",
    "GroupedResults",
    "IncompleteListWarning",
    "InvalidArgument",
    "JointCounts",
    "LDPError",
    "LDPWarning",
    "MechanismMismatch",
    "MisfitWarning",
    "MixedRegressionResults",
    "NotAvailable",
    "NotConverged",
    "NotIdentified",
    "ParametersResults",
    "PersonalizedModel",
    "PersonalizedResults",
    "PosteriorResults",
    "PosteriorWarning",
    "PrivatizedLogit",
    "PrivatizedMNLogit",
    "PrivatizedMixedLogit",
    "PrivatizedOLS",
    "PrivatizedOLSResults",
    "PrivatizedOrderedModel",
    "Questionnaire",
    "RegressionResults",
    "ReplicateWeights",
    "Reports",
    "SmallAreas",
    "Survey",
    "TestResult",
    "TrendResults",
    "TwoSampleResult",
    "UnknownCategory",
    "WeightedResults",
    "WeightedTable",
    "associations",
    "change",
    "count",
    "errors",
    "homogeneity_test",
    "plot_coefficients",
    "regression",
    "two_sample_test",
]


def __getattr__(name: str) -> Any:
    if name in mechanisms.__all__:
        value = getattr(mechanisms, name)
    elif name in _MODULES:
        value = getattr(import_module(f"ldpstats.{_MODULES[name]}"), name)
    elif name.isidentifier() and name[0] != "_" and find_spec(f"ldpstats.{name}"):
        return import_module(f"ldpstats.{name}")
    else:
        known = import_module("ldpstats.hints").HINTS["ldpstats"]
        hint = next((f": {known[n]}" for n in (name, name.upper()) if n in known), "")
        if name in import_module("ldpstats.channels").__all__:
            hint = f": channels are in ldpstats.channels: ldpstats.channels.{name}"
        raise AttributeError(f"module 'ldpstats' has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
