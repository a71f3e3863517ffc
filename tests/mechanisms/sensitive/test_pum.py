"""PUM: the common mechanism, what respondents send, and Propositions 9 and 10."""

import copy
import inspect
import io as text_io
import itertools
import json
import logging
import pickle
import pydoc
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats import io, privacy
from ldpstats.channels import Mapped
from ldpstats.clients.device import Budget
from ldpstats.sampling.samplers import system_words

Array = npt.NDArray[Any]

MECHANISMS: dict[str, Callable[[Any, Any], Any]] = {
    "urr": lambda categories, sensitive: ldp.URR(categories, sensitive, epsilon=1.0),
    "urap": lambda categories, sensitive: ldp.URAP(categories, sensitive, epsilon=1.0),
}


def report_law(pum: ldp.PUM, row: Array, reports: list[Any]) -> float:
    """p-value of Pearson's test that text reports have the law of a row of Q."""
    found = pum.common.parse("reports", reports)
    if isinstance(pum.common, ldp.URR):
        code = found.y
    else:  # the patterns of protected reports, then the categories that were revealed
        S = len(pum.common.sensitive)
        sensitive = np.isin(np.asarray(pum.common.categories, object), pum.common.sensitive)
        bits = pum.common.format.unpack(found.y)
        told = bits[:, ~sensitive]
        code = np.where(
            told.any(axis=1), 2**S + told.argmax(axis=1), bits[:, sensitive] @ (1 << np.arange(S))
        )
    n = np.bincount(code, minlength=row.size)
    assert not n[row == 0.0].any()
    expected = len(reports) * row[row > 0.0]
    statistic = np.sum((n[row > 0.0] - expected) ** 2 / expected)
    return float(stats.chi2.sf(statistic, expected.size - 1))


REGIONS = ("centre", "park", "clinic", "secret-home-7421", "secret-home-9950", "market")

SECRET, OTHER = "secret-home-7421", "secret-home-9950"

PACKAGE = Path(ldp.__file__).parent


def personal(kind: str) -> ldp.PUM:
    return ldp.PUM(MECHANISMS[kind](REGIONS, {"clinic"}), ("home", "work"))


def failure(call: Callable[[], Any]) -> str:
    """Everything that a call which fails leaves behind, up to the variables of its frames."""
    log = text_io.StringIO()
    handler = logging.StreamHandler(log)
    logger = logging.getLogger("test_pum")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        call()
    except Exception as error:
        logger.exception("a call failed")
        written = [log.getvalue(), traceback.format_exc(), repr(error), repr(error.args)]
        written.append(repr(getattr(error, "__dict__", None)))
        chain: list[BaseException | None] = [error]
        while chain:
            link = chain.pop()
            if link is None:
                continue
            chain += [link.__cause__, link.__context__]
            written.append(f"{type(link)} {link}")
            for frame, _ in traceback.walk_tb(link.__traceback__):
                if PACKAGE in Path(frame.f_code.co_filename).parents:
                    written.append(f"{frame.f_code.co_name}: {frame.f_locals!r}")
        return "\n".join(written)
    else:
        return "it did not fail"
    finally:
        logger.removeHandler(handler)


SMALL: dict[str, ldp.PUM] = {
    "urr": ldp.PUM(ldp.URR(4, {0}, epsilon=1.0), ("home", "work")),
    "urr-weak": ldp.PUM(ldp.URR(4, {0, 2}, epsilon=4.0), ("home", "work")),
    "urr-none": ldp.PUM(ldp.URR(4, (), epsilon=0.3), ("home", "work")),
    "urr-all": ldp.PUM(ldp.URR(4, range(4), epsilon=0.7), ("home", "work")),
    "urr-levels": ldp.PUM(ldp.URR(4, epsilon={0: 2.0, 3: 0.5}), ("home", "work")),
    "urap": ldp.PUM(ldp.URAP(4, {0}, epsilon=1.0), ("home", "work")),
    "urap-none": ldp.PUM(ldp.URAP(4, (), epsilon=2.0), ("home", "work")),
    "urap-theta": ldp.PUM(ldp.URAP(4, {1}, epsilon=1.5, theta=0.6), ("home", "work")),
}


