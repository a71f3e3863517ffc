"""Where the data are: files, engines, cores and memory.

    python benchmarks/engines.py FOLDER [--rows N] [--before PATH] [section ...]

FOLDER gets the data, about 3 GB for a hundred million rows, and keeps them for the next run. PATH
is a checkout of an older version, which then does the same wherever it can.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import engine_data as data
from processes import HERE, Job, Ran, best
from timing import Row, Scale, print_table

import ldpstats as ldp

__all__ = ["engines"]

SPARK = """
import os, sys
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
from pyspark.sql import SparkSession
settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "2g"}
builder = SparkSession.builder.master("local[2]")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
"""

GROUPED = """
import json, sys, time
start = time.perf_counter()
import duckdb
query = f"SELECT region, job, count(*) AS n FROM read_parquet('{sys.argv[1]}') GROUP BY ALL"
begin = time.perf_counter()
table = duckdb.sql(query).fetchall()
print(json.dumps({"query": time.perf_counter() - begin}))
"""

PRINTED = """
import sys
import ldpstats as ldp
sheet = ldp.Questionnaire.from_json(sys.argv[2])
print(ldp.Survey(sys.argv[1], sheet).frequencies("job", by="region").summary())
"""

READ_BITS = """
import json, sys, time
import pyarrow.parquet as pq
def read():
    start = time.perf_counter()
    with pq.ParquetFile(sys.argv[1]) as file:
        for batch in file.iter_batches(1 << 17, columns=["report", "report_cohort"]):
            pass
    return time.perf_counter() - start
print(json.dumps({"least": min(read() for _ in range(4))}))
"""

COUNT_BITS = """
import json, sys, time
import ldpstats as ldp
rappor = ldp.io.read_mechanism(sys.argv[2])
def count():
    start = time.perf_counter()
    counts = ldp.count(sys.argv[1], rappor, "report", bits=True)
    assert int(counts.nobs) == int(sys.argv[3])
    return time.perf_counter() - start
first = count()
print(json.dumps({"first": first, "least": min(count() for _ in range(4))}))
"""

PRIVATISED = """
import json, sys, time
import numpy as np, pandas as pd, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
import ldpstats as ldp
krr, rng = ldp.io.read_mechanism(sys.argv[2]), np.random.default_rng(1)
text = pq.read_table(sys.argv[1])["job"]
labels = pa.array(krr.labels().tolist())
columns = {
    "Arrow": text,
    "pandas text": pd.Series(text.to_pandas(), dtype="str"),
    "pandas categorical": pd.Series(text.dictionary_encode().to_pandas()),
    "numpy text": np.array(text.to_numpy(), dtype="U8"),
    "objects": pd.Series(text.to_numpy(), dtype=object),
}
codes = pc.index_in(text, labels).to_numpy()
jobs = {"codes": lambda: pc.index_in(text, labels)}
jobs["sampler"] = lambda: ldp.KRR(len(labels), 1.0).privatize(codes, rng)
jobs |= {name: lambda column=column: krr.privatize(column, rng) for name, column in columns.items()}
least = {}
for _ in range(4):
    for name, job in jobs.items():
        start = time.perf_counter()
        try:
            job()
        except Exception:
            continue
        least[name] = min(least.get(name, 1e9), time.perf_counter() - start)
print(json.dumps(least))
"""

COPIED = """
import sys, duckdb
source, target = sys.argv[1:]
duckdb.sql(f"COPY (SELECT job FROM read_parquet('{source}')) TO '{target}' (FORMAT parquet)")
"""

SAME = """
import hashlib, json, sys, time
import ldpstats as ldp
def digest(*results):
    text = "".join(f"{one.summary()}{one.to_json()}" for one in results)
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)
def all_of(survey):
    labels = survey.frequencies("job", by="region")
    two = survey.where("region != 'south'").association("late", "region")
    return digest(labels, two, survey.frequencies("host", candidates=HOSTS, method="inversion"))
