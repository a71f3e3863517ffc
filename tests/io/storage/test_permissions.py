"""Who may read a file that is written: modes, groups and access control lists."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from shared.written_tables import mode, names

from ldpstats import io
from ldpstats.io.storage import Permissions


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_follows_the_umask(umask: int, links: None, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        with io.replacing(tmp_path / "a") as temporary:
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == 0o666 & ~umask and names(tmp_path) == ["a"]


@pytest.mark.parametrize("umask", [0o222, 0o377, 0o777])
@pytest.mark.parametrize("force", [False, True])
def test_a_umask_that_forbids_the_owner(
    force: bool, umask: int, links: None, tmp_path: Path
) -> None:
    """Who made the temporary file can open it again, and the file gets what the umask leaves."""
    path = tmp_path / "a"
    if force:
        path.write_text("old")
        path.chmod(0o444)
    before = os.umask(umask)
    try:
        with io.replacing(path, force) as temporary:
            assert mode(temporary) & 0o600 == 0o600
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert mode(path) == (0o444 if force else 0o666 & ~umask)


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o444, 0o664, 0o755])
def test_an_overwritten_file_keeps_its_mode(permissions: int, links: None, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(permissions)
    with io.replacing(path, force=True) as temporary:
        temporary.write_text("new")
        # nobody may read it who may not read the file that it replaces
        assert mode(temporary) == 0o600
    assert path.read_text() == "new" and mode(path) == permissions and names(tmp_path) == ["a"]


@pytest.mark.parametrize(("permissions", "left"), [(0o664, 0o604), (0o604, 0o600), (0o640, 0o600)])
def test_what_a_group_was_allowed_is_not_allowed_to_another(
    permissions: int, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are its members, who are others now, allowed what they were not."""
    path = tmp_path / "a"
    path.write_text("old")

    def refuse(*given: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    real = path.stat()
    monkeypatch.setattr(os, "fchown", refuse)
    for acl in (None, b"a list of another group's"):
        with path.open("r+") as file:
            Permissions(permissions, real.st_uid, real.st_gid + 1, acl).give(file.fileno())
        assert mode(path) == (left if acl is None else 0o600)


def entries(*given: tuple[int, int, int]) -> bytes:
    """A POSIX access control list: tag, permissions and identity of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in given)


NOBODY = 0xFFFFFFFF
# the owner, user 1234, the group, the mask, and others
LIST = entries((1, 6, NOBODY), (2, 6, 1234), (4, 0, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY))
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def listed(path: Path, name: str = ACCESS) -> bytes | None:
    try:
        return os.getxattr(path, name)
    except OSError:
        return None


@pytest.fixture
def acl(tmp_path: Path) -> None:
    try:
        os.setxattr(tmp_path, ACCESS, LIST)
        os.removexattr(tmp_path, ACCESS)
    except (AttributeError, OSError) as error:
        pytest.skip(f"no POSIX access control lists here: {error}")


def test_an_overwritten_file_keeps_its_access_control_list(
    acl: None, links: None, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    os.setxattr(path, ACCESS, LIST)
    with io.replacing(path, force=True) as temporary:
        temporary.write_text("new")
        assert mode(temporary) == 0o600 and listed(temporary) is None
    # the bits of the group are the mask; without the list, they would be what the group may do
    assert listed(path) == LIST and mode(path) == 0o660 and path.read_text() == "new"


def test_a_list_that_cannot_be_given_leaves_the_owner_alone(
    acl: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    os.setxattr(path, ACCESS, LIST[:-8] + struct.pack("<HHI", 32, 4, NOBODY))
    assert mode(path) == 0o664

    def refuse(*given: Any) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(os, "setxattr", refuse)
    with io.replacing(path, force=True):
        pass
    assert mode(path) == 0o600 and listed(path) is None


@pytest.mark.parametrize("umask", [0o022, 0o777])
def test_the_default_list_of_a_directory(acl: None, umask: int, tmp_path: Path) -> None:
    """It holds for new files, as for those of other programs, and for no others."""
    old, new, usual = (tmp_path / name for name in ("old", "new", "usual"))
    old.write_text("old")
    old.chmod(0o640)
    os.setxattr(tmp_path, DEFAULT, LIST)
    before = os.umask(umask)
    try:
        usual.write_text("")
        with io.replacing_all([old, new], force=True):
            pass
    finally:
        os.umask(before)
    assert mode(old) == 0o640 and listed(old) is None
    assert listed(usual) is not None and mode(usual) == mode(new) == 0o660
    assert listed(new) == listed(usual)
