"""Spots that a profiler found slow: this version against a checkout of an older one.

    python benchmarks/slow_spots.py --before PATH [spot ...]

Each spot runs in interpreters of its own, of the two versions by turns, in one thread. Seconds are
of CPU, for what `spots.py` times, without what it needs beforehand; memory is the largest of the
whole process. The last column is the largest difference of the results, relative to their scale.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from processes import HERE, Job, Ran, best
from spots import CODE, SPOTS

AT_LEAST = {"1": 20.0, "3": 20.0, "5": 20.0}  # by the number of a spot; all others 3


def main() -> None:
    """Run the chosen spots and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("spot", nargs="*", help=f"{', '.join(SPOTS)}; default: all")
    parser.add_argument("--before", type=Path, required=True, help="a checkout of an older version")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each (default: 2)")
    given = parser.parse_args()
    for spot in given.spot:
        if spot not in SPOTS:
            parser.error(f"no spot {spot!r}: choose from {', '.join(SPOTS)}")
    form = "{:<26} {:>10} {:>10} {:>9} {:>5} {:>9} {:>9} {:>11}"
    head = ("spot", "before", "after", "ratio", "aim", "memory", "after", "difference")
    print(form.format(*head), flush=True)
    for spot in given.spot or SPOTS:
        aim = AT_LEAST.get(spot.partition("_")[0], 3.0)
        print(form.format(spot, *compared(spot, given.before, given.repeats, aim)), flush=True)


def compared(spot: str, before: Path, repeats: int, aim: float) -> tuple[str, ...]:
    """The fields of a line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        saved = {name: Path(folder, f"{name}.npz") for name in ("before", "after")}
        roots = {"before": before.resolve(), "after": HERE}
        jobs = {
            name: Job(CODE, (spot, str(saved[name])), 1, root, cold=SPOTS[spot].cold)
            for name, root in roots.items()
        }
        ran = best(jobs, repeats, seconds)
        old, new = seconds(ran["before"]), seconds(ran["after"])
        if ran["after"].failed:
            return "", "", "", "", "", "", ran["after"].failed
        if ran["before"].failed:
            refused = ran["before"].failed.rpartition("errors.")[2]
            return "refused", f"{new:.3f} s", "", "", "", ran["after"].gigabytes, refused
        memory = [f"{ran[name].memory / 1e6:,.0f} MB" for name in roots]
        apart = difference(*(dict(np.load(path)) for path in saved.values()))
    verdict = "" if old / new >= aim else " NO"
    ratio = f"{old / new:.1f} x{verdict}"
    return f"{old:.3f} s", f"{new:.3f} s", ratio, f"{aim:g}", *memory, f"{apart:.1e}"


def seconds(ran: Ran) -> float:
    """What a spot timed."""
    return ran.said.get("seconds", ran.seconds)


def difference(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> float:
    """The largest difference of equal fields, over the largest absolute value of the field."""
    if before.keys() != after.keys():
        return float("inf")
    worst = 0.0
    for name, old in before.items():
        if not np.array_equal(np.isfinite(old), np.isfinite(after[name])):
            return float("inf")
        there = np.isfinite(old)
        if there.any():
            scale = max(1e-300, float(np.abs(old[there]).max()))
            worst = max(worst, float(np.abs(old[there] - after[name][there]).max()) / scale)
    return worst


if __name__ == "__main__":
    main()
