"""A bar on standard error that shows how far a computation has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ldpstats.estimators.solvers.watch import watched

__all__ = ["fitting", "maybe_bar", "moved", "progress_bar"]


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[..., None]]:
    """A bar that appears after a second; moved by (fraction, stage, rows that were read)."""
    from tqdm import tqdm

    form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    how = {"delay": 1, "leave": False, "bar_format": form}
    # without miniters a bar that was quick for a while would wait for ten seconds
    with tqdm(total=1.0, desc=what, miniters=0, **how) as bar:

        def advance(fraction: float, stage: str = "", rows: int = 0) -> None:
            bar.set_description_str(f"{what}: {stage}" if stage else what, refresh=False)
            if rows:
                rate = rows / max(1e-9, bar.format_dict["elapsed"])
                bar.set_postfix_str(f"{rows:,} rows, {rate:,.0f} a second", refresh=False)
            bar.update(fraction - bar.n)

        yield advance


@contextmanager
def maybe_bar(what: str, show: bool) -> Iterator[Callable[..., None]]:
    """`progress_bar` if it is to be shown, else what takes the same and shows nothing."""
    if not show:
        yield lambda *_, **__: None
        return
    with progress_bar(what) as advance:
        yield advance


def moved(
    advance: Callable[..., None] | None, number: int, n: int
) -> Callable[[float], None] | None:
    """What moves a bar over n files while one of them is read; None where there is no bar."""
    if advance is None:
        return None
    move = advance
    return lambda fraction: move((number + fraction) / n)


@contextmanager
def fitting(show: bool) -> Iterator[None]:
    """A bar, if it is to be shown, of the likelihoods that are maximised meanwhile."""
    if not show:
        yield
        return
    with progress_bar("fitting") as advance, watched(advance):
        yield
