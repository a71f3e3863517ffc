"""Count the files of the package that an analysis enters.

    python benchmarks/entered.py [--names] [scene ...]

A file is entered if a Python function that it defines is called. Three counts: the model and its
`fit()` alone, the same with its `summary()` (and what is detected among candidates), and all of it,
from `privatize` on. Each scene runs once beforehand, so that the bodies of modules, which run on
import, do not count. Only public names are used, so that any version can be counted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import ldpstats as ldp

PACKAGE = Path(ldp.__file__).parent
N, VISITS = 20_000, 100_000  # respondents
JOBS = ("nurse", "teacher", "driver", "cook")
HOSTS = [f"host{i}.example" for i in range(200)]

# makes reports; fits them; asks the results
Scene = tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]


def krr() -> Scene:
    """k-RR over ten categories."""
    rng = np.random.default_rng(1)
    codes = rng.integers(10, size=N)
    return lambda: ldp.KRR(10, epsilon=1.0).privatize(codes, rng), _fitted(), _summary


def candidates() -> Scene:
    """RAPPOR in 32 cohorts, 200 candidates, of which 20 are there: least squares."""
    return _hosts, _fitted(candidates=HOSTS), _summary_and_detected


def candidates_mle() -> Scene:
    """The same by exact maximum likelihood."""
    return _hosts, _fitted("mle", candidates=HOSTS), _summary_and_detected


def association() -> Scene:
    """Two k-RR variables, of four and two categories."""
    rng = np.random.default_rng(3)
    job, late = rng.choice(JOBS, size=N), rng.choice(["no", "yes"], size=N)

    def reports() -> Any:
        paid = ldp.KRR(("no", "yes"), epsilon=1.0)
        return ldp.KRR(JOBS, epsilon=1.0).privatize(job, rng), paid.privatize(late, rng)

    return reports, lambda pair: ldp.AssociationModel(*pair).fit(), _summary


def _hosts() -> Any:
    rng = np.random.default_rng(2)
    rappor = ldp.RAPPOR(n_bits=128, n_hashes=2, n_cohorts=32, f=0.0, p=0.25, q=0.75)
    return rappor.privatize(rng.choice(HOSTS[:20], size=VISITS), rng)


def _fitted(*method: str, **options: Any) -> Callable[[Any], Any]:
    return lambda reports: ldp.FrequencyModel(reports, **options).fit(*method)


def _summary(results: Any) -> str:
    return str(results.summary())


def _summary_and_detected(results: Any) -> Any:
    return _summary(results), results.detected(method="holm")


SCENES = {scene.__name__: scene for scene in (krr, candidates, candidates_mle, association)}


def entered(job: Callable[[], Any]) -> Counter[str]:
    """Files below the package whose functions `job` calls, and how often; it runs twice."""
    calls: Counter[str] = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            calls[frame.f_code.co_filename] += 1

    job()
    sys.setprofile(watch)
    try:
        job()
    finally:
        sys.setprofile(None)
    inside = [path for path in map(Path, calls) if path.is_relative_to(PACKAGE)]
    return Counter({path.relative_to(PACKAGE).as_posix(): calls[str(path)] for path in inside})


def counted(scene: Scene) -> list[Counter[str]]:
    """The files of the fit alone, with the summary, and from `privatize` on."""
    reports, fit, ask = scene
    data = reports()
    return [
        entered(lambda: fit(data)),
        entered(lambda: ask(fit(data))),
        entered(lambda: ask(fit(reports()))),
    ]


def main() -> None:
    """Run the chosen scenes and print how many files each enters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", action="store_true", help="name the files that a fit enters")
    parser.add_argument("scene", nargs="*", help=f"{', '.join(SCENES)}; default: all")
    chosen = parser.parse_args()
    for name in chosen.scene:
        if name not in SCENES:
            parser.error(f"no scene {name!r}: choose from {', '.join(SCENES)}")
    print("files entered     fit  and summary  from privatize on")
    for name in chosen.scene or SCENES:
        alone, summed, whole = counted(SCENES[name]())
        shown = f"{name:<16}{len(alone):>5}{len(summed):>13}{len(whole):>19}"
        print(f"{shown}  {SCENES[name].__doc__}")
        for path, times in sorted(alone.items() if chosen.names else ()):
            print(f"{times:>12,} calls  {path}")


if __name__ == "__main__":
    main()
