"""Other packages behind one interface; none is a dependency of ldpstats.

All of them take one respondent at a time, and are slow enough that fewer users than ours measure
them well: times are compared per user.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

__all__ = ["NAMES", "Peer", "load"]


@dataclass(frozen=True)
class Peer:
    """What a package offers of "k-RR", "OUE" and "k-RAPPOR".

    A client makes a list of reports from a list of codes; an estimator makes k frequencies from
    such a list. `users` says how many respondents are enough to time each.
    """

    version: str
    users: dict[str, int]
    clients: dict[str, Callable[[list[int]], list[Any]]]
    estimators: dict[str, Callable[[list[Any]], Any]]


def pure_ldp(k: int, epsilon: float) -> Peer:
    from pure_ldp.frequency_oracles import DEClient, DEServer, UEClient, UEServer

    def index(x: int) -> int:  # values are 0 .. k-1; the default expects 1 .. k
        return x

    def client(one: Any) -> Callable[[list[int]], list[Any]]:
        return lambda codes: [one.privatise(code) for code in codes]

    def estimator(server: Any, *options: Any) -> Callable[[list[Any]], Any]:
        def estimate(reports: list[Any]) -> Any:
            one = server(epsilon, k, *options, index_mapper=index)
            for report in reports:
                one.aggregate(report)
            return [one.estimate(x, suppress_warnings=True) for x in range(k)]

        return estimate

    return Peer(
        version=version("pure-ldp"),
        users={"k-RR": 20_000, "OUE": 20_000, "k-RAPPOR": 20_000},
        clients={
            "k-RR": client(DEClient(epsilon, k, index)),
            "OUE": client(UEClient(epsilon, k, True, index)),
            "k-RAPPOR": client(UEClient(epsilon, k, False, index)),
        },
        estimators={
            "k-RR": estimator(DEServer),
            "OUE": estimator(UEServer, True),
            "k-RAPPOR": estimator(UEServer, False),
        },
    )


def multi_freq_ldpy(k: int, epsilon: float) -> Peer:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return Peer(
        version=version("multi-freq-ldpy"),
        users={"k-RR": 20_000, "OUE": 20_000, "k-RAPPOR": 20_000},
        clients={
            "k-RR": lambda codes: [GRR_Client(code, k, epsilon) for code in codes],
            "OUE": lambda codes: [UE_Client(code, k, epsilon, True) for code in codes],
            "k-RAPPOR": lambda codes: [UE_Client(code, k, epsilon, False) for code in codes],
        },
        estimators={
            "k-RR": lambda reports: GRR_Aggregator_MI(reports, k, epsilon),
            "OUE": lambda reports: UE_Aggregator_MI(reports, epsilon, True),
            "k-RAPPOR": lambda reports: UE_Aggregator_MI(reports, epsilon, False),
        },
    )


def opendp(k: int, epsilon: float) -> Peer:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    # k-RR has no estimator there, and unary reports are symmetric only
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    krr = dp.m.make_randomized_response(list(range(k)), keep)
    f = 2.0 / (1.0 + math.exp(epsilon / 2))  # twice the chance of a flip
    rappor = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f
    )
    one_hot = [np.packbits(row).tobytes() for row in np.eye(k, dtype=np.uint8)]
    return Peer(
        version=version("opendp"),
        users={"k-RR": 500, "k-RAPPOR": 200},
        clients={
            "k-RR": lambda codes: [krr(code) for code in codes],
            "k-RAPPOR": lambda codes: [rappor(one_hot[code]) for code in codes],
        },
        estimators={"k-RAPPOR": lambda reports: dp.m.debias_randomized_response_bitvec(reports, f)},
    )


_MAKERS = {"multi-freq-ldpy": multi_freq_ldpy, "opendp": opendp, "pure-ldp": pure_ldp}
NAMES = tuple(_MAKERS)


@cache
def load(name: str, k: int, epsilon: float) -> Peer | str:
    """The package, or why it cannot be used."""
    module = name.replace("-", "_")
    try:
        importlib.import_module(module)
        return _MAKERS[name](k, epsilon)
    except ModuleNotFoundError as error:
        return "not installed" if error.name == module else f"import fails: {error}"
    except Exception as error:  # whatever a package raises is its line in the table
        return f"fails: {type(error).__name__}: {str(error).splitlines()[0]}"