HOSTS = [f"host{i}.example" for i in range(64)]
folder, kind = sys.argv[1:]
sheet = ldp.Questionnaire.from_json(f"{folder}/sheet.json")
files = f"{folder}/part-*.parquet"
begin = time.perf_counter()
OPEN
opened = time.perf_counter()
first = all_of(ldp.Survey(source, sheet))
middle = time.perf_counter()
again = all_of(ldp.Survey(source, sheet))
end = time.perf_counter()
assert first == again
print(json.dumps({"open": opened - begin, "first": middle - opened, "again": end - middle,
                  "digest": first}))
"""

SOURCES = {
    "glob of files": "source = files",
    "DuckDB": "import duckdb; source = duckdb.read_parquet(files)",
    "pandas": "import glob, pandas\n"
    "source = pandas.concat(map(pandas.read_parquet, sorted(glob.glob(files))))",
    "Polars": "import polars; source = polars.read_parquet(files)",
    "Polars, lazy": "import polars; source = polars.scan_parquet(files)",
    "Spark local[2]": f"{SPARK}source = spark.read.parquet(files)",
}


@dataclass(frozen=True)
class Run:
    """One run of the benchmark: where the data are, how many rows, and an older version."""

    folder: Path
    rows: int
    before: Path | None = None
    repeats: int = 3

    def survey(self, text: bool = False) -> tuple[str, Path]:
        """The pattern of the files of labels, and the questionnaire."""
        folder = self.folder / f"{'text' if text else 'labels'}-{self.rows}"
        data.labels(folder, self.rows, text)
        return f"{folder}/part-*.parquet", self.specification(text)[1]

    def specification(self, text: bool) -> tuple[Path, Path]:
        """Files of the mechanism of the labels, and of the questionnaire with it."""
        kind = "text" if text else "labels"
        spec, sheet = (self.folder / f"{kind}-{name}.json" for name in ("spec", "sheet"))
        krr = data.mechanism(text)
        ldp.io.write_mechanism(krr, spec, force=True)
        ldp.Questionnaire({"job": krr}).to_json(sheet, force=True)
        return spec, sheet

    def versions(self) -> dict[str, Path]:
        """This version, and the older one."""
        return {"": HERE} | ({} if self.before is None else {"before, ": self.before})


def table(run: Run) -> list[Row]:
    """From Parquet to the printed table by region, whole processes, against a grouped count."""
    rows = []
    for text in (False, True):
        files, sheet = run.survey(text)
        for cores in (2, 1):
            jobs = {"ours": Job(PRINTED, (files, sheet), cores)}
            jobs["count"] = Job(GROUPED, (files,), cores)
            ran = best(jobs, run.repeats)
            what = f"{run.rows:,} rows of {'text' if text else 'numbers'}, {_cores(cores)}"
            rows.append(_within(what, ran["ours"], ran["count"], "query", 1.5, 1.0))
            under = ran["ours"].memory < 2e9
            rows.append(Row("  its memory", "", ran["ours"].gigabytes, "< 2 GB", under))
    return rows


def command(run: Run) -> list[Row]:
    """The command line on one file of the ten: to the table of frequencies, as whole processes."""
    rows = []
    for text in (False, True):
        files, _ = run.survey(text)
        file = files.replace("*", "00")
        spec, _ = run.specification(text)
        fit = ("fit", file, "--spec", spec, "--column", "job")
        jobs = {name: Job("", fit, root=root) for name, root in run.versions().items()}
        jobs["count"] = Job(GROUPED, (file,))
        ran = best(jobs, run.repeats)
        what = f"ldpstats fit, {run.rows // data.FILES:,} rows of {'text' if text else 'numbers'}"
        for name in run.versions():
            rows.append(_within(f"{name}{what}", ran[name], ran["count"], "query"))
    return rows


def bits(run: Run) -> list[Row]:
    """Sums of RAPPOR's bits in a Parquet file, against reading its bytes through Arrow."""
    n = run.rows // data.FILES
    file, spec = run.folder / f"bits-{n}.parquet", run.folder / "rappor.json"
    data.reports_of_bits(file, n)
    ldp.io.write_mechanism(data.rappor(), spec, force=True)
    rows = []
    for cores in (2, 1):
        jobs = {"ours": Job(COUNT_BITS, (file, spec, str(n)), cores)}
        jobs["read"] = Job(READ_BITS, (file,), cores)
        ran = best(jobs, run.repeats)
        what = f"{n:,} reports of 128 bits, 64 cohorts, {_cores(cores)}"
        rows.append(_compared(what, "Arrow reads", ran["ours"], ran["read"], "least", 2))
        rows.append(Row("  the first time, and memory", "", _first(ran["ours"])))
    return rows


