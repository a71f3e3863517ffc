"""ldpstats client: the files of clients, and the document of a survey."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main

SURVEYS: dict[str, Any] = {
    "mechanism": ldp.KRR(("nurse", "cook"), epsilon=1.0),
    "pum": ldp.PUM(ldp.URR(("centre", "park"), ("centre",), epsilon=1.0), tags=("home",)),
    "dictionary": ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0),
    "questionnaire": ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.5), "region": ldp.Observed(2)}),
}
JAVASCRIPT = {"ldpstats-client.mjs", "ldpstats-client.d.mts", "conformance.mjs"}


@pytest.fixture(params=SURVEYS)
def survey(request, tmp_path):
    made, path = SURVEYS[request.param], tmp_path / "survey.json"
    path.write_text(json.dumps(made.to_dict()))
    return made, str(path)


def test_the_document_of_a_survey(survey, tmp_path):
    made, path = survey
    assert main(["client", path, "--to", str(tmp_path / "device")]) == 0
    assert os.listdir(tmp_path / "device") == ["client.json"]
    written = json.loads((tmp_path / "device" / "client.json").read_text("ascii"))
    assert written == made.client_document()


def test_the_files_of_each_language(tmp_path):
    assert main(["client", "--language", "js", "--to", str(tmp_path)]) == 0
    assert set(os.listdir(tmp_path)) == JAVASCRIPT
    assert main(["client", "--language", "python", "--to", str(tmp_path)]) == 0
    assert set(os.listdir(tmp_path)) == JAVASCRIPT | {"ldpstats_client.py"}


def test_javascript_is_js(tmp_path):
    assert main(["client", "--language", "javascript", "--to", str(tmp_path)]) == 0
    assert set(os.listdir(tmp_path)) == JAVASCRIPT


def test_the_client_in_python_runs_alone(tmp_path):
    io.write_mechanism(SURVEYS["mechanism"], tmp_path / "survey.json")
    argv = ["client", str(tmp_path / "survey.json"), "--language", "python"]
    assert main([*argv, "--to", str(tmp_path)]) == 0
    line = json.dumps({
        "id": 1,
        "client": json.loads((tmp_path / "client.json").read_text()),
        "random": "00" * 16,
        "answers": ["cook"],
    })  # fmt: skip
    command = [sys.executable, "-I", str(tmp_path / "ldpstats_client.py"), "--conformance"]
    ran = subprocess.run(command, input=line + "\n", capture_output=True, text=True, timeout=60)
    assert json.loads(ran.stdout) == {"id": 1, "reports": ["cook"], "used": 8}


@pytest.mark.parametrize("argv", [[], ["none.json"], ["--language", "cobol"]])
def test_what_cannot_be_written_is_refused_and_leaves_nothing(argv, tmp_path, capsys):
    folder = tmp_path / "device"
    assert main(["client", *argv, "--to", str(folder)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not folder.exists()


def test_files_are_overwritten_only_by_force(tmp_path, capsys):
    (tmp_path / "conformance.mjs").write_text("mine")
    argv = ["client", "--language", "js", "--to", str(tmp_path)]
    assert main(argv) == 2
    assert "conformance.mjs" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["conformance.mjs"]
    assert main([*argv, "--force"]) == 0
    assert (tmp_path / "conformance.mjs").read_text() != "mine"


@pytest.mark.parametrize("folder", ["a/b/c", "file", "nul\0"])
def test_a_folder_that_cannot_be_made(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    assert main(["client", "--language", "js", "--to", folder]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert os.listdir(tmp_path) == ["file"]
