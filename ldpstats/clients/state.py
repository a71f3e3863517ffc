"""The file of a device: what it must not forget, and how often it has reported."""

from __future__ import annotations

import os

from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import InvalidArgument

__all__ = ["StateFile"]


class StateFile(portable.StateFile):
    """The state file of the client for devices, with the errors of the package."""

    def __init__(self, path: object) -> None:
        remedy = "must be the name of a file"
        try:
            name = os.fsdecode(path)  # type: ignore[arg-type]
        except (TypeError, ValueError):  # no path, or one that no file can have
            raise InvalidArgument("state", path, remedy) from None
        if isinstance(path, bytes) or "\0" in name:
            raise InvalidArgument("state", path, remedy)
        super().__init__(name)

    def refusal(self, remedy: str) -> InvalidArgument:
        return InvalidArgument("state", self.path, remedy)
