"""What to type instead: names of other packages, and arguments that a call does not have.

One table holds the names that people type who come from R, pandas, statsmodels or another package
of local differential privacy. An error names the call that does what they mean.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ldpstats.arguments import did_you_mean

T = TypeVar("T")

_SHARES = "shares of the answers are survey.frequencies(question).params"
_TABLE = "the joint table of two questions is survey.association(first, second).table"
_TEST = "survey.association(first, second).test_independence()"
_SURVEY = "name the columns of the sample: Survey(table, questions, weights='w', strata='region', "
_SURVEY += "clusters='school')"
_GROUPS = "groups are made by survey.frequencies(question, by='region')"
_WHERE = "rows are selected by survey.where('age > 30')"
_REGRESSION = "survey.regression('late ~ age + sex').fit()"
_FRAME = "estimates as a DataFrame are results.to_frame()"
_FIT = "call .fit(): its results have it"
_ESTIMATE = "reports are estimated by FrequencyModel(reports).fit()"
_PRIVATIZE = "reports are drawn by mechanism.privatize(answers, rng), on a device by "
_PRIVATIZE += "mechanism.client().report(answer)"
_KRR = "randomised response is KRR(categories, epsilon), or for two answers Warner(p=0.8); more "
_KRR += "designs of surveys are in ldpstats.devices.library"
_NO_DELTA = "privacy is pure: delta is zero, and epsilon is mechanism.epsilon"
_PLAN = "plans are ldpstats.planning: sample_size, power, minimum_detectable, recommend"
_COPY = "a survey keeps its table to itself: change the one that you pass"
_TESTS = "tests are methods: test_equal of groups, test_independence of tables, term_tests, "
_TESTS += "wald_test and t_test of regressions"
_TEXT = "it returns text, which open(path, 'w').write(text) keeps"
_GOAL = "a goal is, for example, ldpstats.planning.ValueTest(p, 'yes', 0.2)"
_DESIGNS = "designs that are worked by hand are ldpstats.devices.library: "
_READ = "a file is read by Survey('answers.csv', {'job': mechanism})"

_SURVEYS = {  # what is called alike in the package and of a survey
    "svymean": _SHARES,
    **dict.fromkeys(("svytable", "crosstab"), _TABLE),
    "svychisq": _TEST,
    "svyby": _GROUPS,
    **dict.fromkeys(("svyglm", "glm", "logit"), _REGRESSION),
}

HINTS: Mapping[str, Mapping[str, str]] = {
    "ldpstats": {
        **_SURVEYS,
        "GRR": "generalised randomised response is KRR(categories, epsilon)",
        "RR": "randomised response is KRR(categories, epsilon), for two answers too",
        "RandomizedResponse": _KRR,
        "RandomisedResponse": _KRR,
        "DirectEncoding": "direct encoding is KRR(categories, epsilon)",
        "SUE": "symmetric unary encoding (basic RAPPOR) is KRAPPOR(categories, epsilon)",
        "OUE": "optimised unary encoding is KRAPPOR(categories, epsilon, theta=0.5)",
        "UnaryEncoding": "unary encoding is KRAPPOR(categories, epsilon)",
        "LocalHashing": "local hashing is ORR(n_outputs, n_cohorts, epsilon=1.0), or OLH",
        "SS": "subset selection is SubsetSelection(categories, epsilon)",
        "HR": "Hadamard response is HadamardResponse(categories, epsilon)",
        "PGR": "projective geometry response is ProjectiveGeometryResponse(categories, epsilon)",
        "BLH": "binary local hashing is ORR(2, n_cohorts, epsilon=epsilon)",
        "Laplace": "numbers are asked in bands: SquareWave(edges, epsilon)",
        "plots": "results draw themselves: results.plot()",
        "utility": "it is called planning: ldpstats.planning",
        "svydesign": _SURVEY,
        "svytotal": "totals of the population are survey.frequencies(question).totals()",
        "Logit": "the model of arrays is PrivatizedLogit(reports, X)",
        "MNLogit": "the model of arrays is PrivatizedMNLogit(reports, X)",
        "OrderedModel": "the model of arrays is PrivatizedOrderedModel(reports, X)",
        "OLS": "the model of arrays is PrivatizedOLS(reports, X, scores=)",
        "aggregate": _ESTIMATE,
        "estimate": _ESTIMATE,
        "audit": "mechanism.audit()",
        "epsilon": "mechanism.epsilon, of a matrix ldpstats.privacy.epsilon(Q)",
        "privacy_loss": "mechanism.epsilon is the largest one, ldpstats.privacy.posterior what a "
        "report tells",
        "compose": "ldpstats.privacy.compose",
        "ledger": "ldpstats.privacy.Ledger",
        "Ledger": "ldpstats.privacy.Ledger",
        "posterior": "of a report: ldpstats.privacy.posterior; of frequencies: survey.posterior",
        "power": _PLAN,
        "sample_size": _PLAN,
        **dict.fromkeys(("from_csv", "read_csv", "read_stata", "read_spss", "read_excel"), _READ),
        **dict.fromkeys(("Crosswise", "CrosswiseModel"), f"{_DESIGNS}crosswise(p=0.25)"),
        "TriangularModel": f"{_DESIGNS}triangular(p=0.25)",
        "as_svydesign": _SURVEY,
        "compare": "results side by side are plot_coefficients([first, second]), and tables of the "
        "package maketables; mechanisms are compared by ldpstats.planning.compare",
        "frequencies": "ldpstats.Survey(table, {question: mechanism}).frequencies(question)",
        **dict.fromkeys(
            ("regression_table", "to_markdown", "to_latex", "stargazer"),
            "results have to_markdown(), to_latex() and to_maketables()",
        ),
        **dict.fromkeys(("confint", "coef", "vcov", "summary"), "it is a method of results"),
    },
    "ldpstats.devices": {
        name: f"ldpstats.devices.library.{name}"
        for name in ("warner", "crosswise", "triangular", "kuk", "mangat", "moors", "forced_dice")
    },
    "ldpstats.privacy": {"audit": "mechanism.audit()", "posteriors": "ldpstats.privacy.posterior"},
    "ldpstats.planning": {"design": "ldpstats.planning.design_channel"},
    "Survey": {
        **dict.fromkeys(("from_csv", "read_csv", "from_file"), _READ),
        **dict.fromkeys(
            ("from_dataframe", "from_frame", "from_pandas"), "Survey(table, {'job': mechanism})"
        ),
        **_SURVEYS,
        "mean": f"{_SHARES}, the mean of scores .mean(scores)",
        "proportions": _SHARES,
        "prop": _SHARES,
        "value_counts": f"{_SHARES}; survey.reports(question).to_series() are the reports",
        "describe": _SHARES,
        "total": "totals of the population are survey.frequencies(question).totals()",
        "totals": "totals of the population are survey.frequencies(question).totals()",
        "quantile": "survey.frequencies(question).quantile(0.5)",
        "svyquantile": "survey.frequencies(question).quantile(0.5)",
        "test_independence": _TEST,
        "chisq": _TEST,
        "fit": "analyses are survey.frequencies, association, regression and others",
        "groupby": _GROUPS,
        "subset": _WHERE,
        "query": _WHERE,
        "filter": _WHERE,
        "loc": _WHERE,
        "rake": "survey.calibrate({'sex': {'f': 51_000, 'm': 49_000}})",
        "postStratify": "survey.poststratify({'sex': {'f': 51_000, 'm': 49_000}})",
        "trimWeights": "survey.trim(upper=5)",
        "as_svrepdesign": "survey.replicates('jackknife')",
        "degf": "degrees of freedom of the design are survey.frequencies(question).df",
        "shape": "len(survey) and survey.columns",
        "info": "print(survey)",
        **dict.fromkeys(("head", "sample", "drop", "assign", "dropna", "update", "dtypes"), _COPY),
        **dict.fromkeys(("merge", "join"), "waves of persons are first.matched(second, id='id')"),
        **dict.fromkeys(
            ("concat", "append"), "groups are put together by pandas.concat before Survey(...)"
        ),
        **dict.fromkeys(("n", "nobs"), "len(survey); survey.frequencies(question).nobs"),
        "epsilon": "survey.questionnaire.epsilon",
        "questions": "survey.questionnaire.questions; other columns are survey.columns",
        "names": "survey.columns",
        **dict.fromkeys(
            ("corr", "correlation", "cor"), "survey.associations([first, second, ...])"
        ),
        **dict.fromkeys(("cross", "pivot_table"), _TABLE),
        **dict.fromkeys(
            ("svyhist", "boxplot", "plot", "hist"), "survey.frequencies(question).plot()"
        ),
        **dict.fromkeys(
            ("mixedlm", "lmer", "glmer"), "survey.regression('late ~ age + (1 | school)').fit()"
        ),
        "small_areas": "survey.frequencies(question, by='region').small_areas(formula, data)",
        "svyratio": "shares of answers given another are survey.association(first, second)"
        ".conditional(first)",
        "ratio": "shares of answers given another are survey.association(first, second)"
        ".conditional(first)",
        "to_csv": "a survey keeps its table to itself: write the one that you passed",
        "to_pandas": "a survey keeps its table to itself: use the one that you passed",
        "power": _PLAN,
    },
    "Facts": {  # what results are
        **dict.fromkeys(
            ("turnover", "transitions"),
            "of persons they are survey.change(later, question, id=), and of "
            "survey.paths([first, second], 'job').frequencies('job')",
        ),
        **dict.fromkeys(("tidy", "estimates", "estimate", "to_csv", "to_string"), _FRAME),
        **dict.fromkeys(("loc", "iloc", "round", "to_pandas", "pivot", "unstack"), _FRAME),
        **dict.fromkeys(("coef", "coef_", "proportions"), "estimates are results.params"),
        "vcov": "the covariance is results.cov_params()",
        **dict.fromkeys(("confint", "ci", "conf_ints"), "intervals are results.conf_int()"),
        **dict.fromkeys(
            ("SE", "se", "std_err", "std_errors", "standard_errors"),
            "standard errors are results.bse",
        ),
        "pvalue": "p-values are results.pvalues, where estimates have some; tests have a pvalue",
        "value_counts": "estimates are results.params",
        "n": "the number of reports is results.nobs",
        **dict.fromkeys(("loglik", "logLik", "loglike"), "the log-likelihood is results.llf"),
        "AIC": "results.aic",
        "BIC": "results.bic",
        "summary2": "results.summary()",
        "to_html": "results.summary().as_html()",
        **dict.fromkeys(("save", "to_pickle"), "results.to_json() is text that from_json reads"),
        **dict.fromkeys(("hist", "bar", "plot_bar"), "results.plot()"),
        "table": "estimates are results.params; the joint table of two questions is "
        "survey.association(first, second).table",
        "crosstab": "the joint table of two questions is survey.association(first, second).table",
        **dict.fromkeys(("test", "anova", "chi2", "chisq", "f_test", "wald_test_terms"), _TESTS),
        **dict.fromkeys(("contrast", "svycontrast"), "results.t_test('nurse - driver')"),
        **dict.fromkeys(
            ("sort_values", "sort_index", "idxmax", "idxmin", "sum", "columns"), _FRAME
        ),
        **dict.fromkeys(("nlargest", "style", "apply", "svyby"), _FRAME),
        **dict.fromkeys(("keys", "items"), "labels are results.params.index"),
        "zvalues": "results.tvalues",
        "ratio": "results['f'] are those of one group; results.differences() compares groups",
        "pairwise": "pairs of groups are compared by results.differences()",
        **dict.fromkeys(
            ("phi", "cramersv", "lambda_", "contingency"), "results.cramers_v() of a table"
        ),
        **dict.fromkeys(("marginal", "margin"), "margins of a table are results.margins"),
        "expected": "departures from independence are results.departures()",
        "plot_diagnostics": "nobody has seen the answers: use goodness_of_fit and plot_effects()",
        "fit_posterior": "it is a method of the model: FrequencyModel(reports).fit_posterior(rng)",
        "predict_proba": "probabilities of answers are results.predict(frame)",
        "predict": "predictions are those of regressions",
        **dict.fromkeys(
            ("margeff", "margins", "marginal_effects", "avg_slopes", "emtrends"),
            "average effects of numbers are results.slopes(), of single columns get_margeff()",
        ),
        "avg_comparisons": "results.comparisons() are averages",
        **dict.fromkeys(("avg_predictions", "emmeans"), "averages are results.predictions(by=)"),
        **dict.fromkeys(
            ("ranef", "random_effects", "coef_random"),
            "a regression with (1 | group) has group_intercepts()",
        ),
        "fixef": "coefficients are results.params",
        "VarCorr": "a regression with (1 | group) has their standard deviations in sd",
        "small_areas": "survey.frequencies(question, by='region').small_areas(formula, data)",
        "cv": "coefficients of variation are results.bse / results.params",
        **dict.fromkeys(("aggregate", "agg", "get_group", "head"), _FRAME),
        **dict.fromkeys(
            ("rsquared", "pseudo_rsquared", "pseudo_r2"), "a pseudo R-squared is results.prsquared"
        ),
        "residuals": "nobody has seen the answers: use goodness_of_fit and predictions()",
        "get_robustcov_results": "model.fit(cov_type='HC0'), or 'cluster'",
        **dict.fromkeys(("compare_lr_test", "compare_f_test"), "results.lr_test(term)"),
        "remove_data": "results hold no data",
    },
    "Reports": {
        **dict.fromkeys(
            ("to_numpy", "to_frame", "values", "tolist", "astype", "unique"),
            "reports as a column are reports.to_series()",
        ),
        "value_counts": "reports.tally() counts them; the true answers are estimated by "
        "FrequencyModel(reports).fit()",
        "mean": _ESTIMATE,
        "fit": _ESTIMATE,
        "epsilon": "reports.mechanism.epsilon",
        "shape": "len(reports)",
        "to_csv": "reports.to_series().to_csv(path)",
    },
    "Device": dict.fromkeys(
        ("randomize", "randomise", "perturb", "privatize", "encode", "send"),
        "client.report(answer) privatises, and what it returns is sent",
    ),
    "Counts": {
        **dict.fromkeys(("to_frame", "to_series", "values"), "counts in output order are vector()"),
        "fit": "counts are estimated by FrequencyModel(counts).fit()",
        "plot": "counts are estimated by FrequencyModel(counts).fit(), which has plot()",
        "sum": "counts.nobs; several counts add up by +",
        "to_dict": "counts.vector().to_dict()",
    },
    "Specified": {  # mechanisms and questionnaires
        **dict.fromkeys(
            ("randomize", "randomise", "perturb", "encode", "report", "transform"), _PRIVATIZE
        ),
        **dict.fromkeys(("aggregate", "estimate", "decode", "fit"), _ESTIMATE),
        "to_json": "ldpstats.io.write_mechanism(mechanism, path), or to_dict()",
        "delta": _NO_DELTA,
        "sensitivity": "no sensitivity is asked for: epsilon is that of the channel, "
        "mechanism.matrix()",
        **dict.fromkeys(
            ("Q", "P", "p", "q", "transition_matrix", "probabilities"),
            "the channel is mechanism.matrix()",
        ),
        "variance": "ldpstats.planning.precision(mechanism, p, n)",
        "instructions": "devices that respondents work by hand have instructions: see "
        "ldpstats.devices",
        "epsilon_of": "mechanism.epsilon",
        **dict.fromkeys(("domain", "n_categories", "levels"), "mechanism.labels()"),
        "describe": "print(mechanism); its channel is mechanism.matrix()",
        "simulate": _PRIVATIZE,
        **dict.fromkeys(
            ("save", "write", "dump"), "ldpstats.io.write_mechanism(mechanism, path); to_dict()"
        ),
        **dict.fromkeys(
            ("load", "read"), "ldpstats.io.read_mechanism(path); questionnaires have from_json"
        ),
        **dict.fromkeys(("keys", "values", "items"), "questions by name are sheet.questions"),
    },
    "Model": {
        **dict.fromkeys(("exog", "endog"), "columns are exog_names, the response is endog_names"),
        "formula": "columns are exog_names, the response is endog_names",
    }
    | dict.fromkeys(
        ("params", "summary", "tidy", "conf_int", "bse", "pvalues", "predict", "coef", "plot"), _FIT
    )
    | dict.fromkeys(("fit_transform", "fit_predict"), "model.fit() returns the results"),
    "calls": {  # by the name of what is called
        **dict.fromkeys(("to_json", "to_markdown", "to_latex"), _TEXT),
        "to_dict": "a table is results.to_frame(), which pandas turns into what you like",
        "where": "conditions are text: survey.where(\"sex == 'f' and age > 30\")",
        "Questionnaire": "each question has its mechanism: {'job': KRR(jobs, epsilon=1.0)}",
        "RAPPOR": "its epsilon follows from f, p and q; ORAPPOR(32, 2, 16, epsilon=1.0) is given "
        "one, and so is KRAPPOR(categories, epsilon)",
        "recommend": "a test has power=, others ask for the smallest variance, whatever n is",
        **dict.fromkeys(("power", "minimum_detectable"), _GOAL),
        "precision": "the shares p that you expect, or None if all are alike, and n respondents",
        "compare": "mechanisms are a list: compare([first, second], p, n)",
        "posterior": "p are the shares of the answers that are expected",
    },
    "arguments": {
        "eps": "it is called epsilon",
        "k": "they are categories, their labels or how many",
        "weight": "it is called weights",
        "weights": "the weights of a survey are those of its sample: Survey(..., weights='w')",
        "cluster": "it is called clusters",
        "seed": "rng=np.random.default_rng(seed)",
        "rng": "rng=np.random.default_rng(2024)",
        "epsilon": "epsilon=1.0, say",
        "family": "the kind of regression is model='probit', 'cloglog', 'ordered', 'linear', ...",
        "link": "the kind of regression is model='probit', 'cloglog', 'ordered', 'linear', ...",
        "kind": "draw on axes of your own, plot(ax=ax), and style them there",
        "groupby": "groups are by=",
        "group": "groups are by=",
        "margin": "width, of an interval, or se",
        "alpha": "pass alpha to summary() or conf_int()",
        "hypothesis": "hypotheses are tested by t_test, wald_test and contrasts() of the results",
        "vcov": "the covariance is that of the fit: fit(cov_type=)",
        "cross": "combinations of values are at={'age': [20, 40], 'sex': ['f', 'm']}",
        "category": "categories are rows of the result",
        **dict.fromkeys(("id", "ids", "psu", "cluster_id"), "sampling units are clusters="),
        "nest": "it is called nested, and True by default",
        "repweights": "replicate_weights=ReplicateWeights(columns, kind)",
        **dict.fromkeys(("moe", "margin_of_error"), "width=, of an interval, is twice the margin"),
        "data": "a Survey has its own table; small_areas takes one with a row for each area",
        "digits": "numbers have the digits that they deserve; to_frame() has them all",
    },
}


class _Kind(ABCMeta):
    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> NoReturn:
            raise AttributeError(missing_attribute(cls, name), name=name, obj=cls)


class Hinted(metaclass=_Kind):
    """What says of names of other packages what to write instead, as do its objects."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(missing_attribute(self, name), name=name, obj=self)


