"""The tables of the evidence: each a function of what a study stores.

A function takes the stored rows and gives a table of text, and in words how many surveys it rests
on and by how much chance moves a figure. Nothing is added to what is stored: rows are chosen,
averaged, turned and rounded.
"""

from evidence import coverage, mechanisms, posteriors, shared, sizes, speed, strings
from evidence.shared import TABLES, Shown

__all__ = [
    "TABLES",
    "Shown",
    "coverage",
    "mechanisms",
    "posteriors",
    "shared",
    "sizes",
    "speed",
    "strings",
]
