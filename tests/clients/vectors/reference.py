"""The reports that clients must make, by the samplers of numpy: not by a client that is tested."""

import hashlib
import hmac
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import isinf
from typing import Any

import numpy as np
import pandas as pd
from clients.vectors.tapes import Ended, Tape

import ldpstats as ldp
from ldpstats.clients.device import plain, texts
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.hashed import Hashed
from ldpstats.reports.single import Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import sample_bits, system_words
from ldpstats.survey.questions import draw_asked

__all__ = ["expected"]


class Refused(Exception):
    """Why a client makes no report."""


class Question(ABC):
    """What reads an answer, which may fail, and then draws the report of what was read."""

    def __init__(self, made_by: Any, words: Any, tags: Any = None) -> None:
        if tags:
            raise Refused("tags")
        self.made_by, self.words = made_by, words

    @abstractmethod
    def read(self, answer: Any) -> Any: ...

    @abstractmethod
    def send(self, given: Any) -> Any: ...


def places(labels: Any) -> dict[str, int]:
    """The numbers of labels by their texts."""
    given = texts(labels)
    return {
        text: x
        for x, text in enumerate(map(str, range(given)) if isinstance(given, int) else given)
    }


def place(answer: Any, numbers: dict[str, int], reason: str = "answer") -> int:
    if not isinstance(answer, str) or answer not in numbers:
        raise Refused(reason)
    return numbers[answer]


def sent(mechanism: Any, y: Any, cohort: Any = None) -> str:
    return str(plain(mechanism.report_labels(Reports(y, mechanism, cohort=cohort))[0]))


class Listed(Question):
    """A mechanism whose answers are listed, without cohorts."""

    def read(self, answer: Any) -> int:
        return place(answer, places(self.made_by.categories))

    def send(self, given: int) -> str:
        return sent(self.made_by, self.made_by.sample(np.array([given]), self.words))


def whole_text(answer: Any) -> str:
    try:
        answer.encode("utf-8")
    except (AttributeError, UnicodeEncodeError):
        raise Refused("answer") from None
    return str(answer)


class InCohorts(Question):
    """A mechanism that hashes answers; RAPPOR too, in questionnaires."""

    def read(self, answer: Any) -> Any:
        if self.made_by.is_open:
            return whole_text(answer)
        return self.made_by.alphabet[place(answer, places(self.made_by.alphabet))]

    def send(self, given: Any) -> str:
        reports = self.made_by._report([given], self.words, "raise")
        return sent(self.made_by, reports.y, reports.cohort)


class Secretive:
    """A question whose responses follow from a secret."""

    secret: bytes

    def words_of(self, message: bytes, n: int) -> list[int]:
        blocks = (
            hmac.digest(self.secret, message + i.to_bytes(8, "big"), "sha256") for i in range(n)
        )
        return np.frombuffer(b"".join(blocks), dtype="<u8")[:n].tolist()


class Kept(Secretive, Listed):
    """The first of two steps, which is kept; drawn by thresholds, as by the samplers."""

    def send(self, given: int) -> str:
        document = self.made_by._kept_document()
        law = {"answers": document["answers"]}
        law |= {name: document["draw"][name] for name in ("digest", "first")}
        text = json.dumps(law, separators=(",", ":"), sort_keys=True).encode("ascii")
        message = b"ldpstats kept 1 " + hashlib.sha256(text).digest() + given.to_bytes(8, "big")
        (word,) = self.words_of(message, 1)
        first, then = (samplers.integer_rows(one) for one in self.made_by.steps)
        b = first.outputs[given][np.searchsorted(first.upper[given], np.uint64(word))]
        y = samplers.sample_rows(np.array([b]), then, self.words)
        return sent(self.made_by, y)


class Permanent(Secretive, InCohorts):
    """RAPPOR alone, with a secret."""

    def send(self, given: Any) -> str:
        rappor = self.made_by
        owned, absent = rappor.permanent_thresholds()
        one, zero = rappor.report_thresholds()
        C = rappor.n_cohorts
        cohort = self.words_of(f"ldpstats cohort 1 {C}".encode(), 1)[0] * C >> 64
        head = f"ldpstats permanent 1 {cohort} {absent} {rappor.filter_digest}\0".encode()
        message = head + hashlib.sha256(str(given).encode("utf-8")).digest()
        own = set(self._cells(given, cohort).tolist())
        permanent = self.words_of(message, rappor.n_bits)
        limits = [
            one if word < (owned if j in own else absent) else zero
            for j, word in enumerate(permanent)
        ]
        y = sample_bits(np.empty((1, 0), np.int64), rappor.n_bits, 0, limits, self.words)
        return sent(rappor, y, np.array([cohort]))

    def _cells(self, given: Any, cohort: int) -> Any:
        if self.made_by.is_open:
            return self.made_by.answer_hash.own(
                pd.Series([given], dtype=object), np.array([cohort])
            )[0]
        return self.made_by.cells_of_cohort(cohort)[self.made_by.alphabet.get_loc(given)]


