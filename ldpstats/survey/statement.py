"""A privacy statement: one page on what a questionnaire asks, what leaves a device, what is told.

It is for whoever has to approve a survey, and knows what a probability is. Everything in it is
computed from the questionnaire. The same sections are written as text and as HTML.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import html_text, record
from ldpstats.errors import LDPError
from ldpstats.io.storage import FilePath, replacing
from ldpstats.labels import preview
from ldpstats.mechanisms.custom import Enumerated
from ldpstats.models.layout import count_of, in_turn, one_line
from ldpstats.privacy.beliefs import posterior
from ldpstats.survey.questions import KeptQuestion, PersonalQuestion, Question, largest

RARE = 0.01  # what was believed of a rare answer before
WAVES = 2, 5, 10
_WIDTH = 80
_MOST = 100  # answers whose matrix is looked at
_FEW = 12  # answers whose histories over two waves are compared
_LONGEST = 24  # characters of a cell
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.6rem}h2{font-size:1.15rem;margin:1.6rem 0 .4rem}p,li{margin:.3rem 0}"
    "table{border-collapse:collapse;margin:.6rem 0}th,td{padding:.2rem .9rem .2rem 0;"
    "text-align:right;border-bottom:1px solid #ccc}th:first-child,td:first-child{text-align:left}"
)


@dataclass(frozen=True)
class Section:
    """A heading, what is said under it, points of a list, and a table, whose first row is heads."""

    heading: str
    words: str
    points: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@record
class Statement:
    """What a questionnaire asks, what leaves a device, and what anyone can conclude, on one page.

    `Questionnaire.statement` makes it. Printed it is text; a notebook shows HTML.

    Attributes
    ----------
    title : str
    sections : tuple of Section
        Each with a `heading`, `words`, `points` and `rows`, as plain text.
    table : DataFrame
        Of each private question: "epsilon" in nats; "odds", how many times as likely a report can
        make an answer compared with another; "before" and "after", the most that can be believed of
        an answer if all were equally likely; "rare", the same of an answer of 1 in 100 persons.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> jobs = ldp.KRR(("cook", "nurse", "spy"), epsilon=1.0)
    >>> statement = ldp.Questionnaire({"job": jobs, "ill": ldp.Warner(epsilon=0.5)}).statement()
    >>> statement.table.round(3)
          epsilon   odds  before  after   rare
    job       1.0  2.718   0.333  0.576  0.027
    ill       0.5  1.649   0.500  0.622  0.016
    >>> [section.heading for section in statement.sections][:2]
    ['What is asked', 'What leaves the device']
    """

    title: str
    sections: tuple[Section, ...]
    table: pd.DataFrame

    def __str__(self) -> str:
        lines = [self.title, "=" * len(self.title)]
        for section in self.sections:
            lines += ["", section.heading, "-" * len(section.heading)]
            lines += textwrap.wrap(section.words, _WIDTH)
            for point in section.points:
                lines += textwrap.wrap(point, _WIDTH, initial_indent="- ", subsequent_indent="  ")
            if section.rows:
                widths = [max(map(len, column)) for column in zip(*section.rows, strict=True)]
                lines.append("")
                for row in section.rows:
                    cells = [row[0].ljust(widths[0])]
                    cells += [text.rjust(w) for text, w in zip(row[1:], widths[1:], strict=True)]
                    lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [f"<h1>{html_text(self.title)}</h1>"]
        for section in self.sections:
            parts.append(f"<h2>{html_text(section.heading)}</h2>")
            parts.append(f"<p>{html_text(section.words)}</p>")
            if section.points:
                points = "".join(f"<li>{html_text(point)}</li>" for point in section.points)
                parts.append(f"<ul>{points}</ul>")
            if section.rows:
                head, *body = ([html_text(text) for text in row] for row in section.rows)
                made = ["".join(f"<th>{text}</th>" for text in head)]
                made += ["".join(f"<td>{text}</td>" for text in row) for row in body]
                parts.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in made)}</table>")
        return "\n".join(parts)

    def to_html(self, path: FilePath | None = None, force: bool = False) -> str | None:
        """Write the statement as a page of HTML; without a path, return its text.

        Parameters
        ----------
        path : path-like, optional
        force : bool
            Whether an existing file may be overwritten.

        Raises
        ------
        InvalidArgument
            If the file exists or cannot be written.
        """
        head = f"<title>{html_text(self.title)}</title><style>{_STYLE}</style>"
        text = f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{head}</head>\n'
        text += f"<body>\n{self._repr_html_()}\n</body></html>\n"
        if path is None:
            return text
        with replacing(path, force) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return None


def statement_of(sheet: Any) -> Statement:
    """The privacy statement of a questionnaire."""
    audit = sheet.audit()
    private = [question for question in sheet.entries if question.private]
    rows = {question.name: _beliefs(question) for question in private}
    columns = ["epsilon", "odds", "before", "after", "rare"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns, dtype=float)
    sections = [_asked(sheet), _sent(sheet, private)]
    if private:
        sections += [_concluded(sheet, rows), _over_waves(sheet, private, rows)]
    sections += [_not_protected(sheet, private), _checked(sheet, audit)]
    return Statement("Privacy statement", tuple(sections), table)


def _percent(share: float) -> str:
    if 0.9995 <= share < 1.0:
        return ">99.9%"  # which is not certain
    return "-" if np.isnan(share) else f"{100 * share:.3g}%"


def _names(questions: Iterable[str]) -> str:
    return in_turn([f"“{one_line(name, _LONGEST)}”" for name in questions], 12)


def _asked(sheet: Any) -> Section:
    points = []
    for question in sheet.entries:
        labels = question.labels
        answers = "any text"
        if labels is not None:
            answers = f"{count_of(len(labels), 'answer')}: {preview(labels)}"
        how = "" if question.private else "; not protected"
        points.append(f"“{question.name}”: {answers}{how}")
    n = len(sheet.private)
    words = f"The questionnaire has {count_of(len(sheet), 'question')}, of which "
    words += f"{n} {'is' if n == 1 else 'are'} protected."
    if sheet.ask not in (None, n):
        words += f" Each respondent is asked {sheet.ask} of these, drawn at random without regard "
        words += "to her answers."
    if sheet.wave is not None:
        words += f" It is the wave “{sheet.wave}” of a survey that comes back."
    return Section("What is asked", words, tuple(points))


def _sent(sheet: Any, private: Sequence[Question]) -> Section:
    words = (
        "Answers to protected questions stay with the respondent. Her device"
        f"{'' if sheet.link else ' (or she herself, with a die or cards)'} replaces each by a "
        "report that is drawn at random, with probabilities that depend on the answer and that "
        "everybody may know. What is sent is:"
    )
    if not private:
        words = "No question is protected. What is sent is:"
    points = [f"“{one.name}”: {_report(one)} ({one.made_by!s})" for one in private]
    points += [f"“{name}”: the answer as it is" for name in sheet.observed]
    for name, label in sheet.refused.items():
        points.append(f"“{name}”: a missing answer is reported as if it were “{label}”")
    token = "a token of 128 random bits, new for each sheet, by which a repeated copy is recognised"
    if sheet.link:
        token = "a pseudonym, the same in all waves: a keyed hash with a secret of the device"
    points += [f"the fingerprint {sheet.fingerprint} of the questionnaire", token]
    return Section("What leaves the device", words, tuple(points))


def _report(question: Question) -> str:
    """What a report of a question is, in words."""
    made_by: Any = question.made_by
    if isinstance(made_by, Enumerated) and made_by.outputs.equals(made_by.categories):
        if made_by.k <= _MOST:
            true = np.unique(made_by.channel().matrix().diagonal().round(4))
            share = " to ".join(_percent(one) for one in true[[0, -1][: true.size]])
            return f"one of the answers, the true one with a probability of {share}"
        return "one of the answers, the true one by chance"
    if bits := getattr(made_by, "n_bits", 0):
        cohort = "a cohort, drawn by the device, and " if getattr(made_by, "n_cohorts", 0) else ""
        return f"{cohort}{bits} bits, of which each is random"
    return "a code that is drawn by chance"


def _beliefs(question: Question) -> list[float]:
    """Epsilon, its factor, and what may be believed: of equally likely answers, of a rare one."""
    epsilon, made_by, labels = question.epsilon, question.made_by, question.labels
    odds = exp(min(epsilon, 700.0)) if isfinite(epsilon) else np.inf

    def bound(before: float) -> float:
        return before * odds / (before * odds + 1.0 - before) if isfinite(odds) else 1.0

    k = np.nan if labels is None else float(len(labels))
    before = 1.0 / k
    after, rare = (np.nan if np.isnan(k) else bound(before)), bound(RARE)
    exact = isinstance(made_by, Enumerated) and not isinstance(question, KeptQuestion)
    if exact and labels is not None and 1 < k <= _MOST and made_by.n_outputs <= 8 * _MOST:
        own: Any = range(len(labels))
        if question.sensitive is not None:
            own = labels.get_indexer(question.sensitive)
        Q = made_by.channel().matrix()
        used = made_by.outputs[Q.any(axis=0)]
        law = np.full(int(k), before)
        after = posterior(made_by, law, reports=used).to_numpy()[:, list(own)].max(initial=0.0)
        rare = 0.0
        for x in own:
            law = np.full(int(k), (1.0 - RARE) / (k - 1.0))
            law[x] = RARE
            rare = max(rare, posterior(made_by, law, reports=used).to_numpy()[:, x].max())
    return [epsilon, odds, before, float(after), float(rare)]


def _concluded(sheet: Any, found: dict[str, list[float]]) -> Section:
    total = sheet.epsilon
    words = (
        "A report changes what can be believed of a respondent's answer by no more than this, "
        "whatever else is known of her. Epsilon, in nats, bounds how many times as likely it can "
        "make one answer compared with another: exp(epsilon). The columns on the right are what "
        "can be believed at most after seeing the report: of an answer if all were equally likely, "
        f"and of an answer that 1 in {round(1 / RARE)} persons gives. Where answers to several "
        "questions go together, each report tells something of all of them. "
    )
    if isfinite(total):
        words += f"Epsilons of a sheet add up: that of all reports together is {total:.4g}, "
        words += f"a factor of {exp(min(total, 700.0)):.4g} between any two sets of answers."
    else:
        words += "Some report can tell for certain: no epsilon bounds all reports together."
    heads = "question", "epsilon", "times", "before", "after", "of a rare answer"
    rows: list[tuple[str, ...]] = [heads]
    for name, (epsilon, odds, *shares) in found.items():
        cells = [f"{epsilon:.4g}", f"{odds:.4g}", *map(_percent, shares)]
        rows.append((one_line(name, _LONGEST), *cells))
    partly = [one.name for one in sheet.entries if one.private and one.sensitive is not None]
    if partly:
        words += f" Of {_names(partly)} this holds for the protected answers alone."
    if kept := [one.name for one in sheet.entries if isinstance(one, KeptQuestion)]:
        words += f" The figures of {_names(kept)} are of any number of sheets with the same answer."
    return Section("What anyone can conclude", words, (), tuple(rows))


def _over_waves(sheet: Any, private: Sequence[Question], found: dict[str, list[float]]) -> Section:
    kept = {one.name: one.made_by for one in private if isinstance(one, KeptQuestion)}
    words = (
        "Sheets carry nothing that joins them. If a respondent fills in several, and it is known "
        "by other means that they are hers, they count together all the same."
    )
    if sheet.link:
        words = "The sheets of all waves carry one pseudonym, and are known to be of one person."
    words += " Every sheet spends epsilon again."
    if kept:
        words += f" But the device keeps its response to an answer of {_names(kept)} and reports "
        words += "that again with new noise, so that all reports of one answer, however many, tell "
        words += "no more than the response would. If answers change, more is told, and that they "
        words += f"did may show{_changing(sheet, kept, found)}."
    words += " If all answers were equally likely before and hers stays the same, it can be "
    words += "believed at most after so many sheets:"
    shown = [name for name, (_, _, before, *_) in found.items() if before == before][:4]
    rows = [("sheets", "epsilon", *(one_line(name, 14) for name in shown))]
    fresh = largest([row[0] for name, row in found.items() if name not in kept], sheet.ask)
    once = {name: row[0] for name, row in found.items()}
    once |= {name: min(one.epsilon, once[name]) for name, one in kept.items()}
    single = largest([*once.values()], sheet.ask)
    for T in (1, *WAVES):
        lasting = {name: min(T * one.epsilon, found[name][0]) for name, one in kept.items()}
        cells = [f"{min(T * single, T * fresh + sum(lasting.values())):.4g}"]
        for name in shown:
            epsilon, _, before, *_ = found[name]
            spent = min(lasting.get(name, T * epsilon), 700.0)
            cells.append(_percent(1.0 / (1.0 + (1.0 / before - 1.0) * exp(-spent))))
        rows.append((str(T), *cells))
    return Section("Over several sheets", words, (), tuple(rows))


def _changing(sheet: Any, kept: Mapping[str, Any], found: dict[str, list[float]]) -> str:
    """What two sheets spend, whatever the answers; "" where that is not known."""
    each = [2.0 * row[0] for name, row in found.items() if name not in kept]
    try:
        each += [one.joint_epsilon(2) for one in kept.values() if len(one.labels()) <= _FEW]
    except (LDPError, TypeError):  # an open alphabet, or too many answers
        return ""
    if len(each) < len(found):
        return ""
    return f": two sheets together then have an epsilon of {largest(each, sheet.ask):.4g}"


def _not_protected(sheet: Any, private: Sequence[Question]) -> Section:
    points = []
    if sheet.observed:
        points.append(f"Answers to {_names(sheet.observed)}: they are sent as they are.")
    for one in private:
        if one.sensitive is not None and one.labels is not None:
            if not one.labels.isin(one.sensitive).all():
                words = f"other than {preview(one.sensitive)}: a report may show them for certain."
                points.append(f"Answers to “{one.name}” {words}")
        if isinstance(one, PersonalQuestion):
            points.append(
                f"“{one.name}”: beyond these, each respondent's device protects what she marked; "
                "a report that shows an answer tells that she did not mark it."
            )
        if not isfinite(one.epsilon):
            points.append(f"Some answer to “{one.name}”: a report may tell it for certain.")
    unrefused = [one.name for one in private if one.name not in sheet.refused]
    if unrefused:
        words = "Whether a question was answered at all, where a missing answer stays empty: "
        points.append(f"{words}{_names(unrefused)}.")
    if any(isinstance(one, KeptQuestion) for one in private):
        points.append("Whether an answer changed between waves, where devices keep responses.")
        points.append(
            "Answers whose responses are kept, from whoever takes the secret of a device (or a "
            "backup of it) and has its reports: the secret makes the responses again, which mostly "
            "show the answer. Who loses it is given new responses, and spends epsilon anew."
        )
    if sheet.link:
        points.append(
            "Which sheets of several waves are of one person, and in which she took part; and that "
            "they are hers, from whoever takes the secret of her device."
        )
    points += [
        "That somebody took part, when, and from which network address: whoever runs the server "
        "sees that.",
        "What is true of groups: that is what the survey estimates, from many reports, and it may "
        "be believed of everybody in the group, respondents or not.",
        "Answers on a device, or a page, that was tampered with: they are typed into it.",
    ]
    return Section("What is not protected", "Not protected by the random draw are:", tuple(points))


def _checked(sheet: Any, audit: Any) -> Section:
    verdict = "agree" if audit.agrees else "DO NOT AGREE: do not use this questionnaire"
    words = (
        "The epsilon of each question was compared with its matrix of probabilities and with the "
        f"integers that devices draw with; the three {verdict}. Anybody can repeat that with the "
        "file of the questionnaire: ldpstats audit FILE. Its fingerprint "
        f"is {sheet.fingerprint}; any change of a question or probability changes it."
    )
    return Section("How this can be checked", words)
