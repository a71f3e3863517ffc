"""What to type instead: names of other packages, and arguments that a call does not have.

One table holds the names that people type who come from R, pandas, statsmodels or another package
of local differential privacy. An error names the call that does what they mean.
"""

from __future__ import annotations

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
        "from_csv": _READ,
        "read_csv": _READ,
        "frequencies": "ldpstats.Survey(table, {question: mechanism}).frequencies(question)",
        "regression_table": "results have to_markdown(), to_latex() and to_maketables()",
        **dict.fromkeys(("confint", "coef", "vcov", "summary"), "it is a method of results"),
        "read_stata": _READ,
        "read_spss": _READ,
    },
    "Survey": {
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
        **dict.fromkeys(
            ("head", "sample", "drop", "assign"),
            "a survey keeps its table to itself: change the one that you pass",
        ),
        "small_areas": "survey.frequencies(question, by='region').small_areas(formula, data)",
        "ratio": "shares of answers given another are survey.association(first, second)"
        ".conditional(first)",
        "to_csv": "a survey keeps its table to itself: write the one that you passed",
        "to_pandas": "a survey keeps its table to itself: use the one that you passed",
        "power": _PLAN,
    },
    "Facts": {  # what results are
        **dict.fromkeys(
            ("turnover", "transitions"),
            "of persons they are survey.change(later, question, id=); of Survey.paths they need "
            "weights=, of ones if all respondents count the same",
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
        **dict.fromkeys(
            ("test", "anova", "chi2", "chisq", "f_test"),
            "tests are methods: test_equal of groups, test_independence of tables, term_tests, "
            "wald_test and t_test of regressions",
        ),
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
            ("rsquared", "prsquared", "pseudo_r2"), "a pseudo R-squared is results.prsquared"
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
    },
    "Counts": {
        **dict.fromkeys(("to_frame", "to_series", "values"), "counts in output order are vector()"),
        "fit": "counts are estimated by FrequencyModel(counts).fit()",
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
            ("Q", "P", "transition_matrix", "probabilities"), "the channel is mechanism.matrix()"
        ),
        "variance": "ldpstats.planning.precision(mechanism, p, n)",
        "instructions": "devices that respondents work by hand have instructions: see "
        "ldpstats.devices",
        "epsilon_of": "mechanism.epsilon",
        **dict.fromkeys(("keys", "values", "items"), "questions by name are sheet.questions"),
    },
    "Model": dict.fromkeys(
        ("params", "summary", "tidy", "conf_int", "bse", "pvalues", "predict", "coef", "plot"), _FIT
    )
    | dict.fromkeys(("fit_transform", "fit_predict"), "model.fit() returns the results"),
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
        "ids": "sampling units are clusters=",
        "data": "a Survey has its own table; small_areas takes one with a row for each area",
        "digits": "numbers have the digits that they deserve; to_frame() has them all",
    },
}


class Hinted:
    """An object that says of names of other packages what to call instead."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(missing_attribute(self, name), name=name, obj=self)


class Model(Hinted):
    """What is fitted."""


def missing_attribute(thing: object, name: str) -> str:
    """The message for an attribute that is not there."""
    kinds = type(thing).__mro__
    hint = next((HINTS[k.__name__][name] for k in kinds if name in HINTS.get(k.__name__, {})), "")
    return f"{kinds[0].__name__!r} object has no attribute {name!r}{hint and f': {hint}'}"


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
        if name != "self" and one.kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
    ]
    strange = [word for word in kwargs if word not in known]  # whatever else may be wrong
    if strange:
        refusal = f"got an unexpected keyword argument {strange[0]!r}"
    word = refusal.rpartition("'")[0].rpartition("'")[2]
    hint = HINTS["arguments"].get(word, "")
    hint = f": {hint}" if hint else did_you_mean(word, known) if word not in known else ""
    name = function.__qualname__.removesuffix(".__init__")
    return TypeError(f"{name}() {refusal}; it takes {', '.join(known)}{hint}")


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