# ---- the common mechanism and what respondents send
@pytest.mark.parametrize("name", SMALL)
def test_bots_are_sensitive_categories_of_the_common_mechanism(name):
    pum = SMALL[name]
    base, common = pum.mechanism, pum.common
    assert common.categories.tolist() == [0, 1, 2, 3, "home", "work"]
    assert common.sensitive.tolist() == [*base.sensitive.tolist(), "home", "work"]
    assert pum.categories.tolist() == [0, 1, 2, 3] and pum.tags.tolist() == ["home", "work"]
    assert type(common) is type(base) and common.audit().agrees
    assert privacy.uldp(common).epsilon == pytest.approx(pum.epsilon, rel=1e-12)


def test_preprocessing_is_each_respondents_own():
    pum = SMALL["urr"]
    values = [1, 1, 2, 0, 3, 2]
    tags = {"home": [1, 2, 2, 0, None, np.nan], "work": [2, 1, 3, 1, 3, None]}
    codes = pum.preprocess(values, tags)
    assert codes.dtype == np.int64
    assert pum.common.categories[codes].tolist() == ["home", "work", "home", "home", "work", 2]
    assert pum.preprocess(values).tolist() == values


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("value", ["clinic", "park", "centre", "market"])
def test_reports_of_a_client_have_the_law_of_her_channel(kind, value):
    regions = ("centre", "park", "clinic", "market")
    pum = ldp.PUM(MECHANISMS[kind](regions, {"clinic"}), ("home", "work"))
    own = {"home": {"park"}, "work": ["market"]}
    client = pum.client(own, entropy=np.random.default_rng(5).bytes, reports=None)
    Q = pum.channel(own).matrix()
    reports = [client.report(value) for _ in range(300)]
    assert report_law(pum, Q[regions.index(value)], reports) > 1e-4
    others = Q[regions.index("centre" if value != "centre" else "park")]
    with pytest.raises(AssertionError):  # control: the law of another category is found out
        assert report_law(pum, others, reports) > 1e-4


@pytest.mark.parametrize("name", SMALL)
def test_specifications_are_read_back(name):
    pum = SMALL[name]
    text = json.dumps(pum.to_dict(), allow_nan=False)
    again = ldp.PUM.from_dict(json.loads(text))
    assert again.to_dict() == pum.to_dict() and again.common == pum.common
    assert str(pum).startswith(f"PUM({pum.mechanism}")


# ---- Propositions 9 and 10, over all pre-processors
def preprocessors(pum: ldp.PUM) -> Iterator[dict[str, set[int]]]:
    """Every way to give each category to one of the tags, or to none."""
    for owner in itertools.product([None, *pum.tags], repeat=len(pum.categories)):
        yield {tag: {x for x, o in enumerate(owner) if o == tag} for tag in pum.tags}


def breaches(Q: Array, protected: Array, sensitive: set[int], epsilon: float) -> list[str]:
    """What of Definition 2 of MK19 a channel breaks, given the protected reports."""
    found = []
    for y in np.flatnonzero(~protected):
        makers = set(np.flatnonzero(Q[:, y]))
        if len(makers) > 1 or makers & sensitive:
            found.append(f"report {y} reveals, but {makers} make it")
    Q = Q[:, protected]
    if not np.all(Q > 0.0):
        found.append("a protected report is impossible for some category")
    elif np.log(Q.max(axis=0) / Q.min(axis=0)).max() > epsilon * (1.0 + 1e-12):
        found.append("a protected report tells categories apart by more than epsilon")
    return found


