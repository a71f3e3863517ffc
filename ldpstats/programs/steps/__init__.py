"""Steps of a randomising device, as data: what is drawn, and what is said on each outcome."""

from ldpstats.programs.steps.base import MOST_DEEP, MOST_STEPS, Step, check_step, names_in, typed
from ldpstats.programs.steps.compound import Cohorts, Parts, Then, When, check_branches
from ldpstats.programs.steps.draws import Cards, Flip, Question, Roll, Spin
from ldpstats.programs.steps.values import Another, Hashed, Opposite, Say, Truth

__all__ = [
    "MOST_DEEP",
    "MOST_STEPS",
    "Another",
    "Cards",
    "Cohorts",
    "Flip",
    "Hashed",
    "Opposite",
    "Parts",
    "Question",
    "Roll",
    "Say",
    "Spin",
    "Step",
    "Then",
    "Truth",
    "When",
    "check_branches",
    "check_step",
    "names_in",
    "typed",
]
