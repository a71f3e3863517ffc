"""Two tables side by side, row by row of the same identifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from ldpstats.engines.base import Engine, Source, picked
from ldpstats.engines.database import Embedded
from ldpstats.engines.failures import EngineFailure
from ldpstats.errors import InvalidArgument, NotAvailable

__all__ = ["Joined"]

T = TypeVar("T")


class _Side(Protocol):
    """A query, as far as a join needs it."""

    @property
    def source(self) -> Source: ...

    def frame(self, session: Engine) -> Any: ...


@dataclass(frozen=True, eq=False)
class Joined(Source):
    """An inner join; every column but the identifier has the suffix of its side."""

    name: str
    left: _Side
    right: _Side
    id: str
    suffixes: tuple[str, str]

    def __post_init__(self) -> None:
        # without case, which engines do not see
        names = [new.casefold() for side in (0, 1) for new in self._renamed(side).values()]
        id = self.id.casefold()
        twice = next((new for new in names if names.count(new) > 1 and new != id), None)
        if twice is not None or id in [n for n in names if names.count(n) > 2]:
            remedy = f"would name two columns {twice or self.id!r}: choose others"
            raise InvalidArgument("suffixes", self.suffixes, remedy)

    @cached_property
    def engine(self) -> Engine:  # type: ignore[override]
        left, right = self.left.source, self.right.source
        both = left.engine, right.engine
        if isinstance(both[0], Embedded) and isinstance(both[1], Embedded):
            databases = dict.fromkeys([*both[0].databases, *both[1].databases])
            if databases:  # one that reads both sides, and nothing else
                return Embedded(tuple(databases), tuple(self.files))
        return both[0]

    @property
    def files(self) -> Sequence[str]:
        return [*self.left.source.files, *self.right.source.files]

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return False

    @property
    def shown(self) -> str:
        return f"{self.left.source.shown} joined with {self.right.source.shown}"

    def _renamed(self, side: int) -> dict[str, str]:
        """The columns of a side, and their names here."""
        source = (self.left, self.right)[side].source
        suffix = self.suffixes[side]
        return {old: old if old == self.id else old + suffix for old in source.columns}

    def root(self, session: Engine) -> Any:
        names = self._renamed(0), self._renamed(1)
        theirs = "_".join(["id", *names[0].values(), *names[1].values()])  # no other's name
        left = picked(self.left.frame(session), [*names[0]], [*names[0].values()])
        made = [theirs if old == self.id else new for old, new in names[1].items()]
        right = picked(self.right.frame(session), [*names[1]], made)
        both = left.join(right, how="inner", left_on=self.id, right_on=theirs)
        return picked(both, list(dict.fromkeys([*names[0].values(), *names[1].values()])))

    def _origin(self, name: str) -> tuple[Source, str]:
        """The table of a column, which exists, and its name there."""
        sides = enumerate((self.left.source, self.right.source))
        return next(
            (source, old)
            for side, source in sides
            for old, new in self._renamed(side).items()
            if new == name
        )

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        source, old = self._origin(name)
        return source.stored(old)

    def levels(self, name: str) -> tuple[Any, ...] | None:
        source, old = self._origin(name)
        return source.levels(old)

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        return (*self.left.source.left_out, *self.right.source.left_out)

    def tried(self, action: Callable[[], T]) -> T:
        return self.left.source.tried(lambda: self.right.source.tried(action))

    def streamed(self, batches: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        return self.left.source.streamed(lambda: self.right.source.streamed(batches))

    def check(self) -> None:
        """Refuse relations of DuckDB on different connections."""
        try:
            _ = self.schema
        except EngineFailure as error:
            if "different connections" not in str(error):
                raise
            remedy = "are on different connections: make both on one, or read both into memory"
            raise NotAvailable(f"{self.shown}: {remedy}") from None