@pytest.mark.parametrize("name", SMALL)
def test_every_preprocessor_is_protected(name):
    """MK19 Proposition 9, from Q alone."""
    pum = SMALL[name]
    common, base = pum.common.channel().matrix(), set(pum.mechanism.sensitive)
    protected = np.count_nonzero(common, axis=0) > 1
    for own in preprocessors(pum):
        channel = pum.channel(own)
        sensitive = base.union(*own.values())
        assert breaches(channel.matrix(), protected, sensitive, pum.epsilon) == []
        certificate = privacy.uldp(channel, sorted(sensitive))
        assert certificate.holds and certificate.epsilon <= pum.epsilon * (1.0 + 1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_no_protected_report_tells_preprocessors_apart(name):
    """MK19 Proposition 10, for all pairs: from the largest and smallest entry over all."""
    pum = SMALL[name]
    protected = np.count_nonzero(pum.common.channel().matrix(), axis=0) > 1
    every = np.array([pum.channel(own).matrix()[:, protected] for own in preprocessors(pum)])
    apart = np.log(every.max(axis=0) / every.min(axis=0))
    assert apart.max() <= pum.epsilon * (1.0 + 1e-12)
    if name != "urr-levels":  # there the bots have less than the largest epsilon
        assert apart.max() == pytest.approx(pum.epsilon, rel=1e-12)


@pytest.mark.parametrize("name", ["urr", "urap"])
def test_the_check_finds_a_preprocessor_that_uses_no_bot(name):
    pum = SMALL[name]
    protected = np.count_nonzero(pum.common.channel().matrix(), axis=0) > 1
    swapped = Mapped(pum.common.channel(), np.array([0, 2, 1, 3]))  # 1 is hidden behind 2
    assert breaches(swapped.matrix(), protected, {0, 1}, pum.epsilon)
    assert not privacy.uldp(swapped, [0, 1]).holds


# ---- bad input
URR3 = ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0)

PUM3 = ldp.PUM(URR3, ("home", "work"))

SPEC = PUM3.to_dict()


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("unknown tag", lambda: PUM3.client({"gym": {"b"}}), "tags"),
    ("overlapping tags", lambda: PUM3.client({"home": {"b"}, "work": {"b", "c"}}), "tags"),
    ("unknown category", lambda: PUM3.client({"home": {"z"}}), "tags"),
    ("a string of categories", lambda: PUM3.client({"home": "b"}), "tags"),
    ("entropy", lambda: PUM3.client({}, entropy=b"0"), "entropy"),
    ("audit of no mapping", lambda: PUM3.channel(np.array([])), "tags"),
    ("unknown answer", lambda: PUM3.client({}).report("z"), "value"),
    ("a bot as an answer", lambda: PUM3.client({}).report("home"), "value"),
    ("simulated unknown answer", lambda: PUM3.privatize(["z"], rng()), "values"),
    ("simulated bot", lambda: PUM3.privatize(["home"], rng()), "values"),
    ("simulated lengths", lambda: PUM3.privatize(["b"], rng(), {"home": ["b", "c"]}), "tags"),
    ("simulated home", lambda: PUM3.privatize(["b"], rng(), {"home": ["z"]}), "tags"),
    (
        "simulated overlap",
        lambda: PUM3.privatize(["b"], rng(), {"home": ["b"], "work": ["b"]}),
        "tags['work'][0]",
    ),
    ("specification", lambda: ldp.PUM.from_dict({}), "specification"),
    ("version", lambda: ldp.PUM.from_dict(SPEC | {"version": 2}), "specification"),
    ("kind", lambda: ldp.PUM.from_dict(SPEC | {"mechanism": ldp.KRR(3, 1.0).to_dict()}), "mechan"),
    ("file of a PUM", lambda: io.write_mechanism(PUM3, "never.json"), "mechanism"),
]


