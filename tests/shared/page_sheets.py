"""Questionnaires and texts of pages."""

import json
from pathlib import Path
from typing import Any

import ldpstats as ldp

GERMAN = Path(__file__).parents[1] / "page" / "german.json"
REGIONS = ("centre", "park", "hospital", "north")
AWKWARD = (
    "</script><script>alert(1)</script>",
    "<!--",
    "a\u2028b",
    "__proto__",
    "constructor",
    "toString",
    '"&quot;\\',
    "\u0000",
    "\U0001f600",
    "\ud800",
)


def six(ask: int | None = None) -> ldp.Questionnaire:
    """Six questions of different kinds."""
    return ldp.Questionnaire(
        {
            "job": ldp.KRR(("nurse", "teacher", "driver", "cook"), 1.0),
            "late": ldp.KRAPPOR(("never", "sometimes", "often"), 1.0),
            "place": ldp.PUM(ldp.URR(REGIONS, {"hospital"}, epsilon=1.0), tags=("home", "work")),
            "site": ldp.ORR(16, 8, epsilon=1.0),
            "sex": ldp.Observed(("female", "male", "other")),
            "party": ldp.HadamardResponse(7, 1.0),
        },
        ask=ask,
    )


def embedded(text: str) -> Any:
    """The data of a page."""
    return json.loads(text.split('id="data">')[1].split("</script>")[0])
