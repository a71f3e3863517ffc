"""The page as a file: one, closed, and with its texts as texts alone."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.page_sheets import AWKWARD, GERMAN, embedded, six

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.page import page_text, page_texts, write_page


class Elements(HTMLParser):
    """Elements of a page with their attributes and texts, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data

    def text(self, tag: str, **attributes: str) -> str:
        (found,) = (
            text
            for (name, own), text in zip(self.found, self.texts, strict=True)
            if name == tag and attributes.items() <= own.items()
        )
        return found


def policy(text: str) -> dict[str, str]:
    (found,) = (
        own["content"]
        for _, own in Elements(text).found
        if own.get("http-equiv") == "Content-Security-Policy"
    )
    assert found is not None
    return dict(rule.split(" ", 1) for rule in found.split("; "))


def hashed(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


PAGE = page_text(six())


def test_the_page_is_one_file_that_loads_nothing():
    assert re.findall(r"https?:|//[a-z]|@import|url\(|\bimport\s*\(?[\"']", PAGE) == []
    for tag, own in Elements(PAGE).found:
        assert tag not in ("img", "iframe", "object", "embed", "audio", "video", "base", "form")
        assert not {"src", "srcset", "action"} & set(own) and not any(k[:2] == "on" for k in own)
        assert own.get("href", "data:,") == "data:,"
    assert "innerHTML" not in PAGE and "eval(" not in PAGE and "console." not in PAGE


def test_the_policy_allows_this_script_and_style_alone():
    rules, elements = policy(PAGE), Elements(PAGE)
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == hashed(elements.text("script", type="module"))
    assert rules["style-src"] == hashed(elements.text("style"))
    assert rules["connect-src"] == "'none'"


@pytest.mark.parametrize(
    ("post", "origin"),
    [
        ("/sheets", "'self'"),
        ("https://survey.example/sheets", "https://survey.example"),
        ("http://localhost:8080/a/sheets?b=c", "http://localhost:8080"),
    ],
)
def test_the_page_connects_to_its_collector_alone(post, origin):
    text = page_text(six(), post=post)
    assert policy(text)["connect-src"] == origin and embedded(text)["post"] == post


@pytest.mark.parametrize(
    "post",
    [
        "",
        "//a.example/b",
        "https://a.example",
        "https://u:p@a.example/b",
        "https://a.example/b; script-src *",
        "https://a.example/b#c",
        "javascript:alert(1)",
        "/ä",
        1,
    ],
)
def test_other_addresses_are_refused(post):
    with pytest.raises(InvalidArgument, match="post="):
        page_text(six(), post=post)


@pytest.mark.parametrize(
    ("post", "withdraw"),
    [
        (None, None),
        ("/sheets", "/withdrawn"),
        ("https://a.example/b/sheets?c=/sheets", "https://a.example/b/withdrawn?c=/sheets"),
    ],
)
def test_a_page_that_shows_reports_first_says_where_deletions_are_counted(post, withdraw):
    data = embedded(page_text(six(), post=post, show_first=True))
    assert data["showFirst"] is True and data["withdraw"] == withdraw
    data = embedded(page_text(six(), post=post))
    assert data["showFirst"] is False and data["withdraw"] is None


def test_a_page_that_shows_reports_first_needs_a_collector():
    with pytest.raises(InvalidArgument, match=r"post=.*must end in /sheets where reports are"):
        page_text(six(), post="https://a.example/answers", show_first=True)
    with pytest.raises(InvalidArgument, match="show_first="):
        page_text(six(), show_first=1)


def test_texts_are_data_whatever_they_hold():
    sheet = ldp.Questionnaire(
        {"__proto__": ldp.KRR(AWKWARD, 1.0), "</title>": ldp.Warner(epsilon=1.0)}
    )
    given = {"title": "</title><script>@data@ & \"'</script>", "words": {"start": "<b>\u2028"}}
    text = page_text(sheet, given)
    assert text.isascii() and embedded(text)["client"] == sheet.client_document()
    assert not set("<>&") & set(text.split('id="data">')[1].split("</script>")[0])
    elements = Elements(text)
    kinds = [own.get("type") for tag, own in elements.found if tag == "script"]
    assert kinds == ["application/json", "module"]
    assert elements.text("title") == given["title"]
    assert policy(text)["script-src"] == hashed(elements.text("script", type="module"))


def test_labels_that_are_no_text():
    sheet = ldp.Questionnaire({"n": ldp.KRR((1, 2, 3), 1.0), "k": ldp.KRR(3, 1.0)})
    numbers, counted = embedded(page_text(sheet))["questions"]
    assert numbers["labels"] is None and counted["labels"] is None
    assert numbers["reportsAnswers"] and counted["reportsAnswers"]
    given = {"questions": {"n": {"answers": ["a", "b", "c"]}, "k": {"answers": ["d", "e", "f"]}}}
    numbers, counted = embedded(page_text(sheet, given))["questions"]
    assert numbers["labels"] == ["a", "b", "c"] and counted["labels"] == ["d", "e", "f"]


# -- conclusions -----------------------------------------------------------------------------------
def test_beliefs_are_posteriors():
    job, late, place, site, sex, party = embedded(PAGE)["questions"]
    sheet = six()
    found = ldp.privacy.posterior(sheet["job"], [0.25] * 4).to_numpy()
    np.testing.assert_allclose(job["beliefs"], found, rtol=1e-9)
    marks = [f"{i:03b}" for i in range(8)]
    found = ldp.privacy.posterior(sheet["late"], [1 / 3] * 3, reports=marks).to_numpy()
    np.testing.assert_allclose(late["beliefs"], found, rtol=1e-9)
    assert late["marksAnswers"] and not job["marksAnswers"] and not site["marksAnswers"]
    assert job["reportsAnswers"] and place["reportsAnswers"] and not party["reportsAnswers"]
    most = np.e / (np.e + 5)  # of six equally likely answers, three of them protected by epsilon 1
    np.testing.assert_allclose(np.max(place["beliefs"], axis=1), [1, 1, most, 1, most, most])
    assert place["protected"][0] == "hospital" and len(place["protected"]) == 3
    assert site["beliefs"] is None and sex["beliefs"] is None and sex["spent"] is None
    assert np.shape(party["beliefs"]) == (8, 7)


@pytest.mark.parametrize(
    ("mechanism", "report"),
    [
        (ldp.KRR(300, 2.0), "7"),
        (ldp.KRR([f"town {i}" for i in range(40)], 0.5), "town 39"),
        (ldp.KRAPPOR(30, 1.0), "0110" * 7 + "11"),
        (ldp.KRAPPOR(30, 1.0), "0" * 30),
        (ldp.SubsetSelection(40, 1.0), "1" * 11 + "0" * 29),
    ],
)
def test_two_numbers_are_beliefs_of_many_answers(mechanism, report):
    (shown,) = embedded(page_text(ldp.Questionnaire({"a": mechanism})))["questions"]
    k = len(mechanism.labels())
    assert shown["beliefs"] is None and shown["marksAnswers"] != shown["reportsAnswers"]
    marked = [label == report for label in map(str, mechanism.labels())]
    if shown["marksAnswers"]:
        marked = [bit == "1" for bit in report]
    weights = np.where(marked, shown["odds"], 1.0)
    found = ldp.privacy.posterior(mechanism, np.full(k, 1 / k), reports=[report]).to_numpy()[0]
    np.testing.assert_allclose(weights / weights.sum(), found, rtol=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        ldp.URR(40, (1, 2), epsilon=1.0),
        ldp.URAP(40, (1, 2), 1.0),
        ldp.HadamardResponse(100, 1.0),
        ldp.Observed(40),
        ldp.ORR(5, 1, epsilon=0.5, alphabet=5),  # as many cells as answers: none is taken for one
        ldp.RAPPOR(4, 1, 2, f=0.2, p=0.2, q=0.7, alphabet=("w", "x", "y", "z")),
        ldp.ORAPPOR(4, 2, 3, epsilon=2.0, alphabet=("w", "x", "y", "z")),
    ],
)
def test_two_numbers_are_not_the_beliefs_of_other_mechanisms(mechanism):
    (shown,) = embedded(page_text(ldp.Questionnaire({"a": mechanism})))["questions"]
    assert shown["beliefs"] is None and shown["odds"] is None
    if mechanism.n_cohorts:
        assert not shown["reportsAnswers"] and not shown["marksAnswers"]


