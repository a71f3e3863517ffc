"""Mechanisms: what a respondent's device does with a true category."""

from __future__ import annotations

from typing import Any, cast

from ldpstats.clients import Client, Collector
from ldpstats.mechanisms.base import Mechanism, check_document
from ldpstats.mechanisms.binary import ForcedResponse, Mangat, UnrelatedQuestion, Warner
from ldpstats.mechanisms.blocks.hadamard import HadamardResponse
from ldpstats.mechanisms.blocks.projective import ProjectiveGeometryResponse
from ldpstats.mechanisms.blocks.subset import SubsetSelection
from ldpstats.mechanisms.device import DeviceMechanism
from ldpstats.mechanisms.enumerated import CustomMechanism, Enumerated
from ldpstats.mechanisms.hashed.candidates import CandidateMap
from ldpstats.mechanisms.hashed.olh import OLH
from ldpstats.mechanisms.hashed.orappor import ORAPPOR
from ldpstats.mechanisms.hashed.orr import ORR
from ldpstats.mechanisms.hashed.rappor import RAPPOR, BooleanRAPPOR
from ldpstats.mechanisms.hashed.rappor_client import RAPPORClient
from ldpstats.mechanisms.krr import KRR
from ldpstats.mechanisms.lumped import LumpedUnary, lump
from ldpstats.mechanisms.mixtures import mixture
from ldpstats.mechanisms.observed import Observed
from ldpstats.mechanisms.ordered.geometric import GeometricResponse
from ldpstats.mechanisms.ordered.square_wave import SquareWave
from ldpstats.mechanisms.products import Product, product
from ldpstats.mechanisms.reading import MECHANISMS, read_mechanism
from ldpstats.mechanisms.repetitions import repeated
from ldpstats.mechanisms.sensitive.combined import paired, withhold
from ldpstats.mechanisms.sensitive.pum import PUM
from ldpstats.mechanisms.sensitive.pum_client import PUMClient
from ldpstats.mechanisms.sensitive.urap import URAP
from ldpstats.mechanisms.sensitive.urr import URR
from ldpstats.mechanisms.unary import KRAPPOR
from ldpstats.mechanisms.unknown_device import UnknownDevice

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
