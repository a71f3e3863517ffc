"""Who may read and write a file, handed on to the file that replaces it."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["Permissions"]

_ACL = "system.posix_acl_access"
_NO_ACL = {errno.ENODATA, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


@dataclass(frozen=True)
class Permissions:
    """Who may do what with a file."""

    mode: int  # nine bits; with an access control list, those of the group are its mask
    owner: int
    group: int
    acl: bytes | None = None  # the access control list, if any, on Linux

    @classmethod
    def of(cls, file: str | int) -> Permissions:
        """The permissions of a file or an open file."""
        found = os.stat(file)
        return cls(stat.S_IMODE(found.st_mode) & 0o777, found.st_uid, found.st_gid, _acl(file))

    @classmethod
    def of_new(cls, handle: int) -> Permissions:
        """The permissions of a new file; then let its owner read and write it despite the umask."""
        found = cls.of(handle)
        if os.name == "posix" and found.mode & 0o600 != 0o600:
            os.fchmod(handle, found.mode | 0o600)
        return found

    def give(self, handle: int) -> None:
        """Give them to an open file as far as possible; nobody gets more than they allow."""
        if os.name != "posix":
            return
        mode, acl, own = self.mode, self.acl, os.fstat(handle)
        if own.st_gid != self.group:
            try:
                os.fchown(handle, -1, self.group)
            except OSError:
                # the new group gets nothing, and members of the old one, now among "others", get
                # no more than they had
                mode &= 0o700 if acl is not None else 0o700 | mode >> 3 & 0o007
                acl = None
        if own.st_uid != self.owner:
            with suppress(OSError):
                os.fchown(handle, self.owner, -1)
        if not _set_acl(handle, acl):
            mode &= 0o700  # the list may refuse some of what the mode allows the group
        with suppress(OSError):  # a file system without permissions
            os.fchmod(handle, mode)


if sys.platform == "linux":

    def _acl(file: str | int) -> bytes | None:
        try:
            return os.getxattr(file, _ACL)
        except OSError as error:
            if error.errno in _NO_ACL:
                return None
            raise

    def _set_acl(handle: int, acl: bytes | None) -> bool:
        """Give an open file an access control list, or none; return whether it worked."""
        try:
            if acl is not None:
                os.setxattr(handle, _ACL, acl)
            elif _acl(handle) is not None:  # that of its directory
                os.removexattr(handle, _ACL)
        except OSError:
            return False
        return True

else:

    def _acl(file: str | int) -> bytes | None:
        return None

    def _set_acl(handle: int, acl: bytes | None) -> bool:
        return True
