"""A collector as a program: one process, until it is told to stop."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from ldpstats.arguments.checks import boolean, listed, positive_integer
from ldpstats.collector.app import Desk, application
from ldpstats.collector.batches import BatchWriter
from ldpstats.collector.checks import Checks
from ldpstats.collector.folder import opened_folder
from ldpstats.collector.intake import Intake
from ldpstats.collector.invitations import read_invitations
from ldpstats.collector.limits import Limits
from ldpstats.collector.server import listening, packages, server, stopping
from ldpstats.collector.store import FEWEST, DiskFailure, Store, opened_store
from ldpstats.collector.withdrawals import opened_withdrawals
from ldpstats.errors import InvalidArgument
from ldpstats.io.storage.files import FilePath, refusal
from ldpstats.page.page import page_text
from ldpstats.survey.questionnaire import Questionnaire

__all__ = ["collect"]

_CONNECTIONS = 2_000  # at a time
_TOO_FEW = (
    f"must be {FEWEST} or more: a smaller file tells when each of its sheets came; at the end of "
    "the survey --finish (finish=True) writes those that wait, however few"
)
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


def collect(
    questionnaire: Questionnaire,
    folder: FilePath,
    *,
    texts: Any = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    origins: Sequence[str] = (),
    behind_proxy: bool = False,
    batch: int = 1000,
    limits: Limits | None = None,
    invitations: Sequence[FilePath] = (),
    max_sheets: int | None = None,
    finish: bool = False,
    forget_tokens: bool = False,
) -> None:
    """Take answer sheets over HTTP until SIGTERM or SIGINT, and write them to Parquet files.

    ``Survey(folder)`` reads what is in files. A sheet is acknowledged when it is on the disk. The
    files hold the reports of many sheets in random order. No address, no name of a program and no
    time is kept, except the hour in which a file was written. ``ldpstats/collector/README.md`` has
    the use behind a reverse proxy, and what is protected against whom.

    Parameters
    ----------
    questionnaire : Questionnaire
    folder : path-like
        Where to keep the sheets; it is made if there is none. It belongs to this questionnaire, and
        to one collector at a time.
    texts : path-like or mapping, optional
        Words that replace those of the page at /, as of `page.write_page`.
    host, port : str, int
        Where to listen. Port 0 takes any that is free.
    origins : sequence of str
        Origins of other pages that may send sheets, such as "https://survey.example"; "null" for a
        page that is opened from a disk.
    behind_proxy : bool
        Whether all requests come through a proxy that appends the sender's address to
        X-Forwarded-For. It is used for limits only.
    batch : int
        Sheets in a file, at least 20. Fewer are written at the turn of the hour, if a tenth of that
        wait, and when the collector is stopped, but never fewer than 20: the last ones wait for the
        next start. Small files are merged at the turn of the day, and when it is stopped.
    limits : Limits, optional
    invitations : sequence of path-like
        Files that `invite` wrote for the collector. A sheet is then taken with a code alone, and a
        code takes one sheet. Without them anybody can send any number of sheets.
    max_sheets : int, optional
        How many sheets are taken in all, those in files included.
    finish : bool
        Write the sheets that wait, however few they are, merge small files, and return: no sheet is
        taken. For the end of a survey.
    forget_tokens : bool
        Begin a new record where that of the folder was lost, or does not fit the files. Sheets that
        were taken before would count again if they are sent again.

    Raises
    ------
    NotAvailable
        If the packages of the extra `collect` are not installed, or the questionnaire has no client
        document.
    InvalidArgument, MechanismMismatch
        For a folder that cannot be used, is that of another questionnaire, in which another
        collector works, or of which the record does not have all files.

    Examples
    --------
    It runs until it is stopped::

        import ldpstats as ldp
        from ldpstats.collector import collect

        sheet = ldp.Questionnaire({"late": ldp.KRR(("no", "yes"), epsilon=1.0)})
        collect(sheet, "answers", port=8000)

    Meanwhile, or afterwards, ``ldp.Survey("answers")`` is the table of the sheets in files.
    """
    opened: dict[str, Any] = {
        "batch": batch,
        "forget_tokens": boolean("forget_tokens", forget_tokens),
    }
    if boolean("finish", finish):
        _finished(opened_desk(questionnaire, folder, **opened).intake.store)
        return
    packages()
    with closing(listening(host, port)) as where:
        opened |= {"origins": origins, "behind_proxy": behind_proxy, "limits": limits}
        opened |= {"invitations": invitations, "max_sheets": max_sheets}
        desk = opened_desk(questionnaire, folder, texts, **opened)
        with closing(desk.intake.store):
            _say_faults(desk.intake.store)
            _check_open(desk, max_sheets)
            running = server(application(desk), desk.limits.seconds, _CONNECTIONS)
            with stopping(running):
                shown = f"[{host}]" if ":" in host else host
                print(f"collecting at http://{shown}:{where.getsockname()[1]}/", flush=True)
                running.run(sockets=[where])


def _finished(store: Store) -> None:
    """Write what waits, merge, and say how many sheets there are."""
    with closing(store):
        _say_faults(store)
        try:
            store.batch()
            store.merge()
        except DiskFailure as error:
            raise refusal(store.folder, f"the sheets cannot be written ({error})") from None
        sheets = "sheet" if store.stored == 1 else "sheets"
        print(f"{store.stored:,} {sheets} in files, and none waits")


def _check_open(desk: Desk, max_sheets: int | None) -> None:
    """Say what it means that anybody can send sheets; refuse where only those invited could."""
    if desk.checks.invitations is not None:
        return
    if desk.intake.store.by_invitation:
        remedy = "takes sheets by invitation: pass the files of --invitations, as before"
        raise refusal(desk.intake.store.folder, remedy)
    if max_sheets is None:
        rate = f"{desk.limits.per_address:,} sheets a minute from one address"
        print(
            f"ldpstats: without --invitations and --max-sheets anybody can send {rate}, and "
            "decide the result: see ldpstats invite --help",
            file=sys.stderr,
            flush=True,
        )


def _say_faults(store: Store) -> None:
    for name, why in sorted(store.faults.items()):
        print(f"ldpstats: warning: {name}: {why}", file=sys.stderr, flush=True)


def opened_desk(
    questionnaire: Questionnaire,
    folder: FilePath,
    texts: Any = None,
    origins: Sequence[str] = (),
    behind_proxy: bool = False,
    batch: int = 1000,
    limits: Limits | None = None,
    invitations: Sequence[FilePath] = (),
    max_sheets: int | None = None,
    forget_tokens: bool = False,
) -> Desk:
    """The desk of a collector, with its folder open; see `collect`."""
    if not isinstance(questionnaire, Questionnaire):
        raise InvalidArgument("questionnaire", questionnaire, "must be a Questionnaire")
    limits = Limits() if limits is None else limits
    if not isinstance(limits, Limits):
        raise InvalidArgument("limits", limits, "must be Limits(...)")
    size, behind = positive_integer("batch", batch), boolean("behind_proxy", behind_proxy)
    if size < FEWEST:
        raise InvalidArgument("batch", batch, _TOO_FEW)
    allowed = tuple(map(_origin, listed("origins", origins, "must be a list of origins")))
    document = questionnaire.client_document()
    checks = Checks.of(document, read_invitations(invitations, document["survey"]))
    most = None if max_sheets is None else positive_integer("max_sheets", max_sheets)
    _check_texts(document)
    page = page_text(questionnaire, texts, "/sheets", invitations=checks.invitations is not None)
    tables = BatchWriter(questionnaire, document)
    opened = opened_folder(folder, questionnaire)
    deleted = opened_withdrawals(opened)
    store = opened_store(opened, tables, forget_tokens)
    store.most = most
    if checks.invitations is not None:
        store.invite(checks.invitations.hashes)
    client = json.dumps(document).encode("ascii")
    intake = Intake(store, size)
    return Desk(checks, intake, limits, page.encode("utf-8"), client, deleted, allowed, behind)


def _check_texts(document: Mapping[str, Any]) -> None:
    """Refuse reports that no file can hold."""
    for question in document["questions"]:
        texts = question["reports"] if isinstance(question["reports"], list) else []
        for text in texts:
            try:
                text.encode("utf-8")
            except UnicodeEncodeError:
                remedy = f"a report to {question['name']!r} has no UTF-8 form: rename the label"
                raise InvalidArgument("questionnaire", text, remedy) from None


def _origin(given: object) -> str:
    """An origin, as browsers write it."""
    if isinstance(given, str) and (given == "null" or _ORIGIN.fullmatch(given)):
        return given
    remedy = 'must be an origin, such as "https://survey.example" without a path, or "null"'
    raise InvalidArgument("origins", given, remedy)
