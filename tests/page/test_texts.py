"""Words of the page: those of a file, and what is wrong with others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from shared.page_sheets import GERMAN, embedded, six

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.errors import InvalidArgument
from ldpstats.page import page_text, page_texts

SCRIPTS = Path(ldp.page.__file__).with_name("script")


def test_a_german_page() -> None:
    text = page_text(six(), GERMAN)
    assert '<html lang="de" dir="ltr" translate="no">' in text
    data = embedded(text)
    assert list(data["texts"]["words"]) == list(page_texts(six())["words"])
    given = json.loads(GERMAN.read_text(encoding="utf-8"))["words"]
    assert data["texts"]["words"] == given and len(given) == len(page_texts(six())["words"])
    job, late, place, site, sex, _ = data["questions"]
    assert job["labels"] == ["Krankenpflege", "Schule", "Fahrdienst", "Küche"]
    assert late["labels"] == ["nie", "manchmal", "oft"] and sex["skip"] is False
    assert place["tags"] == ["Ich wohne dort", "Ich arbeite dort"] and place["tagQuestion"]
    assert site["text"].startswith("Welche Webseite")
    assert data["client"] == six().client_document()  # what is sent stays the same


def test_all_words_can_be_written_out_and_read_again() -> None:
    words = page_texts(six())
    assert page_text(six(), words) == page_text(six())
    assert page_text(six(), json.loads(json.dumps(words))) == page_text(six())


def test_every_word_is_used_and_every_used_word_is_there() -> None:
    known = set(page_texts(six())["words"])
    script = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.js"))
    used = {word for word in known if re.search(rf'["`]{word}["`]', script)}
    made = {f"{verb}{rest}" for verb in ("choose", "write") for rest in ("", "_or_skip")}
    made |= {f"{end}_help" for end in ("sent", "outdated", "complete", "withdrawn", "deleted")}
    made |= {f"{end}_not_kept" for end in ("sent", "withdrawn", "deleted")}
    assert known - used - made == {"no_script", "tag_belief"}
    said = re.findall(r'(?:say|button)\("(\w+)"', script)
    assert set(said) <= known


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "must be an object"),
        ({"Title": "a"}, "did you mean 'title'"),
        ({"title": " "}, "title=.*not empty"),
        ({"title": "\ud800"}, "title=.*Unicode"),
        ({"lang": "x y"}, "lang=.*such as en"),
        ({"dir": "up"}, 'dir=.*"ltr" or "rtl"'),
        ({"introduction": 3}, "introduction=3: must be a text, or a list"),
        ({"thanks": ["a", 3]}, r"thanks\[1\]=3"),
        ({"words": {"nxt": "a"}}, "nxt.*did you mean 'next'"),
        ({"words": {"next": "{number}"}}, r"words\['next'\].*\{number\}; there are none"),
        ({"words": {"progress": "{n}"}}, r"there are \{number\}, \{total\}"),
        ({"words": {"next": 1}}, "must be text"),
        ({"questions": {"jobs": "a"}}, "jobs.*did you mean 'job'"),
        ({"questions": {"job": 1}}, "must be an object"),
        ({"questions": {"job": {"text": "a"}}}, "text.*question, help, answers, skip"),
        ({"questions": {"job": {"skip": 1}}}, "must be true or false"),
        ({"questions": {"job": {"answers": {"nurse": "a"}}}}, "'teacher' has none"),
        ({"questions": {"job": {"answers": {"nurze": "a"}}}}, "nurze.*did you mean 'nurse'"),
        ({"questions": {"job": {"answers": ["a"]}}}, "must have 4 texts"),
        ({"questions": {"job": {"answers": ["a", "b", "c", "a"]}}}, "text of two answers"),
        ({"questions": {"site": {"answers": ["a"]}}}, "here any text is one"),
        ({"questions": {"place": {"tags": {"home": "a"}}}}, "'work' has none"),
        ({"questions": {"job": {"tags": {}}}}, "tags.*not a key"),
    ],
)
def test_wrong_texts_name_the_key_and_the_remedy(texts: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        page_text(six(), texts)


# -- command ---------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet, page, words = (str(tmp_path / name) for name in ("six.json", "six.html", "words.json"))
    six().to_json(sheet)
    assert main(["page", sheet, "--to", page, "--post", "/sheets", "--texts", str(GERMAN)]) == 0
    assert Path(page).read_text(encoding="utf-8") == page_text(six(), GERMAN, "/sheets")
    assert main(["page", sheet, "--to", page, "--post", "/sheets", "--show-first", "--force"]) == 0
    expected = page_text(six(), post="/sheets", show_first=True)
    assert Path(page).read_text(encoding="utf-8") == expected
    assert main(["page", sheet, "--write-texts", words]) == 0
    assert json.loads(Path(words).read_text(encoding="utf-8")) == page_texts(six())
    assert main(["page", sheet, "--to", page, "--texts", words, "--force"]) == 0
    assert Path(page).read_text(encoding="utf-8") == page_text(six())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "pass --to FILE"),
        (["--to", "a.html", "--write-texts", "b.json"], "pass --to FILE"),
        (["--write-texts", "b.json", "--post", "/sheets"], "--post goes with --to"),
        (["--write-texts", "b.json", "--show-first"], "--show-first goes with --to"),
        (["--to", "six.json"], "given twice"),
        (["--to", "a.html", "--texts", "none.json"], "none.json"),
    ],
)
def test_the_command_refuses(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    six().to_json("six.json")
    assert main(["page", "six.json", *more]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["six.json"]