@pytest.mark.parametrize(("call", "name"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input_is_refused(call, name):
    with pytest.raises(ldp.InvalidArgument) as caught:
        call()
    assert str(caught.value).startswith(name)


def test_missing_answers_are_counted():
    pum, rng = personal("urr"), np.random.default_rng(1)
    homes = ["park", None, "centre"]
    with pytest.raises(ldp.InvalidArgument, match="missing='count'"):
        pum.privatize(["park", None, "centre"], rng, {"home": homes})
    reports = pum.privatize(["park", None, "centre"], rng, {"home": homes}, missing="count")
    assert len(reports) == 2 and reports.n_missing == 1
    common = pum.common.categories[reports.y]
    assert set(common) <= set(pum.common.sensitive)  # both were at home
    with pytest.raises(ldp.InvalidArgument, match="must be 3 categories, one each"):
        pum.privatize(["park", None, "centre"], rng, {"home": homes[:2]}, missing="count")


def test_equal_specifications_are_equal():
    pum = personal("urr")
    again = ldp.PUM.from_dict(json.loads(json.dumps(pum.to_dict())))
    assert again == pum and hash(again) == hash(pum) and again != personal("urap")
    with pytest.raises(ldp.InvalidArgument, match="tags=3: must be a list"):
        ldp.PUM.from_dict(pum.to_dict() | {"tags": 3})


# Everything that the collector and the analyst write keeps the respondents' secrets.
def analyst_artefacts(kind: str, own: str, folder: Path) -> dict[str, bytes]:
    """A survey of respondents at home in `own`, from the reports to the plots."""
    pum = personal(kind)
    values = [own] * 300 + ["centre"] * 400 + ["park"] * 200 + ["clinic"] * 100
    homes = [own] * 300 + [own] * 400 + [None] * 200 + ["market"] * 100
    reports = pum.privatize(values, np.random.default_rng(4), {"home": homes})
    tally, bits = reports.tally(), reports.tally(bits=True) if kind == "urap" else reports.tally()
    flat = np.full(len(REGIONS), 1 / len(REGIONS))
    cases: dict[str, dict[str, Any]] = {
        "I": {},
        "II": {"background": {"home": flat}},
        "III": {"background": {"home": flat, "work": flat}, "exact": True},
    }
    found: dict[str, Any] = {
        "reports": reports.y.tobytes(),
        "pickled reports": pickle.dumps(reports),
        "pickled counts": pickle.dumps(tally),
        "pickled sums": pickle.dumps(bits),
        "text": repr((reports, tally, bits, pum, str(pum), str(pum.common))),
        "labels": repr(pum.common.report_labels(reports).tolist()),
        "specification": json.dumps([pum.to_dict(), pum.common.to_dict(), pum.common.fingerprint]),
        "audit": f"{pum.common.audit()} {privacy.uldp(pum.common)}",
    }
    io.write_mechanism(pum.common, folder / "spec.json")
    io.write_reports(reports, folder / "reports.csv")
    io.write_reports(reports, folder / "reports.parquet")
    for name in ("spec.json", "reports.csv", "reports.parquet"):
        found[name] = (folder / name).read_bytes()
    assert io.read_counts(folder / "reports.csv", pum.common).nobs == 1000
    for case, known in cases.items():
        for data in (tally, bits):
            model = ldp.PersonalizedModel(data, pum, **known)
            results, at = model.fit(), f"{case} {type(data).__name__}"
            summary = results.summary()
            found[f"model {at}"] = repr(model) + repr(results) + repr(vars(results))
            found[f"json {at}"] = results.to_json()
            found[f"summary {at}"] = summary.as_text() + summary.as_html() + summary.as_latex()
            found[f"frame {at}"] = results.summary_frame().to_csv() + results.case.to_csv()
            found[f"bound {at}"] = results.loss_bound().to_csv() + results.background.to_csv()
            found[f"pickle {at}"] = pickle.dumps(results)
            if data is tally:
                found[f"plot {at}"] = svg(results)
            found[f"error {at}"] = str(failure(lambda r=results: r.t_test("nowhere = 0")))
    found["another mechanism"] = failure(
        lambda: ldp.PersonalizedModel(pum.mechanism.draw(flat, 9, np.random.default_rng(1)), pum)
    )
    encoded = {k: v if isinstance(v, bytes) else v.encode() for k, v in found.items()}
    return {k: re.sub(rb"0x[0-9a-f]+", b"0x", v) for k, v in encoded.items()}


def svg(results: ldp.PersonalizedResults) -> bytes:
    drawn = text_io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "test", "svg.fonttype": "none"}):
        results.plot().figure.savefig(drawn, format="svg", metadata={"Date": None})
    plt.close("all")
    return drawn.getvalue()


@pytest.mark.parametrize("kind", MECHANISMS)
def test_the_analyst_writes_the_same_whatever_the_secrets(kind, tmp_path):
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    first, second = (
        analyst_artefacts(kind, own, folder)
        for own, folder in zip((SECRET, OTHER), folders, strict=True)
    )
    assert {name for name in first if first[name] != second[name]} == set()
    for name, text in first.items():  # as often as the other region that no one reported
        assert text.count(SECRET.encode()) == text.count(OTHER.encode()), name


