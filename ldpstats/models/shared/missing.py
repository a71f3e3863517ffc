"""What summaries say of respondents who were left out."""

from __future__ import annotations

from collections.abc import Sequence

from ldpstats.models.shared.tables import one_line

__all__ = ["missing_notes"]


def missing_notes(
    nobs: int, n_missing: int, names: Sequence[str], lacking: Sequence[int]
) -> list[str]:
    """How many respondents were left out, and which reports they lacked, where that is known."""
    if not n_missing:
        return []
    pairs = zip(lacking, names, strict=False)  # not known of all fits
    lacked = ", ".join(f"{size} lacked {one_line(name, 40)}" for size, name in pairs if size)
    return [
        f"NOTE: {n_missing} of {nobs + n_missing} respondents were left out, because a report was "
        f"missing{': ' + lacked if lacked else ''}."
    ]
