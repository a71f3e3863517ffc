"""What reports and counts need to know of the mechanism that made them."""

from __future__ import annotations

from typing import Any, Protocol

from ldpstats.errors import InvalidArgument, MechanismMismatch

__all__ = ["Source", "check_mechanism", "check_same"]


class Source(Protocol):
    """What counts need to know of the mechanism that made them."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def n_bits(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_cohorts(self) -> int: ...
    @property
    def cohort_parts(self) -> tuple[Any, ...]: ...  # of a device of cohorts
    @property
    def is_separable(self) -> bool: ...
    @property
    def format(self) -> Any: ...  # a ReportFormat: a BitFormat where reports are bits
    def parse(self, name: str, labels: object, cohort: object = None) -> Any: ...
    def no_counts(self) -> Any: ...
    def __str__(self) -> str: ...


def check_mechanism(name: str, mechanism: object) -> None:
    """Refuse anything but a mechanism, such as its class."""
    known = getattr(mechanism, "n_cohorts", None), getattr(mechanism, "n_outputs", None)
    if isinstance(mechanism, type) or not all(isinstance(size, int) for size in known):
        raise InvalidArgument(name, mechanism, "must be the mechanism of the reports")


def check_same(left: Source, right: Source, together: str) -> None:
    """Refuse to add counts of two mechanisms; `together` fits them."""
    if left.fingerprint != right.fingerprint:
        raise MechanismMismatch(
            f"counts of {left} (fingerprint {left.fingerprint}) cannot be added to counts of "
            f"{right} (fingerprint {right.fingerprint}): fit them together as "
            f"{together}([first, second]) instead"
        )
