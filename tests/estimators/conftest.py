"""Fixtures of the tests of estimators."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]


@pytest.fixture(params=range(4))
def counts(request):
    return np.random.default_rng(request.param).multinomial(400, 0.7 ** np.arange(6) / 2.94117)
