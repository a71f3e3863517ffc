"""Dictionary surveys whose reports tests write and read."""

from typing import Any

from shared.written_tables import rng

import ldpstats as ldp

COLUMNS = ["start_1", "gram_1", "start_2", "gram_2", "string"]
SHAPE: dict[str, Any] = {"length": 6, "gram": 2, "alphabet": "abcde"}
SURVEYS = {
    "k-rr": ldp.DictionarySurvey(**SHAPE, epsilon=9.0),
    "o-rr": ldp.DictionarySurvey(**SHAPE, epsilon=9.0, gram_mechanism="orr"),
    "bits": ldp.DictionarySurvey(
        **SHAPE, epsilon=9.0, gram_mechanism="oue", string_mechanism="rappor"
    ),
    "rappor": ldp.DictionarySurvey(
        **SHAPE, epsilon=9.0, gram_mechanism="rappor", string_mechanism="rappor"
    ),
    "overlap": ldp.DictionarySurvey(**SHAPE, epsilon=9.0, step=1, pad="_", replace="e"),
    "awkward": ldp.DictionarySurvey(4, 1, 'a",\r\n', epsilon=9.0, pad=" "),
}
SURVEY = SURVEYS["k-rr"]
# tells the truth but for one gram in 31 e^-40, and one string in 65,536 e^-40
HONEST = ldp.DictionarySurvey(
    **SHAPE,
    gram_mechanism=ldp.KRR(SURVEY.layout.grams().tolist(), 40.0),
    string_mechanism=ldp.ORR(65_536, 4, epsilon=40.0),
)


def words(survey: ldp.DictionarySurvey, n: int) -> list[str]:
    letters = list(survey.alphabet)
    lengths = rng().integers(1, survey.length + 1, n)
    return ["".join(rng(i).choice(letters, m)) for i, m in enumerate(lengths)]


def reports(survey: ldp.DictionarySurvey, n: int = 200, seed: int = 1) -> ldp.DictionaryReports:
    return survey.privatize(words(survey, n), rng(seed))
