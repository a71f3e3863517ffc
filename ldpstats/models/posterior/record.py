"""What posterior results hold beside the draws: the survey, the prior, how chains were run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Origin", "Run"]


@dataclass(frozen=True)
class Origin:
    """What the draws are about.

    Parameters
    ----------
    nobs, n_missing : int
        Reports, and respondents who gave no answer.
    epsilon : float
        Privacy of a report in nats; the largest where there are several mechanisms.
    sources : tuple of str
        The mechanisms, in words.
    prior : str
        The prior, in words.
    name : str
        Of the variable; empty where it has none.
    subject : str
        What the parameters are: "Frequencies", "Coefficients" ...
    is_partial : bool
        Whether epsilon protects the sensitive categories only.
    without_mode : str
        Why there is no mode, in words; empty where there is one.
    note : str
        What a reader of the parameters must know.
    """

    nobs: int
    n_missing: int
    epsilon: float
    sources: tuple[str, ...]
    prior: str = ""
    name: str = ""
    subject: str = "Frequencies"
    is_partial: bool = False
    without_mode: str = ""
    note: str = ""


@dataclass(frozen=True)
class Run:
    """How chains were run.

    Parameters
    ----------
    engine : str
        "hmc" or "pymc".
    accepted : float
        Mean acceptance probability.
    divergences : int
        Trajectories whose energy was not conserved.
    step_size : float
    warmup : int
        Iterations of each chain that were thrown away.
    thin : int
        One in so many iterations was kept.
    """

    engine: str
    accepted: float
    divergences: int
    step_size: float
    warmup: int
    thin: int = 1