def test_total():
    assert embedded(PAGE)["total"] == {"epsilon": 5.0, "factor": pytest.approx(np.exp(5.0))}
    assert embedded(page_text(six(ask=2)))["total"]["epsilon"] == 2.0
    assert embedded(page_text(ldp.Questionnaire({"a": ldp.Observed(2)})))["total"] is None


def test_waves_stand_in_the_client_document_alone():
    """What is said of them is in the script: only the words and the document are data."""
    linked = replace(six(), wave="2026-05", link=True)
    plain, data = (embedded(page_text(sheet)) for sheet in (six(), linked))
    assert data["client"] == linked.client_document() and data["client"]["link"] is True
    assert {**data, "client": None} == {**plain, "client": None}
    assert not {"wave", "family", "link"} & plain["client"].keys()
    for word, places in {
        "happens_linked": {"wave"},
        "happens_wave": {"wave"},
        "believe_waves": {"before", "two", "five", "ten"},
        "waves": {"waves", "factor", "epsilon"},
        "waves_huge": {"waves", "factor", "epsilon"},
    }.items():
        for words in (
            plain["texts"]["words"],
            embedded(page_text(six(), GERMAN))["texts"]["words"],
        ):
            assert set(re.findall(r"\{([a-z]+)\}", words[word])) == places


