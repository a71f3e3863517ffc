"""The groups of the golden record: what makes the entries of each, and where they are kept."""

import json
import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from golden import calls, commands, more
from golden.plain import EXACT, differences, longer, shorter

# a record of this processor, which `write.py` wrote before a change, compares to the last digit
RECORD = Path(os.environ.get("LDPSTATS_GOLDEN_RECORD") or Path(__file__).parent / "record")
# entries that differ from one processor to another: Markov chains, the order of candidates whose
# evidence is the same, and a statistic of nine digits; without EXACT only their structure counts
UNSTEADY = re.compile(
    r"^(posteriors: |arguments: posterior|commands_others: discover|calls: ("
    r".*[pP]osterior|DictionaryModel\.fit|DictionaryResults\.from|dictionary$|"
    r"RegressionResults\.score_test Logit))"
)
Entries = Iterable[tuple[str, Any]]

FAST: dict[str, Callable[[], Entries]] = {
    "exported": calls.exported,
    "documents": calls.documents,
    "samples": more.samples,
    "mechanisms": partial(calls.of_family, "mechanisms"),
    "plans": partial(calls.of_family, "plans"),
    "collecting": partial(calls.of_family, "collecting"),
    "frequencies": partial(calls.of_family, "frequencies"),
    "tables": partial(calls.of_family, "tables"),
    "programs": partial(calls.programs, 1, 2, 3, 5, 7, 8, 9),
    "commands": partial(
        commands.commands,
        ("questionnaire", "page", "collect", "invite", "survey", "client", "conformance", "audit",
         "device", "guess", "privatize"),
    ),
}  # fmt: skip
SLOW: dict[str, Callable[[], Entries]] = {
    "regressions": partial(calls.of_family, "regressions"),
    "posteriors": partial(calls.of_family, "posteriors"),
    "fits": more.fits,
    "tables_of_engines": more.tables,
    "arguments": more.arguments,
    "plots": calls.plots,
    "programs_slow": partial(calls.programs, 4, 6),
    "commands_fit": partial(commands.commands, ("fit",)),
    "commands_others": partial(commands.commands, ("associate", "discover", "plan")),
    "commands_damaged": commands.damaged,
    "calls": calls.ordinary,
    "errors": calls.wrong,
}
GROUPS = FAST | SLOW


def made(group: str) -> dict[str, Any]:
    """The entries of a group as the package gives them now."""
    found: dict[str, Any] = {}
    for name, entry in GROUPS[group]():
        if name in found:
            raise ValueError(f"{group}: two entries are called {name!r}")
        found[name] = json.loads(json.dumps(entry))
    return found


def write(group: str) -> int:
    """Write the record of a group; return how many entries it has."""
    entries = made(group)
    kept = shorter(entries, {})
    lines = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
    rows = (f"{json.dumps(name)}: {lines(kept[name])}" for name in sorted(kept))
    RECORD.mkdir(exist_ok=True)
    (RECORD / f"{group}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
    return len(entries)


def skeleton(record: Any) -> Any:
    """A record without its numbers and words."""
    if isinstance(record, dict):
        return {key: skeleton(part) for key, part in record.items()}
    if isinstance(record, list):
        return [skeleton(part) for part in record]
    return record if isinstance(record, bool) or record is None else type(record)()


def changes(group: str) -> list[str]:
    """What differs from the record, each in a line that begins with the entry's name."""
    was, now = longer(json.loads((RECORD / f"{group}.json").read_text())), made(group)
    if not EXACT:
        for record in (was, now):
            for name in record:
                if UNSTEADY.match(f"{group}: {name}"):
                    record[name] = skeleton(record[name])
    return [
        line
        for name in sorted(was.keys() | now.keys())
        for line in (
            differences(was[name], now[name], name)
            if name in was and name in now
            else [f"{name}: is {'gone' if name in was else 'new'}"]
        )
    ]
