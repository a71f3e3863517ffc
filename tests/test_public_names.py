"""What `import ldpstats` offers."""

from __future__ import annotations

import pkgutil

import pytest

import ldpstats as ldp


def test_modules_are_there_when_they_are_named() -> None:
    assert ldp.planning.best_theta(10, 3, 1.0).theta == pytest.approx(0.556, abs=1e-3)
    assert ldp.datasets and ldp.io and ldp.inference
    with pytest.raises(AttributeError, match="no attribute 'regressions'"):
        ldp.regressions  # noqa: B018
    assert not hasattr(ldp, "no.module")


@pytest.mark.parametrize("folder", ["planning", "privacy"])
def test_no_module_bears_the_name_of_a_function(folder: str) -> None:
    """Importing such a module would put it in the function's place."""
    package = getattr(ldp, folder)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules and not modules & set(package.__all__)
