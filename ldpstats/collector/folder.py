"""The folder of a survey: its questionnaire, and files of sheets."""

from __future__ import annotations

import os
from pathlib import Path

from ldpstats.engines.listing import found_files
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.io.storage.files import FilePath, checked_path, refusal
from ldpstats.survey.opening import QUESTIONNAIRE_FILE
from ldpstats.survey.questionnaire import Questionnaire

__all__ = ["flush_folder", "opened_folder"]


def opened_folder(path: FilePath, sheet: Questionnaire) -> Path:
    """A folder for the sheets of a questionnaire, which is written into it once.

    Raises
    ------
    InvalidArgument
        If it cannot be made, or holds other tables.
    MechanismMismatch
        If it is that of another questionnaire.
    """
    folder = checked_path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(path, f"cannot be made a folder ({error.strerror})") from None
    own = folder / QUESTIONNAIRE_FILE
    if own.exists():
        _check_same(folder, Questionnaire.from_json(own), sheet)
        return folder
    if _holds_tables(folder):
        raise refusal(path, "holds tables of other programs: name a new folder")
    sheet.to_json(own)
    flush_folder(folder.parent)
    return folder


def flush_folder(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_same(folder: Path, before: Questionnaire, sheet: Questionnaire) -> None:
    if before.fingerprint != sheet.fingerprint:
        raise MechanismMismatch(
            f"{folder} holds sheets of a questionnaire with fingerprint {before.fingerprint}, not "
            f"{sheet.fingerprint}: name another folder for each questionnaire"
        )


def _holds_tables(folder: Path) -> bool:
    try:
        return bool(found_files(folder).files)
    except InvalidArgument:
        return False