# -- files -----------------------------------------------------------------------------------------
def test_a_page_is_not_overwritten(tmp_path):
    write_page(six(), tmp_path / "survey.html")
    with pytest.raises(InvalidArgument, match="already exists"):
        write_page(six(), tmp_path / "survey.html")
    write_page(six(), tmp_path / "survey.html", force=True)
    assert (tmp_path / "survey.html").read_bytes() == PAGE.encode()


def test_what_is_no_questionnaire_is_refused():
    with pytest.raises(InvalidArgument, match="give a mechanism a name"):
        page_text(ldp.Warner(epsilon=1.0))


def test_devices_with_unknown_parameters_have_no_page():
    device = ldp.devices.library.cheating_detection("1/2", "1/6").mechanism(("no", "yes"))
    with pytest.raises(NotAvailable):
        page_text(ldp.Questionnaire({"used": device}))


# Words of the page: those of a file, and what is wrong with others.

SCRIPTS = Path(ldp.page.__file__).with_name("script")


def test_a_german_page():
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


def test_all_words_can_be_written_out_and_read_again():
    words = page_texts(six())
    assert page_text(six(), words) == page_text(six())
    assert page_text(six(), json.loads(json.dumps(words))) == page_text(six())


def test_every_word_is_used_and_every_used_word_is_there():
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
def test_wrong_texts_name_the_key_and_the_remedy(texts, message):
    with pytest.raises(InvalidArgument, match=message):
        page_text(six(), texts)


# -- command ---------------------------------------------------------------------------------------
def test_the_command(tmp_path, capsys):
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
def test_the_command_refuses(tmp_path, monkeypatch, capsys, more, message):
    monkeypatch.chdir(tmp_path)
    six().to_json("six.json")
    assert main(["page", "six.json", *more]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["six.json"]