def test_the_check_of_the_analyst_finds_another_survey(tmp_path):
    """Control: homes that are no one's secret are reported, and counted."""
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    first = analyst_artefacts("urr", SECRET, folders[0])
    pum = personal("urr")
    open_ = pum.privatize([SECRET] * 300, np.random.default_rng(4), {"home": ["park"] * 300})
    assert SECRET in pum.common.report_labels(open_).tolist()
    assert first["reports"] != open_.y.tobytes()


@pytest.mark.parametrize("kind", MECHANISMS)
def test_equal_intermediate_values_have_equal_laws(kind):
    """Of two respondents at home, in different regions, exactly; and of both and the bot."""
    pum = personal(kind)
    bot = pum.common.channel().matrix()[len(REGIONS)]
    for own in (SECRET, OTHER):
        row = pum.channel({"home": {own}}).matrix()[REGIONS.index(own)]
        np.testing.assert_array_equal(row, bot)
        client = pum.client({"home": {own}}, np.random.default_rng(8).bytes, reports=None)
        reports = [client.report(own) for _ in range(300)]
        assert report_law(pum, bot, reports) > 1e-4
        with pytest.raises(AssertionError):  # control: a device that always says "home"
            said = ["home"] * 300 if kind == "urr" else ["00000010"] * 300
            assert report_law(pum, bot, said) > 1e-4


def test_a_client_cannot_privatise_files(tmp_path):
    (tmp_path / "answers.csv").write_text("answer\npark\n")
    client = personal("urr").client({"home": {SECRET}})
    with pytest.raises(ldp.InvalidArgument, match="client") as caught:
        io.privatize_file(tmp_path / "answers.csv", tmp_path / "out.csv", "answer", client)
    assert SECRET not in str(caught.value) and not (tmp_path / "out.csv").exists()


# Everything that a respondent's device can be made to write keeps her secret.
ADDRESS = re.compile(r"0x[0-9a-f]+")  # where an object is in memory


class Tape:
    """The same random bytes for every device, and a note of what was asked for."""

    def __init__(self) -> None:
        self.rng, self.asked, self.broken = np.random.default_rng(9), [], False

    def __call__(self, n: int) -> bytes:
        self.asked.append(n)
        if self.broken:
            raise OSError("no randomness")
        return self.rng.bytes(n)

    def __repr__(self) -> str:
        return "Tape()"


def device_artefacts(client: ldp.PUMClient, tape: Tape, own: str) -> dict[str, str]:
    """What a device writes, whose own region is `own`, in a session that is the same for all."""
    logged = text_io.StringIO()
    handler = logging.StreamHandler(logged)
    root = logging.getLogger()
    level, root.level = root.level, logging.DEBUG
    root.addHandler(handler)
    try:
        found: dict[str, str] = {
            "reports of her own region": repr([client.report(own) for _ in range(20)]),
            "reports of other regions": repr([client.report(x) for x in REGIONS[:3]]),
            "random bytes that were asked for": repr(tape.asked),
            "repr": repr(client),
            "str": f"{client} {client!s} {client:}",
            "dir": repr(dir(client)),
            "help": pydoc.render_doc(client),
            "specification": json.dumps(client.mechanism.to_dict()) + client.mechanism.fingerprint,
            "members": repr([m for m in inspect.getmembers(client) if m[0] != "__hash__"]),
            "slots": repr([repr(getattr(client, s, None)) for s in type(client).__slots__]),
            "vars": failure(lambda: vars(client)) + repr(getattr(client, "__dict__", None)),
            "copy": failure(lambda: copy.copy(client)),
            "deepcopy": failure(lambda: copy.deepcopy(client)),
            "json": failure(lambda: json.dumps(client)),
        }
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            found[f"pickle {protocol}"] = failure(lambda p=protocol: pickle.dumps(client, p))
        for value in ("nowhere", None, 3, ["park"], np.nan, {"a": 1}):
            found[f"report of {value}"] = failure(lambda v=value: client.report(v))
        tape.broken = True
        found["report without randomness"] = failure(lambda: client.report(SECRET))
        found["report of another without randomness"] = failure(lambda: client.report("park"))
        tape.broken = False
    finally:
        root.removeHandler(handler)
        root.level = level
    found["log"] = logged.getvalue()
    return {name: ADDRESS.sub("0x", text) for name, text in found.items()}