def privatise(run: Run) -> list[Row]:
    """Privatising text in memory, against finding its codes through Arrow and the sampler alone."""
    n = run.rows // data.FILES
    file, (spec, _) = data.answers(run.folder / f"answers-{n}.parquet", n), run.specification(True)
    rows = []
    for name, root in run.versions().items():
        ran = Job(PRIVATISED, (file, spec), 1, root).run()
        if ran.failed:
            rows.append(Row(name, "", ran.failed))
            continue
        said = dict(ran.said)
        least = said.pop("codes") + said.pop("sampler")
        for kind, seconds in said.items():
            figure = f"{seconds / least:.2f} x the time ({seconds:.2f} s, not {least:.2f} s)"
            aim = ("", None) if name else ("<= 1.5", seconds <= 1.5 * least)
            rows.append(Row(f"{name}{n:,} of {kind}", "index_in, sampler", figure, *aim))
    return rows


def files(run: Run) -> list[Row]:
    """Privatising a column of a Parquet file into another by the command, against a copy of it."""
    n = run.rows // data.FILES
    file, (spec, _) = data.answers(run.folder / f"answers-{n}.parquet", n), run.specification(True)
    target = run.folder / "target.parquet"
    rows = []
    for cores in (2, 1):
        how = ("privatize", file, target, "--column", "job", "--spec", spec, "--force")
        jobs = {name: Job("", how, cores, root) for name, root in run.versions().items()}
        jobs["copy"] = Job(COPIED, (file, target), cores)
        ran = best(jobs, run.repeats)
        for name in run.versions():
            what = f"{name}{n:,} rows, {_cores(cores)}"
            aim = 0 if name else 3
            rows.append(_compared(what, "DuckDB copies", ran[name], ran["copy"], "", aim))
    target.unlink(missing_ok=True)
    return rows


