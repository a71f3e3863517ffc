"""What tests of independence of a weighted table rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldpstats.inference.designs.rao_scott import RaoScott
from ldpstats.models.shared.storage import maybe_from_dict, maybe_to_dict

__all__ = ["Dependence"]


@dataclass(frozen=True)
class Dependence:
    """Pearson's statistic of independence, with two estimates of the design effects.

    Parameters
    ----------
    null : RaoScott or None
        With those under independence.
    observed : RaoScott or None
        With those at the table of reports.
    why : str
        Why one of them is not there.
    """

    null: RaoScott | None
    observed: RaoScott | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        parts = {name: maybe_to_dict(getattr(self, name)) for name in ("null", "observed")}
        return parts | {"why": self.why}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Dependence:
        """Inverse of `to_dict`."""
        parts = [maybe_from_dict(RaoScott, document[name]) for name in ("null", "observed")]
        return cls(parts[0], parts[1], str(document["why"]))