def device(kind: str, own: str, cls: type[ldp.PUMClient] = ldp.PUMClient) -> dict[str, str]:
    pum, tape = personal(kind), Tape()
    codes = pum._preprocessor({"home": {own}, "work": {"market"}})
    client = cls(pum.common, codes, len(REGIONS), system_words(tape), Budget(None))
    return device_artefacts(client, tape, own)


def leaks(kind: str, cls: type[ldp.PUMClient] = ldp.PUMClient) -> set[str]:
    """What two devices write differently that differ in their secret only."""
    first, second = device(kind, SECRET, cls), device(kind, OTHER, cls)
    assert first.keys() == second.keys()
    return {name for name in first if first[name] != second[name]}


@pytest.mark.parametrize("kind", MECHANISMS)
def test_two_devices_that_differ_in_their_secret_write_the_same(kind):
    assert leaks(kind) == set()


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_device_names_her_region_no_more_than_any_other(kind):
    """As one of the categories, which are public, and as a value that the caller passed."""
    for name, text in device(kind, SECRET).items():
        if name == "report without randomness":  # of this very region: her answer, not her secret
            continue
        assert text.count(SECRET) == text.count(OTHER), name


def test_the_public_ways_make_the_same_client():
    """`PUM.client` is what the other tests take apart; it keeps nothing of its arguments."""
    pum, tapes = personal("urr"), (Tape(), Tape())
    own = {"home": {SECRET}, "work": {"market"}}
    client = pum.client(own, entropy=tapes[0], reports=None)
    codes = pum._preprocessor(own)
    words, unlimited = system_words(tapes[1]), Budget(None)
    same = ldp.PUMClient(pum.common, codes, len(REGIONS), words, unlimited)
    codes[:] = 0  # a client has a copy
    own["home"].clear()
    values = [*REGIONS, *[SECRET] * 20]
    assert [client.report(v) for v in values] == [same.report(v) for v in values]
    assert not hasattr(client, "__dict__")


class LeakyAttribute(ldp.PUMClient):
    """Keeps the pre-processor in an attribute."""

    def __init__(self, common: Any, preprocessor: Array, k: int, words: Any, budget: Any) -> None:
        super().__init__(common, preprocessor, k, words, budget)
        self.codes = preprocessor

    __slots__ = ("codes",)


class LeakyLog(ldp.PUMClient):
    """Logs what an answer is mapped to."""

    def report(self, value: object) -> Any:
        sent = super().report(value)
        logging.getLogger("client").debug("mapped %s, sent %s", value, sent)
        return sent

    __slots__ = ()


class LeakyTraceback(ldp.PUMClient):
    """Lets an error of the sampler through, whose frames hold the pre-processor."""

    def report(self, value: object) -> Any:
        return self._report(REGIONS.index(value))

    __slots__ = ()


class LeakyRandomness(ldp.PUMClient):
    """Draws more randomness where there is nothing to hide."""

    def __init__(self, common: Any, preprocessor: Array, k: int, words: Any, budget: Any) -> None:
        super().__init__(common, preprocessor, k, words, budget)
        self.extra = lambda value: preprocessor[REGIONS.index(value)] < k and words(1)

    def report(self, value: object) -> Any:
        if value in REGIONS:
            self.extra(SECRET)
        return super().report(value)

    __slots__ = ("extra",)


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize(
    ("cls", "where"),
    [
        (LeakyAttribute, "slots"),
        (LeakyLog, "log"),
        (LeakyTraceback, "report without randomness"),
        (LeakyRandomness, "random bytes that were asked for"),
    ],
)
def test_leaky_devices_are_caught(kind, cls, where):
    assert where in leaks(kind, cls)


