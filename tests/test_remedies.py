"""What errors tell one to do is done, and works.

A case is a call that fails, the code that its message says, and that code on the same data: true
where it works and means the right thing.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import devices
from ldpstats.devices import library

KRR = ldp.KRR(("a", "b", "c"), epsilon=1.0)
BITS = ldp.KRAPPOR(("a", "b", "c"), epsilon=1.0)
WARNER = ldp.Warner(epsilon=1.0)
HASHED = ldp.ORR(4, n_cohorts=4, epsilon=2.0)
CHEATING = library.cheating_detection("1/4").mechanism(("no", "yes"))
_MIX = np.random.default_rng(6).permutation
TABLE = pd.DataFrame(
    {
        "ill": _MIX(["no", "yes", "no", "no"] * 60),
        "job": _MIX(["a", "b", "c"] * 80),
        "used": _MIX([1, 2, 2, 9] * 60),
        "cheats": _MIX(["no", "no", "yes", "no"] * 60),
        "word": ["x", "y"] * 120,
        "age": range(240),
        "w": 1.0,
    }
)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def survey(mechanisms: Any = None, table: Any = TABLE, **options: Any) -> ldp.Survey:
    return ldp.Survey(
        table, mechanisms or {"ill": WARNER, "job": KRR, "cheats": CHEATING}, **options
    )


def said(device: devices.Device, n: dict[Any, int], categories: Any = ("no", "yes")) -> float:
    """The estimated share of "yes" where these were reported."""
    counts: Any = device.mechanism(categories).counts(n)
    return float(ldp.FrequencyModel(counts).fit().params.iloc[1])


KNOWN: dict[str, Any] = {
    **vars(devices), "devices": devices, "TABLE": TABLE, "np": np, "pd": pd, "ldp": ldp,
    "replace": replace, "Fraction": Fraction,
    "planning": ldp.planning, "privacy": ldp.privacy, "rng": rng, "survey": survey, "said": said,
    "KRR": KRR, "BITS": BITS, "WARNER": WARNER, "HASHED": HASHED, "CHEATING": CHEATING,
    "counts": KRR.counts([500, 300, 200]), "others": KRR.counts([400, 300, 300]),
    "bits": BITS.counts([476, 463, 439], nobs=1000),
    "reports": KRR.privatize(["a", "b", "c"] * 40, np.random.default_rng(2)),
    "mores": KRR.privatize(["b", "a", "c"] * 40, np.random.default_rng(3)),
    "thirds": KRR.privatize(["b", "a", "c"] * 40, np.random.default_rng(4)),
    "bit_reports": BITS.privatize(["b", "a", "c"] * 40, np.random.default_rng(4)),
    "sharp": survey({"ill": ldp.Warner(epsilon=6.0), "job": replace(KRR, epsilon=6.0)}),
    "BITS40": ldp.KRAPPOR(40, epsilon=1.0),
    "strings": HASHED.privatize(["a", "b", "c"] * 40, np.random.default_rng(2)),
    "RAPPOR": ldp.RAPPOR(n_bits=8, n_hashes=1, n_cohorts=2, f=0.25, p=0.25, q=0.75),
    "die": devices.roll(6).when({1: "yes", 6: "no"}, otherwise=devices.truth),
}  # fmt: skip

LABELS = [
    ("KRR.privatize(['a', None], rng())", "missing='count'",
     "KRR.privatize(['a', None], rng(), missing='count').n_missing == 1"),
    ("KRR.privatize(['a', 'd'], rng())", "add the label to categories=",
     "len(replace(KRR, categories=('a', 'b', 'c', 'd')).privatize(['a', 'd'], rng())) == 2"),
    ("ldp.KRR(pd.interval_range(0, 2), epsilon=1.0)", ".astype(str)",
     "ldp.KRR(pd.interval_range(0, 2).astype(str), epsilon=1.0).k == 2"),
    ("KRR.parse('job', pd.Series(['a', None]))", "column.dropna()",
     "KRR.parse('job', pd.Series(['a', None]).dropna()).y.tolist() == [0]"),
    ("survey({'used': library.warner('8/10').mechanism((2, 1))}).frequencies('used')",
     "na={'used': [9]}",
     "survey({'used': library.warner('8/10').mechanism((2, 1))}, na={'used': [9]})"
     ".reports('used').n_missing == 60"),
    ("survey({'job': WARNER}, TABLE.assign(job='No answer')).frequencies('job')",
     "na={'job': ['No answer']}",
     "survey({'job': WARNER}, TABLE.assign(job='No answer'), na={'job': ['No answer']})"
     ".reports('job').n_missing == 240"),
    ("WARNER.parse('q', [0, 1])", "labels of the data (categories=...)",
     "ldp.Warner(epsilon=1.0, categories=(0, 1)).parse('q', [0, 1]).y.tolist() == [0, 1]"),
    ("library.warner('8/10').mechanism((2, 1)).parse('q', [0, 1])", "device.mechanism(categories)",
     "library.warner('8/10').mechanism((0, 1)).parse('q', [0, 1]).y.tolist() == [0, 1]"),
    ("library.crosswise('1/4').mechanism((0, 1)).parse('q', [0, 1, 1])",
     "(device >> recode({'same': 1, 'different': 0})).mechanism(categories)",
     "said(library.crosswise('1/4') >> recode({'same': 1, 'different': 0}), {1: 60, 0: 40}, (0, 1))"
     " == said(library.crosswise('1/4'), {'same': 60, 'different': 40})"),
    ("survey({'used': ldp.KRR((1, 2), epsilon=1.0)}, na=['2'])", "na={'COLUMN': ['2']}",
     "len(survey({'used': ldp.KRR((1, 2, 9), epsilon=1.0)}, na={'age': ['2']})) == 240"),
    ("survey({'job': library.warner('8/10')})", ".mechanism((2, 1))",
     "survey({'used': library.warner('8/10').mechanism((2, 1))}).questionnaire"),
    ("WARNER.counts('x')", "counts", "WARNER.counts({'no': 70, 'yes': 30}).n.tolist() == [70, 30]"),
]  # fmt: skip

DEVICES = [
    ("library.forced_dice(answers=('nein', 'ja')).mechanism((0, 1))", "answers=(0, 1)",
     "library.forced_dice(answers=(0, 1)).mechanism((0, 1)).ratio == 5"),
    ("roll(6).when({1: 'refused'}, otherwise=truth).mechanism(3)", "outputs=[0, 1, 2, 'refused']",
     "roll(6).when({1: 'refused'}, otherwise=truth).mechanism(3, outputs=[0, 1, 2, 'refused'])"
     ".exact[0] == (Fraction(5, 6), 0, 0, Fraction(1, 6))"),
    ("cohorts({'A': library.warner('9/10').mechanism(('no', 'yes'))})", "without .mechanism(...)",
     "cohorts({'A': library.warner('9/10')}).mechanism(('no', 'yes')).ratio == 9"),
    ("cohorts({'A': WARNER})", "the design of devices.library",
     "cohorts({'A': library.warner('9/10')}).mechanism(('no', 'yes'))"),
    ("flip().when({'heads': {1: 'yes'}})", "flip().when(...)",
     "flip().when({'heads': roll(2).when({1: 'yes'}, otherwise=truth)}, otherwise=truth)"),
    ("truth >> 'yes'", "say('yes')", "(truth >> say('yes')).mechanism(('no', 'yes')).epsilon == 0"),
    ("truth >> {'yes': 1}", "recode({'yes': 1})", "truth >> recode({'yes': 1})"),
    ("truth + truth", "parts(truth, question(0.3)) >> recode(",
     "(parts(truth, question(0.3)) >> recode({'no, no': 0, ('no, yes', 'yes, no'): 1, 'yes, yes': "
     "2})).mechanism((0, 1)).exact[1] == (0, Fraction(7, 10), Fraction(3, 10))"),
    ("roll(6).when({range(2_000_000): 'yes'})", "otherwise=",
     "roll(6).when({1: 'no'}, otherwise='yes')"),
    ("roll(6).when({1: 'no'})", "otherwise=", "roll(6).when({1: 'no'}, otherwise=truth)"),
    ("cohorts(truth)", "[hashed(4, 0), hashed(4, 1)]",
     "cohorts([hashed(4, 0), hashed(4, 1)]).mechanism(9).n_cohorts == 0"),
    ("parts([truth, opposite])", "parts(truth, opposite)", "parts(truth, opposite)"),
    ("opposite.mechanism(3)", "`another`", "another.mechanism(3).exact[0][1] == Fraction(1, 2)"),
    ("spin({'a': 0.33, 'b': 0.33, 'c': 0.33})", "'1/3' or Fraction(1, 3)",
     "spin({'a': '1/3', 'b': '1/3', 'c': Fraction(1, 3)})"),
    ("roll(200_000)", "spin({...})", "spin({1: '1/200000', 2: '199999/200000'})"),
    ("devices.Device('roll')", "roll(6).when(", "roll(6).when({1: 'yes'}, otherwise=truth)"),
    ("flip(unknown('c')).instructions()", "device.mechanism(categories).at(...)",
     "flip(unknown('c')).mechanism(('no', 'yes')).at(c=0.2).instructions()"),
    ("flip(unknown('c')).instructions()", "when(..., otherwise=)",
     "flip(unknown('c')).when({'heads': 'no'}, otherwise=truth).instructions()"),
    ("flip(unknown('c')).when({'heads': 'no', 'tails': truth}).instructions()", "otherwise=",
     "flip(unknown('c')).when({'heads': 'no'}, otherwise=truth).instructions()"),
    ("ldp.DeviceMechanism(library.warner('8/10'), 2)", "device.mechanism(categories)",
     "library.warner('8/10').mechanism(2)"),
    ("ldp.DeviceMechanism(library.cheating_detection('1/4').step, 2)",
     "device.mechanism(categories)", "library.cheating_detection('1/4').mechanism(2).unknown"),
    ("CHEATING.channel()", "at(cheating=...)", "CHEATING.at(cheating=0.1).channel()"),
    ("CHEATING.channel()", "simulate(values, rng, cheating=...)",
     "len(CHEATING.simulate(['no'], rng(), cheating=0.1)) == 1"),
    ("CHEATING.at()", "cheating=0.1", "CHEATING.at(cheating=0.1).epsilon > 0"),
    ("ldp.repeated(CHEATING, 2)", "combine the steps of devices before mechanism",
     "(library.cheating_detection('1/4') >> die).mechanism(('no', 'yes')).unknown"),
    ("survey().frequencies('cheats', by='word')", "mechanism.at(...)",
     "len(survey({'cheats': CHEATING.at(cheating=0.1)}).frequencies('cheats', by='word').params) "
     "== 4"),
    ("survey().association('cheats', 'job')", "mechanism.at(...)",
     "survey({'cheats': CHEATING.at(cheating=0.1), 'job': KRR}).association('cheats', 'job')"),
    ("survey(weights='w').frequencies('cheats')", "survey.cells(['cheats']",
     "survey(weights='w').cells(['cheats'], ldp.cells.saturated())"),
    ("ldp.Questionnaire({'cheats': CHEATING}).privatize(TABLE, rng())",
     "parameters={'cheats': {'cheating': 0.1}}",
     "ldp.Questionnaire({'cheats': CHEATING}).privatize(TABLE, rng(), "
     "parameters={'cheats': {'cheating': 0.1}}).shape == TABLE.shape"),
]  # fmt: skip

MECHANISMS = [
    ("ldp.ForcedResponse(p_truth=0.8, p_yes=0.5)", "p_yes=(1 - p_truth) * c",
     "ldp.ForcedResponse(p_truth=0.8, p_yes=(1 - 0.8) * 0.5)"),
    ("HASHED.channel()", "candidates=", "HASHED.channel(candidates=['a', 'b']).shape[0] == 2"),
    ("ldp.FrequencyModel(strings, candidates=iter(['a', 'b']))", "list(...)",
     "ldp.FrequencyModel(strings, candidates=list(iter(['a', 'b'])))"),
    ("RAPPOR.client(allow_no_privacy=True).privatize(['a'])", "mechanism.collector()",
     "len(RAPPOR.collector().privatize(['a', 'b'])) == 2"),
    ("KRR.channel(candidates=['a'])", "candidates=", "KRR.channel()"),
    ("ldp.lump(strings, ['a'])", 'AssociationModel(..., other="product")',
     "ldp.AssociationModel(strings, reports, candidates=[['a'], None], other=['product', False])"),
    ("reports + reports", "reports.tally()", "(reports.tally() + reports.tally()).nobs == 240"),
    ("reports.tally(bits=True)", "tally() without bits=True", "reports.tally().nobs == 120"),
    ("BITS.likelihood(bits)", "tally() without bits=True",
     "BITS.likelihood(BITS.privatize(['a', 'b'], rng()).tally())"),
    ("ldp.FrequencyModel({'x': counts})", "GroupedModel(groups).fit()",
     "ldp.GroupedModel({'x': counts, 'y': others}).fit().differences().shape[0] == 3"),
    ("ldp.FrequencyModel([5, 3])", "mechanism.counts(n)",
     "ldp.FrequencyModel(WARNER.counts([5, 3]))"),
    ("ldp.FrequencyModel(TABLE['job'])", "mechanism.parse('job', column)",
     "ldp.FrequencyModel(KRR.parse('job', TABLE['job'])).fit().nobs == 240"),
    ("ldp.FrequencyModel(TABLE['job'])", "ldp.Survey(table, ldp.Questionnaire({'job': mechanism}))",
     "ldp.Survey(TABLE, ldp.Questionnaire({'job': KRR})).frequencies('job').nobs == 240"),
    ("KRR.privatize(['a'], 7)", "np.random.default_rng(7)",
     "KRR.privatize(['a'], np.random.default_rng(7))"),
]  # fmt: skip

MODELS = [
    ("ldp.two_sample_test(counts, others, counts)", "homogeneity_test([north, south, west])",
     "ldp.homogeneity_test([counts, others, counts]).df == 4"),
    ("ldp.two_sample_test(counts, others, counts)",
     "GroupedModel({'north': north, ...}).fit().differences()",
     "ldp.GroupedModel({'north': counts, 'south': others}).fit().differences().shape[0] == 3"),
    ("ldp.FrequencyModel(bits).fit('mle')", "method='inversion'",
     "ldp.FrequencyModel(bits).fit(method='inversion').nobs == 1000"),
    ("ldp.FrequencyModel(bits).fit_posterior(rng=rng())", "reports.tally()",
     "ldp.FrequencyModel(BITS.privatize(['a', 'b', 'c'] * 9, rng()).tally())"),
    ("ldp.FrequencyModel(counts).fit().conf_int(level=0.9)", "alpha=0.1",
     "ldp.FrequencyModel(counts).fit().conf_int(alpha=0.1).shape == (3, 2)"),
    ("ldp.GroupedModel({'x': CHEATING.counts([5, 3]), 'y': CHEATING.counts([4, 4])}).fit()",
     "FrequencyModel([counts of each device]).fit()",
     "ldp.FrequencyModel([library.cheating_detection(p).mechanism(('no', 'yes'))"
     ".counts([600, 400]) for p in ('1/4', '1/3')])"),
    ("ldp.homogeneity_test([bits, bits], method='pearson')", "method='wald'",
     "ldp.homogeneity_test([bits, bits], method='wald').pvalue > 0.9"),
    ("ldp.AssociationModel(reports, mores[:50])", "Reports(..., ids=)",
     "ldp.AssociationModel(replace(reports, ids=np.arange(120)), "
     "replace(mores[:50], ids=np.arange(50)))"),
]  # fmt: skip

SURVEYS = [
    ("survey().where(\"ill == 'yes'\")", "survey.association('ill', ...)",
     "survey().association('ill', 'job').conditional()"),
    ("survey().frequencies('ill', by='age')", "pandas.cut(table['age'], ..., labels=[...])",
     "survey(table=TABLE.assign(age=pd.cut(TABLE['age'], 2, labels=['y', 'o'])))"
     ".frequencies('ill', by='age').nobs"),
    ("survey().frequencies('age')", "pd.cut(..., labels=[...])",
     "survey(table=TABLE.assign(age=pd.cut(TABLE['age'], 2, labels=['y', 'o']).astype(str)))"
     ".frequencies('age').nobs == 240"),
    ("survey().calibrate([])", "Survey(..., weights='w')", "survey(weights='w')"),
    ("ldp.Survey(TABLE['ill'], {'ill': WARNER})", ".to_frame(NAME)",
     "ldp.Survey(TABLE['ill'].to_frame('ill'), {'ill': WARNER}).frequencies('ill').nobs == 240"),
    ("ldp.Survey({'ill': ['no', 'yes']}, {'ill': WARNER})", "pandas.DataFrame(...)",
     "len(ldp.Survey(pd.DataFrame({'ill': ['no', 'yes']}), {'ill': WARNER})) == 2"),
    ("ldp.Survey(TABLE.set_index('ill'), {'ill': WARNER})", "reset_index()",
     "len(ldp.Survey(TABLE.set_index('ill').reset_index(), {'ill': WARNER})) == 240"),
    ("survey().dictionary('job')", "survey.frequencies('job')", "survey().frequencies('job')"),
    ("survey().personalized('job')", "survey.frequencies('job')", "survey().frequencies('job')"),
    ("survey().replicates('jackknife')", "weights=",
     "survey(weights='w').replicates('jackknife')"),
    ("survey().where('a.b == 1')", "`backquotes`",
     "len(survey(table=TABLE.assign(**{'a.b': 1})).where('`a.b` == 1')) == 240"),
    ("survey().where('word = 1')", "==", "survey().where(\"word == 'x'\")"),
    ("survey().where(\"word < 'y'\")", "ordered categorical",
     "len(survey(table=TABLE.assign(word=pd.Categorical(TABLE['word'], ordered=True)))"
     ".where(\"word < 'y'\")) == 120"),
    ("ldp.Questionnaire({'job': ldp.KRR})", "KRR(...)", "ldp.Questionnaire({'job': KRR})"),
]  # fmt: skip

ASSOCIATIONS = [
    ("ldp.AssociationModel(reports, mores, candidates=[['a', 'b', 'c'], None], "
     "other=[True, False])", "leave other= out",
     "ldp.AssociationModel(reports, mores, candidates=[['a', 'b', 'c'], None])"),
    ("ldp.AssociationModel(bit_reports, mores).fit('inversion')"
     ".test_independence(method='pearson')", "method='score'",
     "ldp.AssociationModel(bit_reports, mores).fit('inversion')"
     ".test_independence(method='score').pvalue > 0"),
    ("ldp.AssociationModel(reports, mores, thirds).fit().test_independence(method='wald')",
     "method='score'",
     "ldp.AssociationModel(reports, mores, thirds).fit().test_independence(method='score')"),
    ("ldp.AssociationModel(reports, mores, thirds).fit().cramers_v()", "collapse(['x', 'y'])",
     "ldp.AssociationModel(reports, mores, thirds).fit().collapse(['x', 'y']).cramers_v()"),
    ("ldp.AssociationModel(strings, mores, candidates=[['a', 'b'], None]).fit('inversion')"
     ".test_independence(method='bootstrap', rng=rng())", "or pass model=model",
     "[r.test_independence(model=m, rng=rng()) for m in [ldp.AssociationModel(reports, mores)] "
     "for r in [m.fit()]][0].pvalue > 0"),
]  # fmt: skip

REGRESSIONS = [
    ("sharp.regression('ill ~ job').fit().wald_test('job')", "term_tests()",
     "len(sharp.regression('ill ~ job').fit().term_tests()) == 1"),
    ("sharp.regression('ill ~ job').fit().wald_test('job')", "score_test('job'), lr_test('job')",
     "sharp.regression('ill ~ job').fit().lr_test('job').df == "
     "sharp.regression('ill ~ job').fit().score_test('job').df == 2"),
    ("sharp.regression('ill ~ job').fit().t_test('job')", "'job[T.b] = 0'",
     "sharp.regression('ill ~ job').fit().t_test('job[T.b] = 0')"),
    ("sharp.regression('ill ~ job + age').fit(method='corrected').goodness_of_fit()",
     "method='mle'", "sharp.regression('ill ~ job + age').fit(method='mle').goodness_of_fit()"),
    ("sharp.regression('ill ~ job').fit(method='corrected').conf_int(method='profile')",
     "method='wald'",
     "len(sharp.regression('ill ~ job').fit(method='corrected').conf_int(method='wald')) == 3"),
    ("sharp.regression('ill ~ word').fit().odds_ratios(level=0.9)", "alpha=0.1",
     "len(sharp.regression('ill ~ word').fit().odds_ratios(alpha=0.1)) > 0"),
    ("survey().regression('ill ~ word').fit()", "fit(penalty='jeffreys')",
     "np.isfinite(survey().regression('ill ~ word').fit(penalty='jeffreys').params).all()"),
    ("sharp.regression('ill ~ word').fit(cov_type='cluster')", "cov_kwds={'groups': labels}",
     "sharp.regression('ill ~ word').fit(cov_type='cluster', "
     "cov_kwds={'groups': np.arange(240)})"),
    ("sharp.regression('job ~ word', model='linear')", "scores={'job': ...}",
     "sharp.regression('job ~ word', model='linear', scores={'job': {'a': 1, 'b': 2, 'c': 3}})"),
    ("sharp.regression('job ~ 1', model='ordered')", "frequencies()", "sharp.frequencies('job')"),
    ("survey(weights='w').regression('ill ~ word').fit_posterior(rng=rng())", "leave out weights=",
     "survey().regression('ill ~ word')"),
    ("ldp.PrivatizedLogit(sharp.reports('ill'), np.ones((240, 0)))", "X.assign(const=1.0)",
     "ldp.PrivatizedLogit(sharp.reports('ill'), TABLE[[]].assign(const=1.0)).fit().nobs == 240"),
    ("ldp.PrivatizedLogit(sharp.reports('ill'), np.ones(240), freq_weights=np.full(240, 0.5))",
     "weights=", "ldp.PrivatizedLogit(sharp.reports('ill'), np.ones(240), "
     "weights=np.full(240, 0.5))"),
]  # fmt: skip

PRIVACY = [
    ("BITS40.channel().matrix()", "likelihood(y)",
     "BITS40.channel().likelihood(BITS40.privatize([3], rng()).y).shape[0] > 0"),
    ("privacy.deficiency(KRR, ldp.KRR(('a', 'b', 'd'), epsilon=1.0))", "channel()",
     "privacy.deficiency(KRR.channel(), ldp.KRR(('a', 'b', 'd'), epsilon=1.0).channel())"
     " is not None"),
    ("planning.sample_size(KRR, p=[0.3, 0.3, 0.4])", "se=",
     "planning.sample_size(KRR, p=[0.3, 0.3, 0.4], se=0.01) > 10_000"),
    ("planning.power(KRR, n=100, goal='x')", "ValueTest(p, category, value)",
     "0 < planning.power(KRR, n=100, goal=planning.ValueTest([0.3, 0.3, 0.4], 'a', 0.5)) < 1"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::ldpstats.IncompleteListWarning")
@pytest.mark.parametrize(
    ("fails", "remedy", "works"),
    [*LABELS, *DEVICES, *MECHANISMS, *MODELS, *SURVEYS, *ASSOCIATIONS, *REGRESSIONS, *PRIVACY],
)
def test_a_remedy_works(fails, remedy, works):
    with pytest.raises((ldp.LDPError, ldp.LDPWarning)) as failure:
        eval(fails, dict(KNOWN))
    assert remedy in str(failure.value)
    found = eval(works, dict(KNOWN))
    assert found is not None and (not isinstance(found, bool | np.bool_) or found)
