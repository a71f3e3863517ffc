"""PUMs of both kinds over regions, one of which is a respondent's secret."""

from __future__ import annotations

import io as text_io
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

import ldpstats as ldp

Array = npt.NDArray[Any]

MECHANISMS: dict[str, Callable[[Any, Any], Any]] = {
    "urr": lambda categories, sensitive: ldp.URR(categories, sensitive, epsilon=1.0),
    "urap": lambda categories, sensitive: ldp.URAP(categories, sensitive, epsilon=1.0),
}


def report_law(pum: ldp.PUM, row: Array, reports: list[Any]) -> float:
    """p-value of Pearson's test that text reports have the law of a row of Q."""
    found = pum.common.parse("reports", reports)
    if isinstance(pum.common, ldp.URR):
        code = found.y
    else:  # the patterns of protected reports, then the categories that were revealed
        S = len(pum.common.sensitive)
        sensitive = np.isin(np.asarray(pum.common.categories, object), pum.common.sensitive)
        bits = pum.common.format.unpack(found.y)
        told = bits[:, ~sensitive]
        code = np.where(
            told.any(axis=1), 2**S + told.argmax(axis=1), bits[:, sensitive] @ (1 << np.arange(S))
        )
    n = np.bincount(code, minlength=row.size)
    assert not n[row == 0.0].any()
    expected = len(reports) * row[row > 0.0]
    statistic = np.sum((n[row > 0.0] - expected) ** 2 / expected)
    return float(stats.chi2.sf(statistic, expected.size - 1))


REGIONS = ("centre", "park", "clinic", "secret-home-7421", "secret-home-9950", "market")
SECRET, OTHER = "secret-home-7421", "secret-home-9950"
PACKAGE = Path(ldp.__file__).parent


def personal(kind: str) -> ldp.PUM:
    return ldp.PUM(MECHANISMS[kind](REGIONS, {"clinic"}), ("home", "work"))


def failure(call: Callable[[], Any]) -> str:
    """Everything that a call which fails leaves behind, up to the variables of its frames."""
    log = text_io.StringIO()
    handler = logging.StreamHandler(log)
    logger = logging.getLogger("test_pum")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        call()
    except Exception as error:
        logger.exception("a call failed")
        written = [log.getvalue(), traceback.format_exc(), repr(error), repr(error.args)]
        written.append(repr(getattr(error, "__dict__", None)))
        chain: list[BaseException | None] = [error]
        while chain:
            link = chain.pop()
            if link is None:
                continue
            chain += [link.__cause__, link.__context__]
            written.append(f"{type(link)} {link}")
            for frame, _ in traceback.walk_tb(link.__traceback__):
                if PACKAGE in Path(frame.f_code.co_filename).parents:
                    written.append(f"{frame.f_code.co_name}: {frame.f_locals!r}")
        return "\n".join(written)
    else:
        return "it did not fail"
    finally:
        logger.removeHandler(handler)
