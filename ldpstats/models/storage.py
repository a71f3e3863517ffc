"""Results as JSON documents: what all kinds of results write and check alike."""

from __future__ import annotations

import json
import warnings
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np

from ldpstats.clients.device import check_fingerprint
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.documents import damaged, made, read, written
from ldpstats.errors import InvalidArgument, LDPError, LDPWarning
from ldpstats.hints import guided
from ldpstats.models.layout import Tabulated

_ROUNDING = 1e-6  # of estimates by iteration


class Stored(Tabulated):
    """What is written as a JSON document, and read again.

    A class names its document by `_format` and `_version`; see `ldpstats.documents` for what is in
    it. Of kinds of results that 0.1.0 had, version 1 is what it wrote; that lacks fields.
    """

    _format: ClassVar[str]
    _version: ClassVar[int] = 2
    _document: ClassVar[tuple[str, ...]] = ()  # its keys in order, where they are not the fields

    def _stored(self) -> dict[str, Any]:
        """The results as plain JSON types, without what tells of which kind they are."""
        return written(self)

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> Self:
        """The results with the values of a document; values that do not go together are refused."""
        results: Self = made(cls, values)
        return results

    @guided
    def to_dict(self) -> dict[str, Any]:
        """The results as plain JSON types; no report is in them.

        The document carries its own fingerprint, which reading checks: against accidents, not
        forgers, who would compute another.
        """
        document = {"format": self._format, "version": self._version} | self._stored()
        return document | {"fingerprint": portable.fingerprint(document)}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises
        ------
        InvalidArgument
            For another document, one of another version, and a damaged or edited one.

        Warns
        -----
        LDPWarning
            If the document has no fingerprint, as those of ldpstats 0.2.0: what contradicts itself
            is refused, but other changes are not seen.
        """
        head: tuple[Any, ...] = ()
        if isinstance(document, dict):
            head = document.get("format"), document.get("version")
        if cls._version > 1 and repr(head) == repr((cls._format, 1)):
            remedy = (
                "has results of version 1, which ldpstats 0.1.0 wrote and later versions cannot "
                "read: fit the reports again"
            )
            raise InvalidArgument("document", cls._format, remedy)
        if not isinstance(document, dict) or repr(head) != repr((cls._format, cls._version)):
            remedy = f'must have "format": "{cls._format}", "version": {cls._version}'
            raise InvalidArgument("document", document, remedy)
        whole = "fingerprint" in document
        try:
            # parts of what has no fingerprint have none either: the warning below is for all
            alone = nullcontext() if whole else warnings.catch_warnings(action="ignore")
            with np.errstate(all="ignore"), alone:
                results = cls._restored(read(cls, document))
                repr(results)  # what it is made of is there
                if whole:  # of what was read, and of what it says: some fields follow from others
                    own = {"format": cls._format, "version": cls._version} | results._stored()
                    said = {key: document[key] for key in own}
                    for one in [said, own] if said != own else [said]:
                        fingerprint = portable.fingerprint(one)
                        check_fingerprint(document, fingerprint, "document", "to_json()")
                else:
                    if fault := results._contradiction():
                        raise InvalidArgument("document", cls._format, f"is damaged: {fault}")
                    str(results.summary()), results.to_json()  # both can be made
        except LDPError:
            raise
        except Exception as error:  # whatever a damaged document leads to
            raise damaged("document", cls._format, error) from error
        if not whole:
            warnings.warn(
                f"this document of {cls._format} has no fingerprint, as those of ldpstats 0.2.0: "
                "small changes of its numbers would not be seen; write it again with to_json()",
                LDPWarning,
                stacklevel=2,
            )
        return results

    def _contradiction(self) -> str:
        """What cannot stand beside the rest, in words; "" if nothing."""
        frame = self._coefficients()
        estimate, lower, upper = (
            frame[name].to_numpy(float) for name in ("estimate", "lower", "upper")
        )
        if np.isinf(frame[["estimate", "std_error", "lower", "upper"]].to_numpy(float)).any():
            return "it holds an infinite number"
        linear = frame["linear"].to_numpy(float) if "linear" in frame else estimate
        width = upper - lower
        # the interval is that of the linear estimate; another one is near it
        off = [np.clip(linear, lower, upper) - linear, estimate - np.clip(estimate, lower, upper)]
        inside = np.abs(off[0]) <= _ROUNDING
        inside |= (linear < 0.0) | (linear > 1.0)  # the interval is cut to [0, 1]
        good = np.isnan(width) | ((width >= 0.0) & inside & (np.abs(off[1]) <= width + _ROUNDING))
        if good.all():
            return ""
        row = int(np.argmin(good))
        ends = f"[{lower[row]:.4g}, {upper[row]:.4g}]"
        return f"{frame.index[row]!r} is {estimate[row]:.4g}, and its interval {ends}"

    @guided
    def to_json(self) -> str:
        """The results as JSON text, from which `from_json` makes the same ones, to the last digit.

        Up to 1,000 numbers are written as decimals, larger arrays as base64 of their bytes, and a
        covariance matrix by its factors: `ldpstats.documents` says how to read them
        elsewhere. Frequencies as decimals, whatever their number, are in `to_frame`.
        """
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        try:
            document = json.loads(text)
        except (RecursionError, TypeError, ValueError) as error:
            raise InvalidArgument("text", text, f"is not JSON ({error})") from None
        return cls.from_dict(document)
