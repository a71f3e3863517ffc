"""Privatised answers in models of PyMC: one function that adds their likelihood to a model."""

from __future__ import annotations

from typing import Any

from ldpstats.models.posterior.pymc.observing import observed

__all__ = ["observe"]


def observe(name: str, p: Any, reports: Any, candidates: Any = None) -> Any:
    """x"""
    return observed(name, p, reports, candidates)