def enrolment(kind: str, own: str) -> dict[str, str]:
    """What attempts to make a client leave behind that fail, all with her region in their hands."""
    pum = personal(kind)
    attempts: dict[str, Callable[[], Any]] = {
        "tag and category swapped": lambda: pum.client({own: {"home"}}),
        "category twice": lambda: pum.client({"home": {own}, "work": {own, "park"}}),
        "no set": lambda: pum.client({"home": own}),
        "misspelled": lambda: pum.client({"home": {own + "x"}}),
        "misspelled among others": lambda: pum.client({"work": {"park"}, "home": [own, own + "x"]}),
        "nested": lambda: pum.client({"home": [[own]]}),
        "nested deeper": lambda: pum.client({"home": [[own], [own, own]]}),
        "an object": lambda: pum.client({"home": [{own}]}),
        "a pair": lambda: pum.client({"home": [(own, 1)]}),
        "a broken list": lambda: pum.client({"home": broken(own)}),
        "bytes": lambda: pum.client({"home": own.encode()}),
        "no dict": lambda: pum.client([own]),
        "no dict but text": lambda: pum.client(own),
        "no function": lambda: pum.client({"home": {own}}, entropy=5),
    }
    found = {}
    for name, attempt in attempts.items():
        with pytest.raises(ldp.LDPError) as caught:
            attempt()
        error, chain = caught.value, []
        link: BaseException | None = error
        while link is not None:
            chain.append(f"{type(link).__name__} {link} {link.args} {vars(link)}")
            link = link.__cause__ or link.__context__
        log = text_io.StringIO()
        handler = logging.StreamHandler(log)
        logging.getLogger("test_pum").addHandler(handler)
        logging.getLogger("test_pum").error("no client", exc_info=error)
        logging.getLogger("test_pum").removeHandler(handler)
        found[name] = "\n".join([*chain, *traceback.format_exception_only(error), log.getvalue()])
    return found


def broken(own: str) -> Iterator[str]:
    """A list that fails with a message of its own."""
    yield own
    raise RuntimeError(f"{own} was moved")


@pytest.mark.parametrize("kind", MECHANISMS)
def test_no_error_of_enrolment_shows_what_was_given(kind):
    first, second = enrolment(kind, SECRET), enrolment(kind, OTHER)
    for name, text in first.items():
        assert text == second[name], name
        assert SECRET not in text and "secret-home" not in text, name


def test_an_answer_that_is_none_is_not_shown():
    """A simulation shows it, so that this check can fail."""
    with pytest.raises(ldp.UnknownCategory) as found:
        personal("urr").client({}).report(SECRET + "x")
    assert SECRET not in str(found.value) and found.value.__context__ is None
    with pytest.raises(ldp.UnknownCategory, match="secret-home-7421x"):
        personal("urr").common.privatize([SECRET + "x"], np.random.default_rng(1))


def below(error: BaseException) -> str:
    """What a logger could write of the frames below the caller's, local variables included."""
    trace = error.__traceback__
    assert trace is not None
    stack = traceback.StackSummary.extract(traceback.walk_tb(trace.tb_next), capture_locals=True)
    return str(error) + "".join(stack.format())


@pytest.mark.parametrize("kind", ["urr", "urap"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, MemoryError])
def test_no_frame_of_a_failure_knows_the_secret(kind, failure):
    """Not even where a logger writes local variables, causes and contexts."""

    def broken(n: int) -> bytes:
        try:
            raise ZeroDivisionError
        except ZeroDivisionError:
            raise failure from None

    def written(own: str) -> str:
        device = personal(kind).client({"home": {own}}, entropy=broken)
        with pytest.raises(failure) as found:
            device.report("park")
        assert found.value.__context__ is None and found.value.__cause__ is None
        return below(found.value)

    assert written(SECRET) == written("park")


def test_no_frame_of_a_refused_client_knows_the_secret():
    def written(own: str) -> str:
        with pytest.raises(ldp.InvalidArgument) as found:
            personal("urr").client({"home": {own, own + "typo"}})
        return below(found.value)

    text = written(SECRET)
    assert "typo" not in text and text == written("park")


def test_a_client_is_not_copied():
    client = PUM3.client({"home": {"b"}})
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ldp.NotAvailable, match="make it anew"):
            attempt(client)
