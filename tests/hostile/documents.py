"""JSON documents that are damaged somewhere."""

import copy
import json
import random
from typing import Any

JSON_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**63, 10**400,
    "", "1", "nurse", "x" * 5000, "nur\ud800se", "nur\0se", [], [[]], {}, [None], [1, [2]], [True],
    {"a": 1}, [{}], [1, 1], ["nurse", "nurse"], [float("nan")], "ldpstats-mechanism",
)  # fmt: skip


def spoil_document(document: Any, dice: random.Random) -> Any:
    """A copy of a JSON document that is damaged somewhere."""
    document = copy.deepcopy(document)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in list(keys)[:40]:
            places.append((node, key))
            if isinstance(node[key], dict | list) and node[key]:
                walk(node[key])

    if isinstance(document, dict | list):
        walk(document)
    if not places:
        return dice.choice(JSON_VALUES)
    node, key = dice.choice(places)
    what = dice.randrange(5)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node, dict):
        node[dice.choice(["x", "", 1, None, "epsilon", "version"])] = dice.choice(JSON_VALUES)
    elif what == 2 and isinstance(node, list):
        node.insert(key, dice.choice(JSON_VALUES))
    else:
        node[key] = dice.choice(JSON_VALUES)
    return document


def signed(document: Any) -> Any:
    """The document with the fingerprint of what it says, where it has one."""
    if not isinstance(document, dict) or "fingerprint" not in document:
        return document
    import hashlib

    rest = {name: value for name, value in document.items() if name != "fingerprint"}
    try:
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    except TypeError:  # names of several types
        return document
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return rest | {"fingerprint": digest}