class Personal(Question):
    """A PUM, with the respondent's own categories."""

    def __init__(self, made_by: Any, words: Any, tags: Any = None) -> None:
        super().__init__(made_by, words)
        numbers = places(made_by.categories)
        names = {str(tag): tag for tag in made_by.tags.tolist()}
        tags = {} if tags is None else tags
        if not isinstance(tags, dict) or not all(isinstance(some, list) for some in tags.values()):
            raise Refused("tags")
        own = {
            names.get(tag, "no tag"): [made_by.categories[place(x, numbers, "tags")] for x in some]
            for tag, some in tags.items()
        }
        try:
            self.own = made_by._preprocessor(own)
        except InvalidArgument:
            raise Refused("tags") from None

    def read(self, answer: Any) -> int:
        return int(self.own[place(answer, places(self.made_by.categories))])

    def send(self, given: int) -> str:
        common = self.made_by.common
        return sent(common, common.sample(np.array([given]), self.words))


class Grams(Question):
    """Strings that nobody listed."""

    def read(self, answer: Any) -> str:
        try:
            self.made_by.layout.strings("answer", [whole_text(answer)], self.made_by.replace)
        except InvalidArgument:
            raise Refused("answer") from None
        return str(answer)

    def send(self, given: str) -> Any:
        return self.made_by._message(self.made_by._report([given], self.words, "raise"))


def question_of(made_by: Any, words: Any, tags: Any = None) -> Question:
    if isinstance(made_by, ldp.PUM):
        return Personal(made_by, words, tags)
    if isinstance(made_by, ldp.DictionarySurvey):
        return Grams(made_by, words, tags)
    kind = InCohorts if isinstance(made_by, Hashed) else Listed
    return kind(made_by, words, tags)


class Alone:
    """The client of one mechanism."""

    def __init__(self, made_by: Any, words: Any, secret: str | None, tags: Any) -> None:
        self.question = question_of(made_by, words, tags)
        self.epsilon = made_by.common._spent() if isinstance(made_by, ldp.PUM) else made_by._spent()
        self.limited, self.words, self.secret = True, words, secret
        if isinstance(made_by, ldp.CustomMechanism) and made_by.keep:
            self.question, self.limited = Kept(made_by, words, tags), False
            self.epsilon = made_by.lifetime_epsilon
        if isinstance(made_by, ldp.RAPPOR):
            self.question = Permanent(made_by, words, tags)
            self.limited = made_by.f == 0.0
            self.epsilon = made_by.epsilon if self.limited else made_by.lifetime_epsilon

    def begin(self) -> None:
        if isinstance(self.question, Secretive):
            drawn = self.words(4).astype("<u8").tobytes() if self.secret is None else None
            self.question.secret = bytes.fromhex(self.secret or "") if drawn is None else drawn

    def report(self, answer: Any) -> Any:
        return self.question.send(self.question.read(answer))


