"""What formulas may run: usual ones run as they did, and what is no arithmetic never does."""

from __future__ import annotations

import contextlib
import math
import os
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

N = 60
USUAL = [
    "age",
    "age + region",
    "0 + region",
    "age * region",
    "age:region + sex",
    "(age + visits) ** 2",
    "age / region",
    "I(age ** 2)",
    "I(age / 10**3)",
    "I(age * 10**-3)",
    "np.log(age)",
    "np.log1p(visits) + np.sqrt(age)",
    "np.exp(-age / 100)",
    "np.abs(age - 40)",
    "np.where(region == 'n', 1, 0)",
    "np.clip(age, 20, 60)",
    "np.minimum(age, 50) + np.maximum(age, 30)",
    "np.round(age, 1)",
    "np.sin(2 * np.pi * age / 365)",
    "np.isin(region, ['n', 's'])",
    "I((age - np.mean(age)) / np.std(age))",
    "I((age - age.mean()) / age.std())",
    "I((age > 40).astype(int))",
    "I(age > 40)",
    "I((age > 30) & (age < 50) | (visits != 0))",
    "I(visits % 2) + I(visits // 2)",
    "abs(visits - 2)",
    "log(age) + exp(age / 100)",
    "C(region)",
    "C(region, Sum)",
    "C(visits, Poly)",
    "C(region, Treatment('s'))",
    "C(region, Treatment(reference='s'))",
    "C(region, levels=['s', 'n', 'w'])",
    "C(region, levels=order)",
    "C(region, Helmert) + C(sex, Diff)",
    "center(age) + standardize(visits)",
    "scale(age)",
    "bs(age, df=4)",
    "bs(age, knots=knots, degree=2)",
    "cr(age, df=3)",
    "cc(age, df=3)",
    "Q('big town')",
    "I(Q('big town') + shift)",
    "np.log(age + shift) + vector",
]
ENGINES_OWN = {  # what one engine alone has
    "patsy": ["te(cr(age, df=3), cr(visits, df=3))"],
    "formulaic": ["poly(age, 2)", "cs(age, df=4)", "C(region, contr.treatment('s'))"],
}
HOSTILE = [
    "I(open('{x}', 'w').write('a') and age)",
    "open('{x}', 'w').write('a') + age",
    "__import__('os').system('touch {x}')",
    "I(__import__('os').system('touch {x}') + age)",
    "os.system('touch {x}')",
    "I(age + os.system('touch {x}'))",
    "eval('open(\\'{x}\\', \\'w\\')') + age",
    "exec('open(\\'{x}\\', \\'w\\')') + age",
    "compile('1', '{x}', 'eval') + age",
    "getattr(np, 'save')('{x}', age)",
    "getattr(getattr(np, 'lib'), 'format') + age",
    "'{{0.__class__}}'.format(age)",
    "I(age + len('{{0.__class__.__mro__}}'.format(age)))",
    'f\'{{open("{x}", "w")}}\' + age',
    "np.save('{x}', age)",
    "np.load('{x}')",
    "np.loadtxt('{x}')",
    "np.fromfile('{x}')",
    "np.memmap('{x}', shape=60, mode='w+')",
    "np.lib.format.open_memmap('{x}', 'w+', shape=60)",
    "np.vectorize(touch)(age)",
    "np.frompyfunc(touch, 1, 1)(age)",
    "np.apply_along_axis(touch, 0, age)",
    "np.log(age, age)",
    "np.log(age, out=age)",
    "np.add.at(age, 0, 1)",
    "np.add.reduce(age, out=vector)",
    "age.to_csv('{x}')",
    "age.apply(touch)",
    "age.pipe(touch)",
    "age.map(touch) + visits",
    "age.__class__.__mro__[1].__subclasses__()",
    "I([touch(v) for v in age])",
    "I((lambda: touch(1))())",
    "I((y := touch(1)) + age)",
    "I(touch(1) if True else age)",
    "I(`touch(1)` + age)",
    "I('`' + touch('`'))",
    "I(len('`') + touch(1) + len('`'))",
    "Q('touch')",
    "Q('__builtins__')",
    "Q('np').save('{x}', age)",
    "Q(touch('age'))",
    "Q(name=touch('age'))",
    "C(region, levels=['\"] + [touch(1)] + [\"'])",
    'C(region, levels=[\'"], __FORMULAIC_CONTEXT__["touch"](1), ["\'])',
    "center(age, _state=touch(1))",
    "scale(age, **touch(1))",
    "bs(age, df=touch(1))",
    "C(region, touch)",
    "C(region, touch(1))",
    "bs(age, knots=[*touch(1)])",
    "touch",
    "touch(age)",
    "log(age) + mine.touch(1)",
    "math.log(touch(1)) + age",
    "sqrt(age)",
    "__builtins__['open']('{x}', 'w')",
    "print(age, file=touch(1))",
    "print(age)",
    "breakpoint()",
    "exit()",
    "I(9**9**9**9 + age)",
    "I('a' * 10 + age)",
    "I(age + ('%s' % age))",
    "I.__globals__['touch'](1)",
    "I(np.__loader__ + age)",
    "np.random.seed(1) + age",
    "np.seterr(all='ignore') + age",
    "\uff4f\uff50\uff45\uff4e('{x}', 'w') + age",
    f"I({'-' * 900}touch(1))",
    f"I({'-' * 90}(age and age))",
    "I(ldp.Survey(age) + age)",
]


