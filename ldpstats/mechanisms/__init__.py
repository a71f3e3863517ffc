"""Mechanisms: what a respondent's device does with a true category."""

from __future__ import annotations

from typing import Any, cast

from ldpstats.clients import Client, Collector
from ldpstats.mechanisms.base import MECHANISMS, Mechanism, check_document, read_mechanism
from ldpstats.mechanisms.blocks import HadamardResponse, ProjectiveGeometryResponse, SubsetSelection
from ldpstats.mechanisms.custom import CustomMechanism, Enumerated, Product, mixture, product
from ldpstats.mechanisms.device import DeviceMechanism, UnknownDevice, repeated
from ldpstats.mechanisms.hashed import OLH, ORAPPOR, ORR, CandidateMap
from ldpstats.mechanisms.krr import KRR, ForcedResponse, Mangat, Observed, UnrelatedQuestion, Warner
from ldpstats.mechanisms.lumped import LumpedUnary, lump
from ldpstats.mechanisms.ordered import GeometricResponse, SquareWave
from ldpstats.mechanisms.pum import PUM, PUMClient
from ldpstats.mechanisms.rappor import RAPPOR, BooleanRAPPOR, RAPPORClient
from ldpstats.mechanisms.sensitive import URAP, URR, paired, withhold
from ldpstats.mechanisms.unary import KRAPPOR

__all__ = [
    "KRAPPOR",
    "KRR",
    "OLH",
    "ORAPPOR",
    "ORR",
    "PUM",
    "RAPPOR",
    "URAP",
    "URR",
    "BooleanRAPPOR",
    "CandidateMap",
    "Client",
    "Collector",
    "CustomMechanism",
    "DeviceMechanism",
    "Enumerated",
    "ForcedResponse",
    "GeometricResponse",
    "HadamardResponse",
    "Mangat",
    "Mechanism",
    "Observed",
    "PUMClient",
    "Product",
    "ProjectiveGeometryResponse",
    "RAPPORClient",
    "SquareWave",
    "SubsetSelection",
    "UnknownDevice",
    "UnrelatedQuestion",
    "Warner",
    "lump",
    "mechanism_from_dict",
    "mixture",
    "paired",
    "product",
    "repeated",
    "withhold",
]

_KINDS = (
    *(
        BooleanRAPPOR,
        CustomMechanism,
        DeviceMechanism,
        ForcedResponse,
        KRAPPOR,
        KRR,
        LumpedUnary,
        Mangat,
        ORAPPOR,
        ORR,
        RAPPOR,
    ),
    *(HadamardResponse, ProjectiveGeometryResponse, SubsetSelection),
    *(GeometricResponse, Observed, Product, SquareWave, URAP, URR),
    *(UnknownDevice, UnrelatedQuestion, Warner),
)
MECHANISMS |= {kind.__name__: kind for kind in _KINDS}
"""What `mechanism_from_dict` reads, and the command line offers where its options suffice."""


def mechanism_from_dict(document: dict[str, Any]) -> Mechanism:
    """Read the specification of any mechanism, as `Mechanism.to_dict` wrote it.

    Examples
    --------
    >>> spec = KRR(("a", "b"), epsilon=1.0).to_dict()
    >>> mechanism_from_dict(spec) == KRR(("a", "b"), epsilon=1.0)
    True
    """
    return cast(Mechanism, read_mechanism(check_document(document)["mechanism"], document))
