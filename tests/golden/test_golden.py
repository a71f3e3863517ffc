"""What the package returns, prints, writes and refuses is what is recorded.

Texts are equal letter by letter, apart from the last digits of numbers of nine digits or more.
Numbers are equal to 1e-9 of themselves, or of the largest of their array, so that another processor
passes; with LDPSTATS_GOLDEN_EXACT set, to 1e-12. The record holds for the versions of numpy,
pandas, scipy, statsmodels and Python that wrote it. `write.py` writes it anew; with
LDPSTATS_GOLDEN_RECORD set to another folder, there.
"""

import pytest
from golden.groups import FAST, SLOW, changes

SHOWN = 40  # differing entries


@pytest.mark.parametrize("group", FAST)
def test_nothing_changed(group):
    unchanged(group)


@pytest.mark.slow
@pytest.mark.parametrize("group", SLOW)
def test_nothing_else_changed(group):
    unchanged(group)


def unchanged(group: str) -> None:
    lines = changes(group)
    if lines:
        more = f"\n... and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        pytest.fail(f"{group}: {len(lines)} differ\n" + "\n".join(lines[:SHOWN]) + more, False)
