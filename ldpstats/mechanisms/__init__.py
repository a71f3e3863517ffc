"""Mechanisms: what a respondent's device does with a true category."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpstats.clients import Client, Collector
    from ldpstats.mechanisms.base import Mechanism
    from ldpstats.mechanisms.blocks import (
        HadamardResponse,
        ProjectiveGeometryResponse,
        SubsetSelection,
    )
    from ldpstats.mechanisms.custom import (
        CustomMechanism,
        Enumerated,
        Panel,
        Product,
        mixture,
        product,
    )
    from ldpstats.mechanisms.designs import ByColumn, by_column
    from ldpstats.mechanisms.device import DeviceMechanism, UnknownDevice, repeated
    from ldpstats.mechanisms.hashed import OLH, ORAPPOR, ORR, CandidateMap
    from ldpstats.mechanisms.krr import (
        KRR,
        ForcedResponse,
        Mangat,
        Observed,
        UnrelatedQuestion,
        Warner,
    )
    from ldpstats.mechanisms.lumped import LumpedUnary as LumpedUnary
    from ldpstats.mechanisms.lumped import lump
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
    "ByColumn",
    "CandidateMap",
    "Client",
    "Collector",
    "CustomMechanism",
    "DeviceMechanism",
    "Enumerated",
    "ForcedResponse",
    "GeometricResponse",
    "HadamardResponse",
    "KeptClient",
    "Mangat",
    "Mechanism",
    "Observed",
    "PUMClient",
    "Panel",
    "Product",
    "ProjectiveGeometryResponse",
    "RAPPORClient",
    "SquareWave",
    "SubsetSelection",
    "UnknownDevice",
    "UnrelatedQuestion",
    "Warner",
    "by_column",
    "lump",
    "mechanism_from_dict",
    "mixture",
    "paired",
    "product",
    "repeated",
    "withhold",
]

_HOMES = {  # and the modules of these, which are imported when one is first named
    "base": "Mechanism",
    "blocks": "HadamardResponse ProjectiveGeometryResponse SubsetSelection",
    "custom": "CustomMechanism Enumerated KeptClient Panel Product mixture product",
    "designs": "ByColumn by_column",
    "device": "DeviceMechanism UnknownDevice repeated",
    "hashed": "OLH ORAPPOR ORR CandidateMap",
    "krr": "KRR ForcedResponse Mangat Observed UnrelatedQuestion Warner",
    "lumped": "LumpedUnary lump",
    "ordered": "GeometricResponse SquareWave",
    "pum": "PUM PUMClient",
    "rappor": "RAPPOR BooleanRAPPOR RAPPORClient",
    "sensitive": "URAP URR paired withhold",
    "unary": "KRAPPOR",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in ("Client", "Collector"):
        home = "ldpstats.clients"
    elif name in _MODULES:
        home = f"ldpstats.mechanisms.{_MODULES[name]}"
    else:
        raise AttributeError(f"module 'ldpstats.mechanisms' has no attribute {name!r}")
    globals()[name] = getattr(import_module(home), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)


def mechanism_from_dict(document: dict[str, Any]) -> Mechanism:
    """Read the specification of any mechanism, as `Mechanism.to_dict` wrote it.

    Examples
    --------
    >>> from ldpstats.mechanisms import KRR, mechanism_from_dict
    >>> spec = KRR(("a", "b"), epsilon=1.0).to_dict()
    >>> mechanism_from_dict(spec) == KRR(("a", "b"), epsilon=1.0)
    True
    """
    from ldpstats.mechanisms.base import Mechanism

    return Mechanism.from_dict(document)
