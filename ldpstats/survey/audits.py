"""The audit of a questionnaire: of each question, and of all that a respondent sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from ldpstats.channels.audit import Audit

__all__ = ["SheetAudit", "audited", "largest"]


@dataclass(frozen=True)
class SheetAudit(Audit):
    """Audits of the questions of a questionnaire, and their sum over a sheet.

    Parameters
    ----------
    mechanism, declared, channel, sampler
        As of `privacy.Audit`, for all reports of an answer sheet together.
    questions : mapping from name to Audit
        The audit of each question, observed ones included.
    observed : tuple of str
        Names of the questions that are not protected, and not in the sums of others.
    """

    questions: Mapping[str, Audit] = field(default_factory=dict)
    observed: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether no question leaks more than it claims."""
        return all(audit.agrees for audit in self.questions.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, with None for an infinite epsilon."""
        names = ("mechanism", "declared", "channel", "sampler")
        own = Audit(**{name: getattr(self, name) for name in names}).to_dict()
        questions = {name: audit.to_dict() for name, audit in self.questions.items()}
        return own | {"agrees": self.agrees, "questions": questions}

    def __str__(self) -> str:
        parts = [
            f"{name}: observed, not protected" if name in self.observed else f"{name}: {audit}"
            for name, audit in self.questions.items()
        ]
        own = str(Audit(self.mechanism, self.declared, self.channel, self.sampler))
        return "\n".join([own, *parts])


def audited(sheet: Any) -> SheetAudit:
    """The audit of a questionnaire."""
    audits = {question.name: question.audit() for question in sheet.entries}
    own, ask = [audits[name] for name in sheet.private or sheet.observed], sheet.ask
    channel = largest([audit.channel for audit in own], ask)
    sampler = largest([audit.sampler for audit in own], ask)
    return SheetAudit(
        str(sheet), sheet.epsilon, channel, sampler, questions=audits, observed=sheet.observed
    )


def largest(epsilons: list[float], ask: int | None) -> float:
    """The sum of the `ask` largest epsilons, in nats; of all if None."""
    return fsum(sorted(epsilons, reverse=True)[:ask])
