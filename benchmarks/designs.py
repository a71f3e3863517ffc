"""Block designs: subset selection, Hadamard response and projective geometry response.

    python benchmarks/designs.py                 # k = 100,000, and other packages; two minutes
    python benchmarks/designs.py --quick         # small sizes, to see that it runs

For each mechanism: bits of a report, time to make one and to estimate from all, and the summed
variance at the uniform distribution against that of subset selection. Then the mechanisms that
pure-ldp and multi-freq-ldpy offer by the same names, in the same run. Times are CPU seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from timing import Row, Scale, faster, measure, print_table, zipf

import ldpstats as ldp

EPSILONS = (0.5, 1.0, 2.0, 3.0)
NEAR = 1.10  # of the variance of subset selection, for projective geometry response


def summed(mechanism: ldp.Mechanism) -> float:
    """n times the sum of the variances of the linear estimate at the uniform distribution."""
    problem = mechanism.moments(mechanism.specimen())
    return float(problem.estimate_variances(np.full(mechanism.k, 1.0 / mechanism.k)).sum())


def designs(scale: Scale) -> list[Row]:
    """The mechanisms beside one another at many categories."""
    k, n = scale.size(100_000, 500), scale.size(1_000_000, 2_000)
    rows = []
    for epsilon in EPSILONS:
        best = ldp.SubsetSelection(k, epsilon)
        least = summed(best)
        for kind in (ldp.ProjectiveGeometryResponse, ldp.HadamardResponse):
            mechanism = kind(k, epsilon)
            ratio = summed(mechanism) / least
            what = f"{kind.__name__}, k = {k:,}, epsilon {epsilon:g}"
            aim = f"<= {NEAR}" if kind is ldp.ProjectiveGeometryResponse else ""
            bits = f"{mechanism.report_bits} bits a report, not {k:,}"
            figure = f"{ratio:.4f} x the variance; {bits}"
            rows.append(Row(what, "SubsetSelection", figure, aim, ratio <= NEAR if aim else None))
            rows.append(_timed(what, mechanism, n))
    rows.append(_timed(f"SubsetSelection, k = {k:,}, epsilon 1", ldp.SubsetSelection(k, 1.0), 200))
    return rows


def _timed(what: str, mechanism: ldp.Mechanism, n: int) -> Row:
    rng = np.random.default_rng(1)
    values = rng.choice(mechanism.k, n, p=zipf(mechanism.k))
    counts = mechanism.privatize(values, rng).tally()
    jobs: dict[str, Callable[[], object]] = {
        "many": lambda: mechanism.privatize(values, rng),
        "one": lambda: mechanism.client().report(7),
        "inversion": lambda: ldp.FrequencyModel(counts).fit("inversion"),
        "mle": lambda: ldp.FrequencyModel(counts).fit("mle"),
    }
    if mechanism.n_bits:  # patterns of 100,000 bits: the likelihood takes them all
        del jobs["mle"]
    seconds = measure(jobs, 3)
    each, one = 1e6 * seconds["many"] / n, 1e3 * seconds["one"]
    parts = [f"a report {each:.2f} us, of a client {one:.2f} ms"]
    for name in ("inversion", "mle"):
        if name in jobs:
            parts.append(f"{name} of {n:,} {seconds[name]:.2f} s")
    return Row(what, "time", "; ".join(parts))


def peers(scale: Scale) -> list[Row]:
    """What the other packages offer by the same names: time a respondent, and errors."""
    k, n = 1024, scale.size(20_000, 300)
    rng = np.random.default_rng(2)
    values, p = rng.choice(k, n, p=zipf(k)), zipf(k)
    rows = []
    for what, mechanism, package, peer in (
        ("Hadamard response", ldp.HadamardResponse(k, 1.0), "pure_ldp", _pure_ldp),
        ("Hadamard response", ldp.HadamardResponse(k, 2.0), "pure_ldp", _pure_ldp),
        ("subset selection", ldp.SubsetSelection(k, 1.0), "multi_freq_ldpy", _multi_freq),
    ):
        name = f"{what}, k = {k:,}, epsilon {mechanism.epsilon:g}"
        try:
            import_module(package)
            privatise, estimate = peer(k, mechanism.epsilon)
        except Exception as error:  # whatever a package raises is its line in the table
            reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            rows.append(Row(name, package, f"cannot be used: {reason}"))
            continue
        few = values[:300] if mechanism.n_bits else values
        theirs, ours = privatise(few.tolist()), mechanism.privatize(values, rng).tally()
        seconds = measure(
            {
                "ours": lambda m=mechanism: m.privatize(values, rng),
                "theirs": lambda f=privatise, v=few: f(v.tolist()),
                "estimate": lambda m=mechanism, c=ours: m.moments(c).estimate(),
                "their estimate": lambda f=estimate, r=theirs: f(r),
            },
            3,
        )
        rows.append(faster(name, package, seconds["ours"] / n, seconds["theirs"] / few.size))
        rows.append(
            faster(
                f"  its estimate of {n:,}",
                package,
                seconds["estimate"] / n,
                seconds["their estimate"] / few.size,
            )
        )
        if not mechanism.n_bits:
            found = ldp.FrequencyModel(ours).fit("inversion").linear_params.to_numpy()
            errors = [float(np.square(q - p).sum()) for q in (found, np.asarray(estimate(theirs)))]
            figure = (
                f"{errors[1] / errors[0]:.3f} x the squared error of one survey, without clipping"
            )
            rows.append(Row(f"  its squared error, n = {n:,}", package, figure))
    return rows


def _pure_ldp(k: int, epsilon: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    from pure_ldp.frequency_oracles import HadamardResponseClient, HadamardResponseServer

    server = HadamardResponseServer(epsilon, k, index_mapper=int)
    client = HadamardResponseClient(epsilon, k, server.get_hash_funcs(), index_mapper=int)

    def estimate(reports: list[Any]) -> Any:
        server.reset()
        for report in reports:
            server.aggregate(report)
        return server.estimate_all(range(k), suppress_warnings=True) / len(reports)

    return lambda codes: [client.privatise(code) for code in codes], estimate


def _multi_freq(k: int, epsilon: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

    return (
        lambda codes: [SS_Client(code, k, epsilon) for code in codes],
        lambda reports: SS_Aggregator_MI(reports, k, epsilon),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    scale = Scale(parser.parse_args().quick)
    print_table(designs(scale))
    print()
    print_table(peers(scale))


if __name__ == "__main__":
    main()
