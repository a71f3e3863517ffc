"""Threads and forks that call at the same moment."""

import multiprocessing
import threading
import warnings
from collections.abc import Callable
from typing import Any

import ldpstats as ldp


def race(call: Callable[[], Any], n: int = 4) -> list[Any]:
    """What n threads get that call at once; errors too."""
    results: list[Any] = []
    start = threading.Barrier(n)

    def run() -> None:
        start.wait()
        try:
            results.append(call())
        except ldp.LDPError as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def in_forks(call: Callable[[], Any], n: int = 3) -> list[Any]:
    """What n forks of this process get."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def run() -> None:
        try:
            queue.put(call())
        except ldp.LDPError as error:
            queue.put(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of a process with threads
        forks = [context.Process(target=run) for _ in range(n)]
        for fork in forks:
            fork.start()
    results = [queue.get() for _ in forks]
    for fork in forks:
        fork.join()
    return results
