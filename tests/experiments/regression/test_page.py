"""The documentation page of the kit matches the code."""

import re
from pathlib import Path

import pytest

from nao_testbed.experiments.regression import StandingCfg, StandingTrial
from nao_testbed.experiments.regression.golden import BY_UNIT

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "guides" / "regression_kit.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_tests_of_the_page_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BLOCKS[0])
    ran = pytester.runpytest_subprocess("-Werror", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=3)


def test_second_code_block_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = BLOCKS[1:]
    exec(compile(block, str(PAGE), "exec"), {})
    assert "TickTimes" in capsys.readouterr().out


def test_every_assertion_and_setting_is_documented() -> None:
    assertions = {
        name
        for name, value in vars(StandingTrial).items()
        if callable(value) and not name.startswith("_")
    }
    assert set(re.findall(r"^\| `(\w+)\(", TEXT, re.MULTILINE)) >= assertions
    for name in StandingCfg.__dataclass_fields__:
        assert f"`{name}`" in TEXT, name


def test_tolerances_of_the_page_are_those_of_the_kit() -> None:
    told = re.search(r"Each unit has a tolerance: (.*?);", TEXT)
    assert told is not None
    by_unit = {
        unit.replace("of stiffness", "1").replace("°C", "degC"): float(number)
        for number, unit in re.findall(r"([\d.]+) ([^,]+)", told[1])
    }
    usual = {unit: one for unit, (one, _) in BY_UNIT.items()}
    assert by_unit == {unit: one for unit, one in usual.items() if unit != "s"}


def test_links_of_the_page_lead_to_existing_files() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert links
    assert not [link for link in links if not (PAGE.parent / link).exists()]
