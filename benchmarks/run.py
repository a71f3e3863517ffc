"""Measure ldpstats against plain numpy, cvxpy and other packages, and print tables of ratios.

    python benchmarks/run.py [--quick] [--output benchmarks/results/ratios.csv] [section ...]

The sections are privatise, estimate, hashing, decode, candidates, million, rappor, dense,
associate, associate_million, uldp, uldp_full, dictionary, clients, import and engines; all but
associate_million, uldp_full and engines by default. `--output` writes the rows to a CSV file, each
section as soon as it is done; sections that are not run again keep the rows that they have there.
It exits with 1 where an aim is not met. With small sizes the aims are ratios alone, half of what
was reached when they were set.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

# before numpy is imported, and inherited by the interpreters that are started
for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON", "VECLIB_MAXIMUM"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

SECTIONS = (
    "privatise",
    "estimate",
    "hashing",
    "decode",
    "candidates",
    "million",
    "rappor",
    "dense",
    "associate",
    "associate_million",
    "uldp",
    "uldp_full",
    "dictionary",
    "clients",
    "import",
    "engines",
)
ASKED_FOR = {"associate_million", "uldp_full", "engines"}  # minutes and gigabytes
PACKAGES = ("ldpstats", "numpy", "pandas", "scipy", "numba", "cvxpy", "clarabel")


def main() -> None:
    """Run the chosen sections and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--output", type=Path, help="a CSV file for the rows")
    parser.add_argument("section", nargs="*", help=f"{', '.join(SECTIONS)}; default: nearly all")
    chosen = parser.parse_args()
    for section in chosen.section:
        if section not in SECTIONS:
            parser.error(f"no section {section!r}: choose from {', '.join(SECTIONS)}")

    import associate
    import candidates
    import clients
    import collect
    import decode
    import dictionary
    import engines
    import hashing
    import imports
    import solve
    import uldp
    from timing import Scale, keep_rows, print_table, warm_allocator

    warm_allocator()
    run = {
        "privatise": collect.privatise,
        "estimate": collect.estimate,
        "hashing": hashing.hashing,
        "decode": decode.decode,
        "candidates": candidates.candidates,
        "million": solve.million,
        "rappor": solve.rappor,
        "dense": solve.dense,
        "associate": associate.associate,
        "associate_million": associate.associate_million,
        "uldp": uldp.uldp,
        "uldp_full": uldp.uldp_full,
        "dictionary": dictionary.dictionary,
        "clients": clients.reporting,
        "import": imports.importing,
        "engines": engines.engines,
    }
    print(
        f"{platform.python_implementation()} {platform.python_version()}, one thread, CPU seconds"
    )
    print(", ".join(f"{package} {version(package)}" for package in PACKAGES))
    print(", ".join(collect.peer_versions()))
    missed: list[str] = []
    for section in chosen.section or [name for name in SECTIONS if name not in ASKED_FOR]:
        print(f"\n{section}: {run[section].__doc__}\n", flush=True)
        rows = run[section](Scale(chosen.quick))
        print_table(rows)
        missed += [f"{section}: {row.case} ({row.figure})" for row in rows if row.met is False]
        if chosen.output:
            keep_rows(chosen.output, section, rows, SECTIONS, machine())
    if missed:
        sys.exit("aims that were not met:\n  " + "\n  ".join(missed))


def machine() -> str:
    """What the rows were measured on, without a date."""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES[1:])
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {versions}; {platform.machine()}, {os.cpu_count()} cores, one thread"


if __name__ == "__main__":
    main()