@pytest.fixture(params=["patsy", "formulaic"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    import statsmodels.formula

    options = getattr(statsmodels.formula, "options", None)  # before 0.15 there is patsy alone
    if options is None and request.param != "patsy":
        pytest.skip("statsmodels knows patsy alone")
    pytest.importorskip(request.param)
    if options is not None:
        monkeypatch.setattr(options, "_formula_engine", request.param)
    return request.param


def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.uniform(20, 70, N), "region": rng.choice(["s", "n", "w"], N)})
    frame["visits"] = rng.permutation(np.repeat([0.0, 1, 2, 3, 4, 5], 10))
    frame["sex"] = rng.choice(["m", "f"], N)
    frame["big town"] = rng.normal(size=N)
    return frame


def reports(data: pd.DataFrame) -> dict[str, ldp.Reports]:
    rng = np.random.default_rng(2)
    return {"ill": ldp.Warner(epsilon=2.0).privatize(rng.choice(["no", "yes"], len(data)), rng)}


@pytest.mark.parametrize("right", [*USUAL, *chain(*ENGINES_OWN.values())])
def test_usual_formulas_run_as_unsafe_ones_do(engine: str, right: str) -> None:
    of_one = [name for name, own in ENGINES_OWN.items() if right in own]
    if of_one and of_one != [engine]:
        pytest.skip(f"{engine} has no such function")
    data, vector = table(), np.arange(N)
    order, knots, shift = ["s", "n", "w"], [35.0, 50.0], 2.0
    log, exp = np.log, np.exp
    assert [order, knots, shift, vector, log, exp]  # which the formulas name
    how = f"ill ~ 0 + {right}", data, reports(data)
    expected = ldp.regression(*how, unsafe=True).data
    found = ldp.regression(*how).data
    assert found.names == expected.names
    np.testing.assert_array_equal(found.designs[0], expected.designs[0])
    np.testing.assert_array_equal(found.formula.exog(data)[0], expected.formula.exog(data)[0])


@pytest.mark.parametrize("place", ["right", "left", "marginal", "survey"])
@pytest.mark.parametrize("formula", HOSTILE, ids=lambda text: text[:60])
def test_hostile_formulas_do_not_run(
    engine: str, formula: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, vector, sqrt = table(), np.arange(float(N)), lambda value: ran.append(value)
    before, ran = data.copy(), []

    def touch(*given: Any) -> Any:
        ran.append(given)
        return 1

    class mine:
        pass

    mine.touch = touch  # type: ignore[attr-defined]
    assert vector is not None and sqrt and mine and os and math
    formula = formula.format(x="made")
    answers = reports(data)
    with pytest.raises(ldp.InvalidArgument) as found:
        if place == "survey":
            ldp.Survey(
                data.assign(ill=["yes", "no"] * 30), {"ill": ldp.Warner(epsilon=1.0)}
            ).regression(f"ill ~ {formula}")
        elif place == "marginal":
            ldp.regression("visits ~ ill + age", data, answers, marginal=formula)
        else:
            whole = f"ill ~ {formula}" if place == "right" else f"{formula} ~ ill"
            ldp.regression(whole, data, answers)
    assert "traceback" not in str(found.value).lower()
    assert not ran and not any(tmp_path.iterdir())
    pd.testing.assert_frame_equal(data, before)
    assert (vector == np.arange(N)).all()


def test_a_refusal_names_the_factor_the_function_and_both_remedies() -> None:
    data = table()
    with pytest.raises(ldp.InvalidArgument) as found:
        ldp.regression("ill ~ age + I(open('x').read() + age)", data, reports(data))
    words = str(found.value)
    assert """I(open('x').read() + age)""" in words and " calls open()" in words
    assert "column of the table" in words and "unsafe=True" in words


@pytest.mark.parametrize("engine", ["patsy"], indirect=True)
def test_a_column_whose_name_is_code_is_no_permission(engine: str, tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'x')!r}, 'w')"
    data = table().assign(**{code: 1.0})
    with pytest.raises(ldp.InvalidArgument, match="calls open"):
        ldp.regression(f"ill ~ {code}", data, reports(data))
    assert not any(tmp_path.iterdir())


def test_a_column_whose_name_holds_quotes_is_no_way_in(engine: str, tmp_path: Path) -> None:
    """Formulaic puts text of calls into code of its own."""
    name = f'a"] + [open({str(tmp_path / "x")!r}, chr(119))] + ["'
    data = table().assign(**{name: 1.0})
    for formula in (
        f"visits ~ ill * Q({name!r})",
        f"visits ~ ill:`{name}`",
        f"visits ~ ill + `{name}`",
    ):
        with contextlib.suppress(ldp.LDPError):
            ldp.regression(formula, data, reports(data))
    assert not any(tmp_path.iterdir())


def test_unsafe_must_be_a_truth_value() -> None:
    data = table()
    with pytest.raises(ldp.InvalidArgument, match="unsafe='no'"):
        ldp.regression("ill ~ age", data, reports(data), unsafe="no")  # type: ignore[arg-type]
