"""Total variation against epsilon on the US Census of 1990 (MK19 section 6.2, figure 5).

    python benchmarks/census.py --output census.csv [--figure census.png] [--quick]

Half of the 2,458,285 people of the table are drawn without replacement and report one of 400
categories (age, income, marital status, sex), of which 76 are sensitive, through k-RR, k-RAPPOR,
uRR and uRAP; the distribution of all people is what is to be estimated. All realisations are first
done from counts and sums of bits alone, then one by one from the reports themselves, for the
maximum likelihood estimates of k-RAPPOR and uRAP. The file is written after each, and a second run
goes on where the first one stopped. 100 realisations take about an hour.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.estimators import MLE, Inversion, Thresholded
from ldpstats.likelihood.rows import Solution
from ldpstats.reports.single import BitCounts, Counts

DATA = Path(__file__).parents[2] / "shared/data/census1990/census1990_4attr.csv"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, float(np.log(400)), 8.0, 10.0)
KINDS = ("RR", "uRR", "RAPPOR", "uRAP")
METHODS = {"inversion": Inversion(), "thresholded": Thresholded(), "mle": MLE()}
KEYS = ["realisation", "epsilon", "mechanism", "method"]


class Survey:
    """The table of all people, and how many of them are asked."""

    def __init__(self, path: Path, share: float) -> None:
        table = pd.read_csv(path)
        self.people = table["count_full_raked"].to_numpy(np.int64)
        self.sensitive = np.flatnonzero(table["sensitive"]).tolist()
        self.n = int(share * self.people.sum() + 0.5)

    @property
    def p(self) -> np.ndarray:
        """What is to be estimated."""
        return self.people / self.people.sum()

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """True counts of n people, drawn without replacement."""
        return rng.multivariate_hypergeometric(self.people, self.n, method="marginals")

    def mechanism(self, kind: str, epsilon: float) -> ldp.Mechanism:
        """One of the four, with the 400 categories."""
        k = self.people.size
        if kind == "RR":
            return ldp.KRR(k, epsilon)
        if kind == "RAPPOR":
            return ldp.KRAPPOR(k, epsilon)
        return (ldp.URR if kind == "uRR" else ldp.URAP)(k, self.sensitive, epsilon)

    def expected(self, kind: str, epsilon: float) -> float:
        """Expected total variation of the inversion estimate, by the normal approximation."""
        p, size = self.p, self.people.sum()
        spread = p * (1.0 - p) / self.n  # of sampling with replacement
        variances = spread * (size - self.n) / (size - 1.0)
        if kind != "no privacy":
            mechanism = self.mechanism(kind, epsilon)
            counts = mechanism.simulate_counts(self.people, np.random.default_rng(0))
            noise = mechanism.moments(counts).covariance(p).variances() * size / self.n
            variances += np.maximum(noise - spread, 0.0)
        return float(np.sqrt(variances / (2.0 * np.pi)).sum())


def from_sums(
    survey: Survey, epsilons: tuple[float, ...], seed: list[int]
) -> list[dict[str, object]]:
    """All that counts of labels and sums of bits can tell, of one realisation."""
    true = survey.draw(np.random.default_rng(seed))
    rows = [_row(survey, true / survey.n, np.nan, "no privacy", "inversion")]
    for i, epsilon in enumerate(epsilons):
        for j, kind in enumerate(KINDS):
            mechanism = survey.mechanism(kind, epsilon)
            counts = mechanism.simulate_counts(true, np.random.default_rng([*seed, 0, i, j]))
            for method in METHODS:
                if method != "mle" or isinstance(counts, Counts):
                    found = _solve(mechanism, counts, method)
                    rows.append(_row(survey, found.p, epsilon, kind, method, found))
    return rows


def from_reports(
    survey: Survey, epsilons: tuple[float, ...], seed: list[int]
) -> list[dict[str, object]]:
    """Maximum likelihood estimates from patterns of bits, of the same realisation."""
    true = survey.draw(np.random.default_rng(seed))
    codes, rows = np.repeat(np.arange(true.size), true), []
    for i, epsilon in enumerate(epsilons):
        for j, kind in enumerate(("RAPPOR", "uRAP")):
            mechanism = survey.mechanism(kind, epsilon)
            reports = mechanism.privatize(codes, np.random.default_rng([*seed, 1, i, j]))
            found = _solve(mechanism, reports.tally(), "mle")
            rows.append(_row(survey, found.p, epsilon, kind, "mle", found))
    return rows


def _solve(mechanism: ldp.Mechanism, counts: Counts | BitCounts, method: str) -> Solution:
    if method == "mle":
        return METHODS[method].solve(mechanism.likelihood(counts))
    return METHODS[method].solve(mechanism.moments(counts))


def _row(
    survey: Survey,
    estimate: np.ndarray,
    epsilon: float,
    kind: str,
    method: str,
    found: Solution | None = None,
) -> dict[str, object]:
    error = estimate - survey.p
    return {
        "epsilon": epsilon,
        "mechanism": kind,
        "method": method,
        "tv": 0.5 * float(np.abs(error).sum()),
        "l2": float(error @ error),
        "gap_nats": np.nan if found is None else found.gap * survey.n,
    }


def simulate(
    survey: Survey, epsilons: tuple[float, ...], realisations: int, seed: int, output: Path
) -> pd.DataFrame:
    """Rows of all realisations; those that the file has already are not done again."""
    done = pd.read_csv(output) if output.exists() else pd.DataFrame(columns=["part", *KEYS])
    for part, run in (("sums", from_sums), ("reports", from_reports)):
        for r in range(realisations):
            before = done[(done["part"] == part) & (done["realisation"] == r)]
            missing = tuple(e for e in epsilons if e not in set(before["epsilon"]))
            if not missing:
                continue
            if len(before):
                raise SystemExit(f"{output} holds other values of epsilon: choose another --output")
            rows = pd.DataFrame(run(survey, epsilons, [seed, r]))
            rows.insert(0, "realisation", r)
            rows.insert(0, "part", part)
            done = pd.concat([done, rows]) if len(done) else rows
            beside = output.with_suffix(".part")
            done.to_csv(beside, index=False, lineterminator="\n")
            beside.replace(output)  # so that the file is whole at any time
    return done


def summary(survey: Survey, rows: pd.DataFrame) -> pd.DataFrame:
    """Mean total variation, its standard error and what theory expects, per setting."""
    groups = rows.groupby(["mechanism", "method", "epsilon"], dropna=False)["tv"]
    table = groups.agg(["mean", "sem", "size"])
    linear = table.index.get_level_values("method") == "inversion"
    table["expected"] = [
        survey.expected(kind, epsilon) if by_inversion else np.nan
        for (kind, _, epsilon), by_inversion in zip(table.index, linear, strict=True)
    ]
    return table


def print_table(table: pd.DataFrame) -> None:
    """Mean and standard error of the total variation, epsilon in columns."""
    text = table["mean"].map("{:.4g}".format) + " (" + table["sem"].map("{:.1g}".format) + ")"
    alone = text.xs("no privacy").iloc[0]
    wide = text.drop("no privacy").unstack("epsilon").rename(columns="{:.3g}".format)
    order = [(kind, method) for method in METHODS for kind in KINDS]
    print(wide.reindex(order).fillna("").to_string())
    print(f"no privacy: {alone}")
    print(f"realisations: {table['size'].min()} to {table['size'].max()}")
    ratio = (table["mean"] / table["expected"]).dropna()
    print(f"inversion, simulated / expected: {ratio.min():.4f} to {ratio.max():.4f}")


def draw(survey: Survey, table: pd.DataFrame, path: Path) -> None:
    """The figure: a panel for each estimator."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    titles = {"inversion": "inversion", "thresholded": "thresholded", "mle": "maximum likelihood"}
    styles = {"RR": "C3o-", "RAPPOR": "C1s-", "uRR": "C0o--", "uRAP": "C2s--"}
    none = table.loc["no privacy", "mean"].iloc[0]
    guess = 0.5 * np.abs(survey.p - 1.0 / survey.p.size).sum()
    fig, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
    for ax, (method, title) in zip(axes, titles.items(), strict=True):
        for kind, style in styles.items():
            if (kind, method) in table.index.droplevel("epsilon"):
                curve = table.loc[(kind, method), "mean"]
                ax.loglog(curve.index, curve, style, ms=4, lw=1.2, label=kind)
        ax.axhline(none, color="black", lw=1.0, label="no privacy")
        ax.axhline(guess, color="0.5", lw=1.0, ls=":", label="guessing the uniform distribution")
        ax.axvline(np.log(survey.p.size), color="0.5", lw=0.8)
        ax.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel(r"$\epsilon$ (grey line: ln 400)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean total variation")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    fig.savefig(path, dpi=150)
    plt.close(fig)


def main() -> None:
    """Simulate what is missing, print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="CSV of all realisations")
    parser.add_argument("--figure", type=Path, help="where to draw the figure")
    parser.add_argument("--data", type=Path, default=DATA, help="the table of 400 cells")
    parser.add_argument("--realisations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2019)
    parser.add_argument("--quick", action="store_true", help="3 realisations of 1 %% of the people")
    chosen = parser.parse_args()
    if not chosen.data.exists():
        parser.error(f"there is no {chosen.data}: say with --data where the table of 1990 is")
    survey = Survey(chosen.data, 0.01 if chosen.quick else 0.5)
    epsilons = (1.0, float(np.log(400))) if chosen.quick else EPSILONS
    realisations = min(chosen.realisations, 3) if chosen.quick else chosen.realisations
    rows = simulate(survey, epsilons, realisations, chosen.seed, chosen.output)
    table = summary(survey, rows)
    print(f"total variation: mean (standard error), n = {survey.n:,}")
    print_table(table)
    if chosen.figure:
        draw(survey, table, chosen.figure)


if __name__ == "__main__":
    main()
