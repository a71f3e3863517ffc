"""The respondent's device under a personalised mechanism, which keeps her categories to itself."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.labels import encode
from ldpstats.clients.budget import Budget
from ldpstats.clients.device import Device
from ldpstats.clients.secrecy import HIDDEN, secretive
from ldpstats.errors import InvalidArgument, NotAvailable, UnknownCategory
from ldpstats.mechanisms.sensitive.urap import URAP
from ldpstats.mechanisms.sensitive.urr import URR
from ldpstats.sampling.words import Words

__all__ = ["PUMClient"]


class PUMClient(Device):
    """One respondent's device under a `PUM`: keeps her own categories to itself.

    Made by `PUM.client`. The pre-processor exists in this object's memory alone: it is in no
    representation, message, traceback or specification, and the object refuses to be copied or
    pickled. A category that is neither sensitive for all nor one of her own is not protected. The
    client makes as many reports as it was allowed, one by default; together they are
    `total_epsilon` private.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> common = ldp.URR(range(10), sensitive={7}, epsilon=1.0)
    >>> pum = ldp.PUM(common, tags=("home", "work"))
    >>> device = pum.client({"home": {2}, "work": {4, 5}})
    >>> report = device.report(2)
    >>> device.total_epsilon
    1.0
    """

    __slots__ = ("__weakref__", "_answers", "_budget", "_report", "mechanism")

    mechanism: URR | URAP

    def __init__(
        self,
        common: URR | URAP,
        preprocessor: npt.NDArray[np.int64],
        k: int,
        words: Words,
        budget: Budget,
    ) -> None:
        secret = preprocessor.copy()

        def report(code: int) -> Any:
            # by its code: a label would be looked up again, in a time that depends on its type
            return common.procedure.drawn(secret[code], words)

        self.mechanism = common
        self._answers = common.categories[:k]
        self._budget = budget
        self._report = report

    def _epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    @secretive
    def report(self, value: object) -> Any:
        """One privatised report: plain Python that `json.dumps` takes.

        Raises
        ------
        UnknownCategory
            If the value is not one of the categories of true answers.
        BudgetSpent
            If no report is left.
        """
        return self._budget.spend(lambda: self._report(self._code(value)))

    def _code(self, value: object) -> int:
        """Position of an answer; messages do not show it."""
        try:
            return int(encode("value", [value], self._answers)[0][0])
        except InvalidArgument:
            pass
        remedy = f"is none of the {len(self._answers)} categories of answers"
        raise UnknownCategory("value", HIDDEN, remedy)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise NotAvailable(
            "a client under a PUM is not written out, copied or pickled: it holds the respondent's "
            "secret; make it anew on her device"
        )