def growth(run: Run) -> list[Row]:
    """From a hundredth of the rows to ten times as many: the table of `table`, whole processes."""
    names, sheet = run.survey()
    folder = Path(names).parent
    small = run.folder / f"labels-{run.rows // 100}"
    data.labels(small, run.rows // 100, files=1)
    large = run.folder / f"labels-{run.rows}-ten-times"
    large.mkdir(exist_ok=True)
    for number in range(10):
        for path in sorted(folder.glob("part-*.parquet")):
            copy = large / f"part-{number}{path.name.removeprefix('part-')}"
            if not copy.exists():
                shutil.copyfile(path, copy)
    sizes = {
        run.rows // 100: f"{small}/part-*.parquet",
        run.rows // 10: f"{folder}/part-00.parquet",
        run.rows: names,
        run.rows * 10: f"{large}/part-*.parquet",
    }
    rows = []
    for n, pattern in sizes.items():
        found = {c: best({"": Job(PRINTED, (pattern, sheet), c)}, run.repeats)[""] for c in (1, 2)}
        figure = ", ".join(
            f"{_cores(c)} {ran.failed or f'{ran.seconds:.2f} s, {ran.gigabytes}'}"
            for c, ran in found.items()
        )
        rows.append(Row(f"{n:,} rows, files: {len(_glob(pattern))}", "", figure))
    shutil.rmtree(large)
    return rows


def same(run: Run) -> list[Row]:
    """The same survey on every engine: frequencies by group, a joint table, hashed reports."""
    n = run.rows // data.FILES
    folder = data.sheets(run.folder / f"sheets-{n}", n)
    jobs = {name: Job(SAME.replace("OPEN", code), (folder, name)) for name, code in SOURCES.items()}
    ran = {name: job.run() for name, job in jobs.items()}
    expected = ran["pandas"].said.get("digest")
    rows = []
    for name, one in ran.items():
        if one.failed:
            rows.append(Row(name, "", one.failed, "equal bytes", False))
            continue
        figure = "{open:.2f} s to open, {first:.2f} s, again {again:.2f} s".format(**one.said)
        met = one.said["digest"] == expected
        rows.append(Row(name, "", f"{figure}, {one.gigabytes}", "equal bytes", met))
    return rows


SECTIONS: dict[str, Callable[[Run], list[Row]]] = {
    "table": table,
    "command": command,
    "bits": bits,
    "privatise": privatise,
    "files": files,
    "growth": growth,
    "same": same,
}


def engines(scale: Scale) -> list[Row]:
    """Files and engines, as whole processes; `engines.py` alone keeps its data for the next run."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), scale.size(100_000_000, 100_000), None, scale.size(3, 1))
        return [row for section in SECTIONS.values() for row in section(run)]


# -- rows ------------------------------------------------------------------------------------------


def _cores(number: int) -> str:
    return f"{number} core{'s' * (number > 1)}"


def _glob(pattern: str) -> list[Path]:
    return sorted(Path(pattern).parent.glob(Path(pattern).name))


def _first(ran: Ran) -> str:
    return ran.failed or f"{ran.said['first']:.2f} s, {ran.gigabytes}"


def _within(
    what: str, ours: Ran, theirs: Ran, name: str, aim: float = 0.0, more: float = 0.0
) -> Row:
    """A whole process against a query that another process timed: times `aim`, and `more` s."""
    if ours.failed or theirs.failed:
        return Row(what, "DuckDB's count", ours.failed or theirs.failed, "", False if aim else None)
    query = theirs.said[name]
    own = f"{ours.seconds:.2f} s, {ours.gigabytes}"
    figure = f"{own}; the query {query:.2f} s of {theirs.seconds:.2f} s"
    met = ours.seconds <= aim * query + more if aim else None
    return Row(what, "DuckDB's count", figure, f"<= {aim:g} x + {more:g} s" if aim else "", met)


def _compared(
    what: str, against: str, ours: Ran, theirs: Ran, name: str = "", aim: float = 0.0
) -> Row:
    """A ratio of whole processes, or of what they timed under a name."""
    if ours.failed or theirs.failed:
        return Row(what, against, ours.failed or theirs.failed, "", False if aim else None)
    own, other = (ran.said[name] if name else ran.seconds for ran in (ours, theirs))
    figure = f"{own / other:.2f} x the time ({own:.2f} s, not {other:.2f} s), {ours.gigabytes}"
    met = own <= aim * other if aim else None
    return Row(what, against, figure, f"<= {aim:g} x" if aim else "", met)


def main() -> None:
    """Run the chosen sections and print a table for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the data")
    parser.add_argument("section", nargs="*", help=f"{', '.join(SECTIONS)}; default: all")
    parser.add_argument("--rows", type=int, default=100_000_000, help="default: 100,000,000")
    parser.add_argument("--before", type=Path, help="a checkout of an older version")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each job (default: 3)")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    before = None if given.before is None else given.before.resolve()
    run = Run(given.folder.resolve(), given.rows, before, given.repeats)
    for name in given.section or SECTIONS:
        if name not in SECTIONS:
            parser.error(f"no section {name!r}: choose from {', '.join(SECTIONS)}")
        print(f"\n{name}: {SECTIONS[name].__doc__}\n", flush=True)
        print_table(SECTIONS[name](run))


if __name__ == "__main__":
    main()
