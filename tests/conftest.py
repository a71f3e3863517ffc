"""Fixtures that all tests share."""

import os
import shutil
import signal
import sys

import pytest

collect_ignore_glob = ["reference/*"]  # programs of other packages, with their output

os.environ.setdefault("MPLBACKEND", "Agg")  # no test opens a window
# small matrices many times over: threads that wait for one another cost more than they do
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def replications():
    """Replications that a slow simulation runs, given how many its full size has.

    ``LDPSTATS_SLOW_SHARE`` (default 1) scales them; `least`, 300 if not given, are always kept,
    for fewer say too little. Where each costs much, `least` is what finds the defects that its
    control shows. Bands must be computed from the returned number.
    """
    share = _share()
    return lambda full, least=300: min(full, max(least, round(share * full)))


@pytest.fixture(scope="session")
def attempts():
    """Attempts that a slow test with programs of its own makes, given how many its full size has.

    Unlike replications none are needed for a band: ten are always kept.
    """
    share = _share()
    return lambda full: min(full, max(10, round(share * full)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A small share of the slow suite takes every second setting of tests with four or more.

    Of more than forty it takes every third: two of three of these, so that no factor of a grid is
    always at one level.
    """
    if _share() >= 0.5:
        return
    settings: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow"):
            settings.setdefault(item.nodeid.split("[")[0], []).append(item)
    left = {item.nodeid for some in settings.values() if len(some) > 3 for item in some[1::2]}
    for some in (some[::2] for some in settings.values() if len(some) > 40):
        left |= {item.nodeid for i, item in enumerate(some) if (0.618034 * i) % 1.0 > 2.0 / 3.0}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
    items[:] = [item for item in items if item.nodeid not in left]


def pytest_configure(config: pytest.Config) -> None:
    """With -n a worker takes a run of files, and steals of what the others have left.

    It loads less twice than one that gets tests in turn, and does not idle beside a long one.
    """
    if config.getoption("dist", "no") == "load":  # what pytest-xdist makes of -n
        config.option.dist = "worksteal"


def _share() -> float:
    return float(os.environ.get("LDPSTATS_SLOW_SHARE", "1"))


@pytest.fixture
def without_goodness(monkeypatch):
    """Fits leave out their goodness of fit, as where there are too few reports for it.

    It takes up to four fifths of a fit, and estimates, intervals and tests do not rest on it.
    """
    monkeypatch.setattr("ldpstats.models.frequency.model.goodness_of_fit", lambda *_: None)


@pytest.fixture
def signals_heard():
    """No signal is ignored, as some are under nohup, which programs that a test starts inherit."""
    usual = {
        signal.SIGHUP: signal.SIG_DFL,
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    before = {number: signal.getsignal(number) for number in usual}
    for number, handler in before.items():
        signal.signal(number, usual[number] if handler == signal.SIG_IGN else handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def spark():
    """A session of Spark on this machine, for tests that are marked `spark`."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: Spark needs version 17")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # workers import what tests import
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.codegen.wholeStage": "false",  # compiling costs more than tiny queries
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = sql.SparkSession.builder.master("local[2,3]")  # a task may fail twice
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def hasty():
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
