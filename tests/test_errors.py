"""Errors: short messages, and errors that travel between processes."""

from __future__ import annotations

import pickle

import pytest

import ldpstats as ldp


def test_messages_are_short_and_errors_travel() -> None:
    for error in (
        ldp.InvalidArgument("a" * 9_000, "b", "c" * 9_000),
        ldp.NotAvailable("x" * 9_000),
        ldp.BudgetSpent("x" * 9_000),
    ):
        assert len(str(error)) <= 2_000
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
    with pytest.raises(ldp.InvalidArgument) as found:
        ldp.KRR(3, epsilon=-1.0)
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.name, again.remedy) == (found.value.name, found.value.remedy)
    assert issubclass(ldp.BudgetSpent, ldp.LDPError) and issubclass(ldp.BudgetSpent, ValueError)