class Sheets:
    """The client of a questionnaire."""

    def __init__(self, sheet: Any, words: Any, secret: str | None, tags: Any) -> None:
        self.sheet, self.words, self.epsilon, self.limited = sheet, words, sheet.epsilon, True
        self.secret, self.sent = secret, dict[str, str]()
        self.asked: list[list[str]] = []
        if not set(tags or {}) <= set(sheet.questions):
            raise Refused("tags")
        self.questions = {
            name: question_of(made_by, words, (tags or {}).get(name))
            for name, made_by in sheet.mechanisms.items()
        }
        for name, made_by in sheet.mechanisms.items():
            if sheet.keep and made_by.permanent is not None:
                kind = Permanent if isinstance(made_by, ldp.RAPPOR) else Kept
                self.questions[name] = kind(made_by, words, (tags or {}).get(name))

    def begin(self) -> None:
        if self.sheet.link and not self.sent:
            given = self.secret and bytes.fromhex(self.secret)
            secret = given or self.words(4).astype("<u8").tobytes()
            document = self.sheet.client_document()
            asked = {name: document[name] for name in sorted(["questions", "family", "ask"])}
            text = json.dumps(asked, separators=(",", ":"), sort_keys=True)
            message = f"ldpstats token 1 {text}".encode() + bytes(8)
            self.sent = {"token": hmac.new(secret, message, "sha256").hexdigest()[:32]}
            for name, question in self.questions.items():
                if isinstance(question, Secretive):
                    own = b"ldpstats question 1 " + json.dumps(name).encode() + bytes(8)
                    question.secret = hmac.digest(secret, own, "sha256")
        self.next: list[str] | None = None
        drawn = draw_asked(1, len(self.sheet.private), self.sheet.ask, self.words)[0]
        left = {name for name, asked in zip(self.sheet.private, drawn, strict=True) if not asked}
        self.next = [name for name in self.sheet.questions if name not in left]

    def report(self, answers: Any) -> Any:
        if not isinstance(answers, dict) or not set(answers) <= set(self.questions):
            raise Refused("answer")
        if self.next is None:
            self.begin()
        assert self.next is not None
        given = {}
        for name in self.next:
            answer = answers.get(name)
            if answer is None and name in self.sheet.refused:
                answer = str(self.sheet.refused[name])
            if answer is not None:
                given[name] = self.questions[name].read(answer)
        found = dict.fromkeys(self.questions)
        found |= {name: self.questions[name].send(read) for name, read in given.items()}
        self.asked.append(self.next)
        try:
            self.begin()
        except Ended:
            pass
        return found


def _shows(made_by: Any) -> bool:
    """Whether a report may prove an answer that is not protected."""
    if isinstance(made_by, ldp.DictionarySurvey):
        return any(map(_shows, made_by.mechanisms))
    if isinstance(made_by, ldp.PUM):
        return _shows(made_by.common)
    if isinstance(made_by, ldp.Observed):
        return True
    return made_by.sensitive is not None and len(made_by.sensitive) < len(made_by.categories)


def sent_code(text: str) -> str:
    """An invitation code, as section 10.1 has it sent."""
    letters = "".join(c for c in text if c not in " -\u2010\u2011\u2012\u2013\u2014\u2015")
    letters = "".join(chr(ord(c) - 32) if "a" <= c <= "z" else c for c in letters)
    alphabet = "".join(c for c in "23456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in "ILO")
    places = [alphabet.find(c) for c in letters]
    if len(places) != 20 or -1 in places:
        raise Refused("invitation")
    if (sum(i * places[i - 1] for i in range(1, 20)) - places[19]) % 31:
        raise Refused("invitation")
    return letters


def expected(
    instrument: Any,
    tape: Tape,
    answers: list[Any],
    reports: int | None = 1,
    secret: str | None = None,
    tags: Any = None,
    max_epsilon: str | None = None,
    unprotected: Sequence[str] = (),
    messages: bool = False,
    invitation: str | None = None,
) -> dict[str, Any]:
    """What a client answers, see section 11 of the specification; messages without drawn tokens."""
    words = system_words(tape)
    try:
        many = isinstance(instrument, ldp.Questionnaire)
        client: Any = (
            Sheets(instrument, words, secret, tags)
            if many
            else Alone(instrument, words, secret, tags)
        )
        if max_epsilon is not None:
            if isinf(client.epsilon) or client.epsilon > float(max_epsilon):
                raise Refused("epsilon")
            asked = instrument.mechanisms if many else {"report": instrument}
            if any(_shows(asked[name]) for name in set(asked) - set(unprotected)):
                raise Refused("epsilon")
        client.begin()
    except Refused as refused:
        return {"refused": str(refused)}
    except Ended:
        return {"refused": "random"}
    if not many and isinstance(client.question, Secretive):
        reports = 1 if client.limited else None
    made, found = 0, []
    for answer in answers:
        try:
            invited = {} if invitation is None else {"invitation": sent_code(invitation)}
            if made == reports:
                raise Refused("budget")
            report = client.report(answer)
            if messages:
                head = {"format": "ldpstats-sheet", "version": 1, "survey": instrument.fingerprint}
                head |= client.sent if many else {}
                report = head | invited | {"sheet": report if many else {"report": report}}
            found.append(report)
            made += 1
        except Refused as refused:
            found.append({"refused": str(refused)})
        except Ended:
            found.append({"refused": "random"})
    return {"reports": found, "used": tape.used} | ({"asked": client.asked} if many else {})
