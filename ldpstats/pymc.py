"""Privatised answers inside models of PyMC: one function adds their likelihood to a model.

It needs PyMC: ``python -m pip install 'ldpstats[bayes]'``. Where a model of this package is enough,
``model.fit_posterior(rng, engine="pymc")`` builds it.
"""

from __future__ import annotations

from typing import Any

from ldpstats.models.posterior.pymc import observed

__all__ = ["observe"]


def observe(name: str, p: Any, reports: Any, candidates: Any = None, parameters: Any = None) -> Any:
    """Add the likelihood of privatised reports to the PyMC model that is being written.

    The log-likelihood is ``sum_i log sum_x p_x Q[x, y_i]``: the true answers are summed out, so
    that nothing discrete is sampled, and it has a gradient. Anything that PyMC can say of p can be
    fitted to reports: priors, hierarchies, regressions, time series.

    Parameters
    ----------
    name : str
        The name of the reports in the model; those of a list of groups are called name_0, name_1
        and so on.
    p : tensor, array-like or Series
        Frequencies of the categories (or candidates), shape (k,), which are those of every
        respondent; or shape (n, k), a row for each respondent, in the order of the reports.
        They must sum to one, which is not checked of tensors. A Series, and the columns of a
        DataFrame, are matched by label.
    reports : Reports or Counts, or a list of them
        What was collected. Groups of a list may have different mechanisms over the same
        categories; rows of p are those of the first group, then of the second and so on.
    candidates : sequence of str or CandidateMap, optional
        Values that p belongs to; for mechanisms with an open alphabet only.
    parameters : dict of str to tensor, optional
        The unknown parameters of devices, such as ``{"cheating": tensor}``.

    Returns
    -------
    Tensor of the observed variable, or a tuple of them for a list.
        With one p for all respondents, of reports that can be listed (up to 2**18, and bits up to
        10): their counts, shape (l,), or (C, l) for C cohorts; predictive draws keep the number of
        respondents (of each cohort). Otherwise the reports themselves, numbers of labels of shape
        (n,) or bits of shape (n, b), with the log-likelihood of each, as `arviz.loo` wants it.

    Raises
    ------
    NotAvailable
        If PyMC is not installed, outside of a model, and for sums of bits, which have no
        likelihood.
    InvalidArgument
        For a name that is taken, a p of another shape, and Counts where p has a row for each
        respondent; for unknown parameters that are lacking.
    AssertionError
        By PyTensor, when the model is run: for a tensor whose shape is known only then, such as
        one made from `pymc.Data`, and is another.
    MechanismMismatch
        For groups over different categories.

    Notes
    -----
    Channels a I + 1 b' (k-RR, uRR) take O(k) operations, hashed reports and long bits the package's
    own compiled products. Python has to be called for the latter, so samplers that compile whole
    models (nutpie, numpyro) take the former only.

    Examples
    --------
    Jobs in six regions, whose frequencies vary around those of the country. Each respondent has the
    row of her region::

        import numpy as np, pymc as pm, ldpstats as ldp

        rng = np.random.default_rng(1)
        krr = ldp.KRR(("nurse", "driver", "cook"), epsilon=2.0)
        region = rng.integers(6, size=600)
        reports = krr.privatize(rng.choice(krr.categories, p=[0.5, 0.3, 0.2], size=600), rng)
        with pm.Model(coords={"job": krr.categories, "region": range(6)}):
            country = pm.Normal("country", 0, 1.5, dims="job")
            spread = pm.HalfNormal("spread", 0.5)
            own = pm.Normal("own", 0, 1, dims=("region", "job"))
            logits = country + spread * own
            p = pm.Deterministic("p", pm.math.softmax(logits, axis=1), dims=("region", "job"))
            ldp.pymc.observe("reports", p[region], reports)
            draws = pm.sample(random_seed=1)
    """
    return observed(name, p, reports, candidates, parameters)
