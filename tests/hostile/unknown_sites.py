"""Devices with unknown parameters, their fits and posteriors, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hostile.examples import RNG, Examples, Site

import ldpstats as ldp
from ldpstats import priors
from ldpstats.devices import Device, flip, truth, unknown

ANSWERS = ("no", "yes")


def cheating(q: float) -> Device:
    forced = flip(q).when({"heads": "yes"}, otherwise=truth)
    return flip(unknown("cheating")).when({"heads": "no", "tails": forced})


def unknown_sites(e: Examples) -> Iterator[Site]:
    first, second = (ldp.UnknownDevice(cheating(q).step, ANSWERS) for q in (0.25, 0.6))
    made = {"device": cheating(0.25).step, "categories": ANSWERS, "outputs": None}
    yield Site("UnknownDevice", ldp.UnknownDevice, made)
    named = {"values": {"cheating": 0.1}}
    also = {"values": ("cheating",)}
    for name in ("at", "matrix_at", "derivatives_at"):
        yield Site(f"UnknownDevice.{name}", getattr(first, name), named, also)
    drawn: dict[str, Any] = {"values": ["no", "yes"], "rng": RNG, "missing": "raise"}
    yield Site("UnknownDevice.simulate", first.simulate, drawn | {"cheating": 0.1})
    yield Site("UnknownDevice.counts", first.counts, {"n": [3, 4]})
    written = {"document": first.to_dict()}
    said = {"document": ("when", "say", "step", "device", "probability", "p", "outputs")}
    yield Site("UnknownDevice.from_dict", ldp.UnknownDevice.from_dict, written, said)
    groups = [first.counts([420, 180]), second.counts([280, 320])]
    model = ldp.FrequencyModel(groups)
    within = {"data": ("counts", "reports")}
    yield Site("FrequencyModel unknown", ldp.FrequencyModel, {"data": groups}, within)
    how = {"method": "mle", "constraints": None, "cov_type": "default", "progress": False}
    yield Site("FrequencyModel.fit unknown", model.fit, how)
    law = {"cheating": priors.Beta(2.0, 18.0), "frequencies": priors.Dirichlet(1.0)}
    given = {"rng": RNG, "prior": law, "draws": 160, "engine": "hmc"}
    yield Site("FrequencyModel.fit_posterior unknown", model.fit_posterior, given, slow=True)
    yield Site("priors.Beta", priors.Beta, {"a": 2.0, "b": 18.0})
    results = model.fit()
    simple: dict[str, dict[str, Any]] = {
        "conf_int": {"alpha": 0.05, "method": "wald", "clip": True},
        "summary": {"alpha": 0.05, "max_rows": 40, "details": True},
        "summary_frame": {"alpha": 0.05},
        "to_frame": {"alpha": 0.05},
        "cov_params": {"cov_type": "default"},
        "t_test": {"hypothesis": "yes = cheating"},
        "wald_test": {"hypothesis": "yes = 0.1, cheating = 0.1"},
        "plot": {"alpha": 0.05, "truth": [0.8, 0.2, 0.1], "sort": False, "most": 9, "title": "a"},
    }
    for name, arguments in simple.items():
        yield Site(f"ParametersResults.{name}", getattr(results, name), arguments)
    document = {"document": results.to_dict()}
    yield Site("ParametersResults.from_dict", ldp.ParametersResults.from_dict, document)
    text = {"text": results.to_json()}
    yield Site("ParametersResults.from_json", ldp.ParametersResults.from_json, text)
