"""The code on the pages of the site prints what is shown.

Tests that run whole pages are marked `site`: they go with the build of the site, not with the quick
suite, as the code of articles and recipes does.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from shared.pages import Block, blocks, outputs, same

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "vignettes").rglob("*.md"))
RUNNING = [page for page in PAGES if any(block.runs for block in blocks(page.read_text("utf-8")))]


def names(pages: list[Path]) -> list[str]:
    return [page.relative_to(ROOT / "vignettes").as_posix() for page in pages]


def every_block() -> list[Block]:
    return [block for page in PAGES for block in blocks(page.read_text("utf-8"))]


@pytest.mark.site
@pytest.mark.parametrize("page", RUNNING, ids=names(RUNNING))
def test_a_page_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    found = [block for block in blocks(page.read_text("utf-8")) if block.runs]
    lacking = next((n for n, block in enumerate(found) if block.absent), len(found))
    for block, printed in zip(found, outputs(found[:lacking], tmp_path), strict=False):
        assert block.shown is None or same(block.shown, printed), f"{block.code}\n{printed}"
    if lacking < len(found):
        pytest.skip(f"run up to a block that needs {' '.join(found[lacking].absent)}")


def test_output_of_other_languages_is_in_a_transcript() -> None:
    for block in every_block():
        if block.runs or block.shown is None:
            continue
        assert block.transcript, f"no transcript is named for\n{block.code}"
        kept = [line.split() for line in (ROOT / block.transcript).read_text("utf-8").splitlines()]
        missing = [line for line in block.shown.splitlines() if line.split() not in kept]
        assert missing == []


def test_what_installs_is_run_by_continuous_integration() -> None:
    for block in every_block():
        if block.by is not None:
            assert "pip install" in block.code
            assert set(block.code.split()) & set((ROOT / block.by).read_text("utf-8").split())


def test_python_on_a_page_is_python() -> None:
    for block in every_block():
        if block.runs and block.language == "python":
            compile(block.code, "page", "exec")


PAGE = """
```python
x = 2
print(x / 3, 1e-17)
```

```text
{}
```

% needs: no_such_program
```sh
echo hello
```
"""


def test_a_comment_belongs_to_the_block_behind_it() -> None:
    page = "% transcript: a.Rout\n```r\nx\n```\n\n```text\n1\n```\n" * 2 + PAGE.format("1")
    assert [block.transcript for block in blocks(page)] == ["a.Rout", "a.Rout", None, None]
    assert [block.shown for block in blocks(page)] == ["1\n", "1\n", "1\n", None]


def test_outputs_are_compared_to_the_digits_shown(tmp_path: Path) -> None:
    (first, second) = blocks(PAGE.format("0.6666 3e-16"))
    assert first.shown == "0.6666 3e-16\n" and second.absent == ["no_such_program"]
    (printed,) = outputs([first], tmp_path)
    assert same("0.6666 3e-16", printed)
    assert not same("0.67 3e-16 x", printed) and not same("0.6660 0", printed)
    assert same("n = 1,000", "n =  1,000") and not same("n = 1,000", "n = 1,001")


BESIDE = """
% until: Ctrl-C
```sh
python -c "{}print('ready', flush=True); time.sleep(60)"
```

% needs: python
```sh
echo beside
```
"""


def test_a_program_runs_beside_the_rest_of_a_page(tmp_path: Path) -> None:
    quiet = "import signal, sys, time; signal.signal(signal.SIGINT, lambda *_: sys.exit()); "
    first, second = blocks(BESIDE.format(quiet))
    assert first.until == "Ctrl-C" and second.until is None and second.needs == ("python",)
    assert outputs([first, second], tmp_path) == ["ready", "beside"]
    with pytest.raises(AssertionError, match="ended with status"):  # which Python gives by default
        outputs(blocks(BESIDE.format("import time; ")), tmp_path)


def test_a_block_that_fails_is_shown(tmp_path: Path) -> None:
    for block in (Block("python", "1 / 0", None), Block("sh", "false", None)):
        with pytest.raises(AssertionError, match="block 1"):
            outputs([block], tmp_path)
    (printed,) = outputs([Block("sh", "python -c 'print(6)'", None)], tmp_path)
    assert printed == "6"
