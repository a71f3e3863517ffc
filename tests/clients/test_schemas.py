"""The JSON schemas take every document, and none that is mutilated."""

import json
from copy import deepcopy
from importlib.resources import files
from typing import Any

import pytest
from clients.vectors.surveys import GRAMS, PERSONAL, SHEETS, SURVEYS
from grid import MECHANISMS

import ldpstats as ldp

jsonschema = pytest.importorskip("jsonschema", reason="the package jsonschema is not installed")

FOLDER = files("ldpstats.clients").joinpath("schemas")
W = 1 << 64
NAMES = ("mechanism", "questionnaire", "client", "sheet")
OF_EACH_KIND = {type(mechanism): name for name, mechanism in MECHANISMS.items()}


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FOLDER.joinpath(f"{name}.json").read_text("ascii"))
    return found


def validator(name: str) -> Any:
    whole = schema(name)
    if name == "questionnaire":  # it refers to the other one by its name
        whole["$defs"]["mechanism"] = schema("mechanism")
    return jsonschema.Draft202012Validator(whole)


@pytest.fixture(scope="module")
def valid():
    return {name: validator(name).is_valid for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_schema(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", [*OF_EACH_KIND.values(), *PERSONAL, *GRAMS, *SHEETS])
def test_the_documents_of_a_survey(name, valid):
    survey = SURVEYS[name]
    kind = "questionnaire" if name in SHEETS else "mechanism"
    document = json.loads(json.dumps(survey.to_dict()))
    assert valid[kind](document)
    assert valid["client"](survey.client_document())


@pytest.mark.parametrize("name", [*list(OF_EACH_KIND.values())[::3], "pum", "strings", "sheet"])
def test_documents_that_are_mutilated(name, valid):
    survey = SURVEYS[name]
    kind, other = "mechanism", "questionnaire"
    if name in SHEETS:
        kind, other = other, kind
    document = json.loads(json.dumps(survey.to_dict()))
    for field in document.keys() - {"categories", "levels", "sensitive", "description"}:
        assert not valid[kind]({key: document[key] for key in document if key != field}), field
    for field, value in (("version", 2), ("fingerprint", "x"), ("more", 1), ("format", "other")):
        assert not valid[kind](document | {field: value}), field
    assert not valid[other](document)


@pytest.mark.parametrize("name", ["krr-20", "device-cards", "rappor-16", "pum", "strings"])
def test_client_documents_with_a_field_too_few(name, valid):
    whole = SURVEYS[name].client_document()
    for way in ways(whole):
        if way[-1] in ("rest", "outputs", "law", "refused"):
            continue
        document = deepcopy(whole)
        place: Any = document
        for step in way[:-1]:
            place = place[step]
        del place[way[-1]]
        assert not valid["client"](document), way


def ways(value: Any, start: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all fields of a document."""
    if isinstance(value, list):
        return [way for i, entry in enumerate(value) for way in ways(entry, (*start, i))]
    if not isinstance(value, dict):
        return []
    inner = [way for key, entry in value.items() for way in ways(entry, (*start, key))]
    return [*((*start, key) for key in value), *inner]


def test_thresholds(valid):
    document = ldp.KRR(3, epsilon=1.0).client_document()

    def takes(keep: Any) -> bool:
        document["question"]["draw"]["keep"] = keep
        return bool(valid["client"](document))

    assert all(map(takes, ("0", "1", "9" * 19)))
    assert not any(map(takes, ("-1", "01", "1.0", "", 5, None, "9" * 21)))
    for shift in range(0, 64, 3):
        for value in (W - (1 << shift), W + (1 << shift), W - 3**shift % W):
            assert takes(str(value)) == (value <= W), value


def test_sheets(valid):
    grams = {"positions": [0, 2], "grams": ["ab", "3:01"], "string": "4:5"}
    sheet = {"job": "nurse", "late": None, "url": grams}
    head = {"format": "ldpstats-sheet", "version": 1, "survey": "3f2c9a81d04e", "token": "5f" * 16}
    assert valid["sheet"](head | {"sheet": sheet})
    wrong = [{}, sheet | {"job": 3}, sheet | {"url": {}}, sheet | {"url": grams | {"more": 1}}, []]
    assert not any(valid["sheet"](head | {"sheet": one}) for one in wrong)
    assert not valid["sheet"](head | {"sheet": sheet, "token": "5f"})
    assert not valid["sheet"](head)
