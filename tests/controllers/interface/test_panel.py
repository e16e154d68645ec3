"""Panels: validation of displayed values and of new settings."""

from math import inf, nan

import numpy as np
import pytest

from nao_testbed.controllers.interface.panel import (
    Line,
    Panel,
    Plot,
    Row,
    Setting,
    SettingValue,
    check_panel,
    has_panel,
    has_settings,
)
from nao_testbed.models import BadInput, UnknownName

GOOD = Panel(
    columns=("now", "least"),
    rows=(Row(name="a", values=(1.0, nan)), Row(name="b", values=("x", 2))),
    settings=(Setting(name="gain", value=0.5, low=0.0, high=1.0),),
    plot=Plot(title="t", unit="W", lines=(Line(name="a", value=np.float64(1.0)),)),
)


@pytest.mark.requirement("JD-25")
def test_valid_panel_is_accepted() -> None:
    seen = check_panel(GOOD)
    assert seen.rows[1] == GOOD.rows[1]
    assert seen.settings == GOOD.settings
    assert seen.plot == GOOD.plot
    assert check_panel(Panel()) == Panel()


def row(*values: object) -> Row:
    return Row(name="a", values=values)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "its panel() returned None; return a Panel."),
        ("text", "its panel() returned 'text'"),
        (Panel(rows=("x",)), "rows.0 of its panel is 'x'"),  # type: ignore[arg-type]
        (Panel(rows=(row(1.0, 2.0),)), "has 2 values; give 1, one per column."),
        (Panel(rows=(row(object()),)), "rows.0.values.0"),
        (Panel(rows=(row("x" * 201),)), "rows.0.values.0"),
        (Panel(rows=(row(1.0),) * 81), "at most 80 items"),
        (Panel(rows=(Row(name="", values=(1.0,)),)), "rows.0.name"),
        (Panel(plot=Plot(title="t", lines=())), "plot.lines"),
        (
            Panel(plot=Plot(title="t", lines=(Line(name="a", value=1.0),) * 2)),
            "duplicate names",
        ),
        (Panel(settings=(Setting(name="a", value=1.0),) * 2), "duplicate names: a, a"),
        (Panel(settings=(Setting(name="a", value=None),)), "settings.0.value"),  # type: ignore[arg-type]
    ],
)
def test_invalid_panel_is_rejected(given: object, said: str) -> None:
    with pytest.raises(BadInput) as error:
        check_panel(given)
    assert said in str(error.value)


NUMBER = Setting(name="gain", value=0.5, low=0.0, high=1.0)
WHOLE = Setting(name="times", value=3, low=1.0)
TRUTH = Setting(name="on", value=True)
WORD = Setting(name="mode", value="slow", choices=("slow", "fast"))
TEXT = Setting(name="said", value="hello")


@pytest.mark.parametrize(
    ("setting", "given", "taken"),
    [
        (NUMBER, 1, 1.0),
        (NUMBER, 0.0, 0.0),
        (WHOLE, 1, 1),
        (TRUTH, False, False),
        (WORD, "fast", "fast"),
        (TEXT, "", ""),
    ],
)
def test_setting_accepts_values_of_its_type(
    setting: Setting, given: SettingValue, taken: SettingValue
) -> None:
    value = setting.accept(given)
    assert value == taken
    assert type(value) is type(taken)


@pytest.mark.parametrize(
    ("setting", "given", "said"),
    [
        (NUMBER, 1.5, "gain = 1.5; give a number, at least 0, at most 1."),
        (NUMBER, nan, "gain = nan"),
        (NUMBER, True, "gain = True"),
        (NUMBER, "0.5", "gain = '0.5'"),
        (Setting(name="free", value=0.5), -inf, "free = -inf; give a number."),
        (WHOLE, 0, "times = 0; give a whole number, at least 1."),
        (WHOLE, 2.0, "times = 2.0"),
        (TRUTH, 1, "on = 1; give one of true, false."),
        (WORD, "quick", "mode = 'quick'; give one of slow, fast."),
        (WORD, True, "mode = True"),
        (TEXT, 5, "said = 5; give a text."),
    ],
)
def test_setting_rejects_other_values(
    setting: Setting, given: SettingValue, said: str
) -> None:
    with pytest.raises(BadInput) as error:
        setting.accept(given)
    assert str(error.value).startswith(said)


def test_setting_is_found_by_name() -> None:
    assert GOOD.setting("gain").value == 0.5
    with pytest.raises(UnknownName, match="gain"):
        GOOD.setting("gian")


def test_panel_needs_no_base_class() -> None:
    class Own:
        def panel(self) -> Panel:
            return GOOD

    assert has_panel(Own())
    assert not has_settings(Own())
    assert not has_panel(object())
