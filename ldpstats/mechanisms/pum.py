"""Personalised utility-optimised mechanisms: what is sensitive may differ between respondents."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ldpstats.arguments import html_table, one_of, record
from ldpstats.channels.structured import Mapped
from ldpstats.clients.device import (
    Budget,
    Device,
    Specified,
    check_audit,
    check_fields,
    check_fingerprint,
    client_document,
    opened_budget,
    secretive,
    stripped,
    texts,
)
from ldpstats.errors import HIDDEN, InvalidArgument, NotAvailable, UnknownCategory
from ldpstats.labels import (
    Codes,
    Labels,
    as_labels,
    as_series,
    column_name,
    encode,
    labels_from_json,
)
from ldpstats.mechanisms.base import Mechanism, set_fields
from ldpstats.mechanisms.custom import CustomMechanism, Panel, listed_mechanism
from ldpstats.mechanisms.sensitive import URAP, URR, checked_levels, secret_codes
from ldpstats.reports.single import Reports
from ldpstats.sampling.samplers import Words, simulation_words

_FORMAT, _VERSION = "ldpstats-pum", 1


@record
class PUM(Specified):
    """Personalised ULDP mechanism (MK19 section 5): respondents keep secret what they protect.

    Some categories are sensitive for everyone, those of `mechanism`. Beyond them each respondent
    has her own, under the tags that all share, such as her home and her workplace. Her device first
    maps a category of hers to the bot of its tag (the pre-processor, which never leaves the device)
    and then runs the mechanism `common` to all, for which the bots are sensitive categories too.
    The collector sees reports of `common`. A protected report tells next to nothing of which
    categories a respondent sends to a bot (Proposition 10); one that reveals a category tells that
    it is not among them.

    Parameters
    ----------
    mechanism : URR or URAP
        Over the k categories, with those that are sensitive for all respondents; there may be none.
    tags : sequence of labels, or dict from label to float
        Names of the kappa bots; none of them a category. A dict gives each bot an epsilon of its
        own, in nats.
    levels : sequence of float, optional
        Epsilon of each bot, in the order of the tags: what a dict becomes. By default that of the
        mechanism, the smallest where its sensitive categories have an epsilon each.

    Raises
    ------
    InvalidArgument
        For another mechanism, for tags that are a category or occur twice, and for an epsilon that
        is not positive.

    Notes
    -----
    A respondent's own category has the epsilon of its tag: no protected report raises its odds
    against any other category by more than e to that power, the odds of categories under the same
    tag among each other not at all. What such a report tells of her tags has the same bound: the
    odds that she sends an answer to the bot and does not leave it as it is (Proposition 10).

    Examples
    --------
    >>> regions = ("centre", "park", "hospital")
    >>> pum = PUM(URR(regions, {"hospital"}, epsilon=1.0), tags=("home", "work"))
    >>> print(pum.common)
    URR(k=5, sensitive={'hospital', 'home', 'work'}, epsilon=1)
    >>> client = pum.client({"home": {"park"}})
    >>> client.report("park") in ("hospital", "home", "work")   # her home is always protected
    True

    Her home is to be better protected than her workplace:

    >>> pum = PUM(URR(regions, {"hospital"}, epsilon=1.0), tags={"home": 0.5, "work": 2.0})
    >>> pum.common.levels, pum.epsilon
    ((1.0, 0.5, 2.0), 2.0)
    """

    mechanism: URR | URAP
    tags: Any
    levels: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, URR | URAP):
            remedy = "must be a URR or a URAP over the categories"
            raise InvalidArgument("mechanism", self.mechanism, remedy)
        if isinstance(self.tags, int | np.integer | pd.RangeIndex):
            raise InvalidArgument("tags", self.tags, 'must be names, for example ("home", "work")')
        given, levels = self.tags, self.levels
        if isinstance(given, Mapping):
            if levels is not None:
                raise InvalidArgument("levels", levels, "goes without an epsilon of each tag")
            given, levels = list(given), [given[tag] for tag in given]
        tags = as_labels("tags", given, least=1)
        taken = set(map(str, self.categories))
        for tag in tags.tolist():
            if tag in self.categories or str(tag) in taken:
                raise InvalidArgument("tags", tag, "is a category already: name the bot otherwise")
        if levels is not None:
            levels = checked_levels(levels, tags, "tags")
            if set(levels) == {self._default}:
                levels = None
        set_fields(self, tags=pd.Index(tags.to_numpy(), dtype=tags.dtype), levels=levels)

    def matrix(self) -> NoReturn:
        """Refused: what a respondent's categories are is hers."""
        raise NotAvailable(
            "the law of reports differs by respondent: common.matrix() is that of answers once her "
            "own categories have become tags"
        )

    @property
    def _default(self) -> float:
        """Epsilon of bots that have none of their own."""
        return float(min(self.mechanism.levels or [self.mechanism.epsilon]))

    @property
    def categories(self) -> Labels:
        """The categories of true answers, without the bots."""
        return self.mechanism.categories  # type: ignore[no-any-return]

    @cached_property
    def common(self) -> URR | URAP:
        """The mechanism that all respondents run and the collector knows.

        Its categories are those of true answers and then the bots, its sensitive ones those that
        are sensitive for all and the bots.
        """
        base, tags = self.mechanism, self.tags.tolist()
        own = base.levels or (base.epsilon,) * len(base.sensitive)
        each = (*own, *(self.levels or [self._default] * len(tags)))
        return replace(
            base,
            categories=[*self.categories.tolist(), *tags],
            sensitive=[*base.sensitive.tolist(), *tags],
            epsilon=max(each),
            levels=each,
        )

    @property
    def epsilon(self) -> float:
        """Privacy of a report from a sensitive category, in nats, the respondent's own included."""
        return float(self.common.epsilon)

    def channel(self, tags: Mapping[Any, Any] | None = None) -> Mapped:
        """Q of a respondent who has these categories of her own, as if they were known.

        For audits: with ``privacy.uldp(pum.channel(tags), sensitive)`` Proposition 9 can be seen to
        hold, and with two of them Proposition 10.

        Parameters
        ----------
        tags : mapping from tag to categories, optional
            As for `client`.
        """
        return Mapped(self.common.channel(), self._preprocessor({} if tags is None else tags))

    def joint_law(
        self, waves: int | Sequence[PUM] = 2, tags: Mapping[Any, Any] | None = None
    ) -> Panel:
        """The law of one respondent's reports in several waves, given her intermediate categories.

        Parameters
        ----------
        waves : int, or sequence of PUM
            How many waves of this mechanism; or the mechanism of each, with the same tags.
        tags : mapping from tag to categories, optional
            Those of a respondent, as for `client`: the paths are then of her answers. By default
            they are of intermediate categories, those of `common`.

        Returns
        -------
        Panel

        Raises
        ------
        InvalidArgument
            For less than two waves, what is no PUM, and tags as for `client`.
        NotAvailable
            For a URAP, whose reports are not labels, and for too many paths.

        Notes
        -----
        A tag is a fact about a respondent, and no response that her device drew: nothing random is
        kept, and `common` draws every report afresh. Let z(x) be the intermediate category of her
        answer x: the bot of its tag, or x itself. Given her tags, her reports are independent,

            P(r_1, ..., r_T | x_1, ..., x_T, tags) = prod_t Q[z(x_t), r_t],

        with Q the channel of `common`. Her tags are in it through the path z(x_1), ..., z(x_T)
        alone, so the paths of intermediate categories determine the law, and can be estimated.
        Given the answers without the tags it is the mean of these products over P(tags | x_1, ...,
        x_T), which nobody knows: reports then depend on each other through the tags, and there is
        no law to compute.

        Examples
        --------
        >>> regions = ("centre", "park", "hospital")
        >>> pum = PUM(URR(regions, {"hospital"}, epsilon=1.0), tags=("home",))
        >>> law = pum.joint_law(2)
        >>> law.k, law.categories[1], pum.joint_epsilon(2)
        (16, 'centre, park', 2.0)
        >>> hers = pum.joint_law(2, tags={"home": {"park"}}).matrix()
        >>> bool(np.allclose(hers.loc["park, park"], law.matrix().loc["home, home"]))
        True
        """
        made = self._waves(waves)
        parts: list[Any] = [one.common for one in made]
        if tags is None:
            return Panel.of([listed_mechanism("mechanism", part) for part in parts])
        for t, one in enumerate(made):
            part = listed_mechanism("mechanism", parts[t])
            Q = one.channel(tags).matrix()
            parts[t] = CustomMechanism(Q, one.categories, part.outputs, description=str(one))
        return Panel.of(parts)

    def joint_epsilon(self, waves: int | Sequence[PUM]) -> float:
        """Epsilon of the protected reports of several waves together: the sum, in nats.

        Parameters
        ----------
        waves : int, or sequence of PUM
            As for `joint_law`.
        """
        return float(sum(one.epsilon for one in self._waves(waves)))

    def _waves(self, waves: Any) -> list[PUM]:
        """The mechanism of each wave, all this one if `waves` is their number."""
        made = self.common._waves(waves)
        if isinstance(waves, int | np.integer):
            return [self] * len(made)
        for one in made:
            if not isinstance(one, PUM) or not one.tags.equals(self.tags):
                raise InvalidArgument("waves", one, "must be PUMs with the same tags")
        return made

    @partial(stripped, harmless=lambda error: error)  # a logger may write what is in its frame
    def client(
        self,
        tags: Mapping[Any, Any],
        entropy: Callable[[int], bytes] | None = None,
        *,
        reports: int | None = 1,
        state: str | os.PathLike[str] | None = None,
        max_epsilon: float | None = None,
        allow_no_privacy: bool = False,
    ) -> PUMClient:
        """One respondent's client, with her own sensitive categories.

        Parameters
        ----------
        tags : mapping from tag to a set of categories
            Her own categories of each tag, for example ``{"home": {"park"}}``; tags that she has no
            category for may be left out. They are kept nowhere but in the client's memory.
        entropy, reports, state, max_epsilon, allow_no_privacy
            As for `Mechanism.client`.

        Raises
        ------
        InvalidArgument
            For an unknown tag or category, or a category that is given to two tags. No
            message shows what she gave: it might be written to a log. And as `Mechanism.client`.
        MechanismMismatch
            For the file of a client of another mechanism.
        """
        limits = {"max_epsilon": max_epsilon, "allow_no_privacy": allow_no_privacy}
        words = self.common.collector(entropy, **limits).words  # type: ignore[arg-type]
        budget = opened_budget(reports, state, {"fingerprint": self.fingerprint})
        k = len(self.categories)
        return PUMClient(self.common, self._preprocessor(tags), k, words, budget)

    def _question_document(self) -> dict[str, Any]:
        tags = [str(tag) for tag in self.tags.tolist()]
        draw = {"kind": "personal", "tags": tags, "draw": self.common._draw_document()}
        common = self.common._question_document()
        return common | {"answers": texts(self.categories), "draw": draw}

    def client_document(self) -> dict[str, Any]:
        """What a device without Python is given, see `Mechanism.client_document`.

        The tags are in it, but nobody's categories: these stay on the device.

        Raises
        ------
        InvalidArgument
            As for `Mechanism.client_document`.

        Examples
        --------
        >>> pum = PUM(URR(("centre", "park", "hospital"), {"hospital"}, 1.0), tags=("home",))
        >>> draw = pum.client_document()["question"]["draw"]
        >>> draw["kind"], draw["tags"], draw["draw"]["by"]
        ('personal', ['home'], [2, 3])
        """
        check_audit(self.common.audit())
        asked = {"question": self._question_document()}
        return client_document(self.fingerprint, self.common._spent(), asked)

    def _preprocessor(self, tags: object) -> Codes:
        """Code of the intermediate category that each category is mapped to (MK19 eq. 19)."""
        if not isinstance(tags, Mapping):
            remedy = "must be a dict from tags to sets of categories"
            raise InvalidArgument("tags", type(tags).__name__, remedy)
        k = len(self.categories)
        codes, owner = np.arange(k), dict[int, Any]()
        for tag, own in tags.items():
            if not pd.api.types.is_scalar(tag) or tag not in self.tags:
                # not shown: a category that was written in its place would be
                remedy = f"is no tag: the tags are {self.tags.tolist()}"
                raise InvalidArgument("tags", "a name", remedy)
            for code in secret_codes(tag, own, self.categories):
                if owner.setdefault(code, tag) != tag:
                    remedy = "share a category: give it to one of them"
                    raise InvalidArgument("tags", [owner[code], tag], remedy)
                codes[code] = k + int(self.tags.get_loc(tag))
        return codes

    # -- simulation ------------------------------------------------------------------------------

    def preprocess(self, values: object, tags: Mapping[Any, Any] | None = None) -> Codes:
        """Codes of the intermediate categories of many simulated respondents.

        Parameters
        ----------
        values : array-like, shape (n,)
            True categories.
        tags : mapping from tag to array-like, shape (n,)
            The category of each respondent that the tag is for, for example ``{"home": homes}``;
            missing (None, NaN) for those who have none.

        Returns
        -------
        array of int64, shape (n,)
            Positions in ``common.categories``.

        Raises
        ------
        InvalidArgument
            For an unknown tag, arrays of another length, or a respondent with one category under
            two tags.
        UnknownCategory
            For an unknown category.
        """
        codes = np.array(encode("values", values, self.categories)[0])
        k, owned = len(self.categories), np.full(codes.size, -1)
        out = codes.copy()
        if tags is not None and not isinstance(tags, Mapping):
            raise InvalidArgument("tags", tags, "must be a dict from tags to arrays of categories")
        for tag, own in (tags or {}).items():
            if tag not in self.tags:
                raise InvalidArgument("tags", tag, f"is no tag: the tags are {self.tags.tolist()}")
            series = as_series(f"tags[{tag!r}]", own)
            present = series.notna().to_numpy()
            theirs, held = np.full(len(series), -1, dtype=np.int64), series[present]
            if pd.api.types.is_float_dtype(held) and isinstance(self.categories, pd.RangeIndex):
                held = held.astype(object).map(lambda v: int(v) if v.is_integer() else v)
            theirs[present] = encode(f"tags[{tag!r}]", held.tolist(), self.categories)[0]
            if theirs.size != codes.size:
                remedy = f"must be {codes.size} categories, one each"
                raise InvalidArgument(f"tags[{tag!r}]", theirs.size, remedy)
            hit = theirs == codes
            for i in np.flatnonzero(hit & (owned >= 0)):
                remedy = f"is under the tag {self.tags[owned[i]]!r} too: give it to one of them"
                raise InvalidArgument(f"tags[{tag!r}][{i}]", "a category", remedy)
            owned[hit] = int(self.tags.get_loc(tag))
            out[hit] = k + owned[hit]
        return out

    def privatize(
        self,
        values: object,
        rng: np.random.Generator,
        tags: Mapping[Any, Any] | None = None,
        missing: str = "raise",
    ) -> Reports:
        """Simulate the reports of many respondents, each with a pre-processor of her own.

        Parameters
        ----------
        values, tags
            As for `preprocess`.
        rng, missing
            As in `Mechanism.privatize`.

        Returns
        -------
        Reports
            Of the mechanism `common`.

        Examples
        --------
        >>> pum = PUM(URAP(4, {0}, epsilon=1.0), tags=("home",))
        >>> homes = [1, 2, None]
        >>> reports = pum.privatize([1, 3, 2], np.random.default_rng(1), tags={"home": homes})
        >>> reports.mechanism == pum.common, len(reports)
        (True, 3)
        """
        words, n_missing, name = simulation_words(rng), 0, column_name(values)
        if one_of("missing", missing, ("raise", "count")) == "count":
            series = as_series("values", values)
            given = series.notna().to_numpy()
            values, n_missing = series[given], int((~given).sum())
            theirs = dict(tags) if n_missing and isinstance(tags, Mapping) else {}
            for tag, own in theirs.items():  # of respondents who gave an answer
                everyone = as_series(f"tags[{tag!r}]", own)
                if len(everyone) != given.size:
                    remedy = f"must be {given.size} categories, one each"
                    raise InvalidArgument(f"tags[{tag!r}]", len(everyone), remedy)
                theirs[tag] = everyone[given]
            tags = theirs or tags
        codes = self.preprocess(values, tags)
        return Reports(self.common.sample(codes, words), self.common, n_missing, name=name)

    # -- specification ---------------------------------------------------------------------------

    def _specification(self) -> dict[str, Any]:
        document = {"format": _FORMAT, "version": _VERSION, "mechanism": self.mechanism.to_dict()}
        document["tags"] = self.tags.tolist()
        # without levels as it was written before there were any
        return document | ({} if self.levels is None else {"levels": list(self.levels)})

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> PUM:
        """Inverse of `to_dict`.

        Raises
        ------
        InvalidArgument
            For another document, or one of another version, and a fingerprint that is missing or
            not that of the other fields.
        """
        fields = "format", "version", "mechanism", "tags"
        document = check_fields(document, _FORMAT, _VERSION, fields, ("levels",))
        kind = document["mechanism"]
        name = kind.get("mechanism") if isinstance(kind, dict) else None
        if name not in ("URR", "URAP"):
            raise InvalidArgument("mechanism", name, "must be a URR or a URAP")
        if not isinstance(document["tags"], list):
            raise InvalidArgument("tags", document["tags"], "must be a list of names")
        base: Any = Mechanism.from_dict(kind)
        made = cls(base, labels_from_json("tags", document["tags"]), document.get("levels"))
        check_fingerprint(document, made.fingerprint)
        return made

    def _repr_html_(self) -> str:
        """The parameters, in a notebook."""
        tags = ", ".join(self._named_tags())
        return html_table("PUM", [("mechanism", str(self.mechanism)), ("tags", tags)])

    def __str__(self) -> str:
        tags = self.tags.tolist() if self.levels is None else f"{{{', '.join(self._named_tags())}}}"
        return f"PUM({self.mechanism}, tags={tags})"

    def _named_tags(self) -> list[str]:
        """The tags in words, each with an epsilon of its own if it has one."""
        if self.levels is None:
            return [str(tag) for tag in self.tags]
        named = zip(self.tags.tolist(), self.levels, strict=True)
        return [f"{tag!r}: {level:.12g}" for tag, level in named]


# -- The respondent's device under a personalised mechanism, which keeps her categories to itself --


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
        preprocessor: Codes,
        k: int,
        words: Words,
        budget: Budget,
    ) -> None:
        secret = preprocessor.copy()

        def report(code: int) -> Any:
            # by its code: a label would be looked up again, in a time that depends on its type
            return common._sent(secret[code], words)

        self.mechanism = common
        self._answers = common.categories[:k]
        self._budget = budget
        self._report = report

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

        def draw() -> Any:
            try:
                code = int(encode("value", [value], self._answers)[0][0])
            except InvalidArgument:
                code = None
            if code is None:  # raised out here: the message of the other shows the answer
                remedy = f"is none of the {len(self._answers)} categories of answers"
                raise UnknownCategory("value", HIDDEN, remedy)
            return self._report(code)

        return self._budget.spend(draw)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise NotAvailable(
            "a client under a PUM is not written out, copied or pickled: it holds the respondent's "
            "secret; make it anew on her device"
        )
