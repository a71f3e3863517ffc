"""Labels of parameters as JSON: plain ones, and those of several variables or groups."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ldpstats.arguments.labels import labels_from_json, labels_to_json

__all__ = ["index_from_json", "index_to_json"]


def index_to_json(index: pd.Index[Any]) -> Any:
    """Labels as JSON types."""
    if not isinstance(index, pd.MultiIndex):
        return labels_to_json(index)
    return {"names": list(index.names), "labels": [list(label) for label in index]}


def index_from_json(document: Any) -> pd.Index[Any]:
    """Inverse of `index_to_json`."""
    if not isinstance(document, dict):
        return labels_from_json("index", document)
    labels = [tuple(label) for label in document["labels"]]
    return pd.MultiIndex.from_tuples(labels, names=document["names"])