class Model(Hinted):
    """What is fitted."""


def missing_attribute(thing: object, name: str) -> str:
    """The message for an attribute that is not there."""
    kinds = (thing if isinstance(thing, type) else type(thing)).__mro__
    hint = next((HINTS[k.__name__][name] for k in kinds if name in HINTS.get(k.__name__, {})), "")
    own = kinds[0].__name__
    what = f"type object {own!r}" if thing is kinds[0] else f"{own!r} object"
    return f"{what} has no attribute {name!r}{hint and f': {hint}'}"


def of_module(module: str) -> Callable[[str], NoReturn]:
    """A module's ``__getattr__``: what to call in place of a name that it does not have."""

    def lacking(name: str) -> NoReturn:
        hint = HINTS[module].get(name, "")
        raise AttributeError(f"module {module!r} has no attribute {name!r}{hint and f': {hint}'}")

    return lacking


def refused_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> TypeError | None:
    """The error of a call with other arguments than the function has; None if it has them."""
    form = signature(function)
    try:
        form.bind(*args, **kwargs)
    except TypeError as error:  # it names arguments, and quotes none
        refusal = str(error)
    else:
        return None
    known = [
        name
        for name, one in form.parameters.items()
        if name not in ("self", "cls")
        and one.kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
    ]
    strange = [word for word in kwargs if word not in known]  # whatever else may be wrong
    if strange:
        refusal = f"got an unexpected keyword argument {strange[0]!r}"
    word = refusal.rpartition("'")[0].rpartition("'")[2]
    name = function.__qualname__.removesuffix(".__init__").removesuffix(".__new__")
    calls, arguments = HINTS["calls"], HINTS["arguments"]
    hint = calls.get(name.rpartition(".")[2]) or arguments.get(word, "")
    hint = f": {hint}" if hint else did_you_mean(word, known) if word not in known else ""
    return TypeError(f"{name}() {refusal}; it takes {', '.join(known) or 'no arguments'}{hint}")


def guided(called: T) -> T:
    """Decorate a public function or class: wrong arguments are met by those that it has."""
    thing: Any = called
    function = thing.__init__ if isinstance(thing, type) else thing  # type: ignore[misc]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:  # only now, for to bind takes longer than many a function
            if refusal := refused_call(function, args, kwargs):
                raise refusal from None
            raise

    if not isinstance(thing, type):
        return call  # type: ignore[return-value]
    thing.__init__ = call  # type: ignore[misc]
    return called
