"""Panel of a controller or a schema: values to display and settings to change.

A class that has `panel()` has a panel; nothing is registered beside the entry point of
the controller or the schema itself. The screen (`nao-testbed live`) is generic: it
draws the contents of a `Panel`. [jdec-urjc, section 5]: each schema has its own GUI, so
that the common GUI need not change.

    class CoolAnkles:
        def panel(self) -> Panel:
            return Panel(
                columns=("stiffness",),
                rows=tuple(Row(name=n, values=(v,)) for n, v in self.limits()),
                settings=(Setting(name="least", value=self.least, low=0.0, high=1.0),),
                plot=Plot(title="Lowest", lines=(Line(name="now", value=self.low),)),
            )

        def change_setting(self, name, value): ...  # checked against the panel already
"""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, ClassVar, Protocol, TypeGuard

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import short

Text = Annotated[str, Field(max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=60)]
SettingValue = bool | int | float | str


class _Shown:
    """Base of the parts of a panel: strict, and validated again on arrival."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        strict=True, extra="forbid", revalidate_instances="always"
    )


@dataclass(frozen=True, kw_only=True)
class Row(_Shown):
    """Row of a panel's table."""

    name: Name
    values: Annotated[tuple[float | int | Text, ...], Field(max_length=8)]
    """One value per column; NaN is shown as a dash."""


@dataclass(frozen=True, kw_only=True)
class Setting(_Shown):
    """Value that a person may change while the robot runs."""

    name: Name
    value: bool | int | float | Text
    """Present value; a new value must have the same type."""
    low: float | None = None
    """Lower bound of a number; None: no bound."""
    high: float | None = None
    choices: Annotated[tuple[Name, ...], Field(max_length=40)] = ()
    """Accepted texts; empty: any."""
    unit: Annotated[str, Field(max_length=12)] = ""
    about: Text = ""

    def accept(self, given: SettingValue) -> SettingValue:
        """Validate a new value and convert it to the type of `value`.

        Raises:
            BadInput: it is of another type, out of range or not among the choices.
        """
        is_truth = isinstance(self.value, bool)
        if is_truth or isinstance(self.value, str):
            kind: type = bool if is_truth else str
            allowed = ("true", "false") if is_truth else self.choices
            if type(given) is kind and (is_truth or not allowed or given in allowed):
                return given
            said = "one of " + ", ".join(allowed) if allowed else "a text"
            raise BadInput(f"{self.name} = {short(given)}; give {said}.")
        is_whole = isinstance(self.value, int)
        low = float("-inf") if self.low is None else self.low
        high = float("inf") if self.high is None else self.high
        fits = (
            isinstance(given, int if is_whole else int | float)
            and not isinstance(given, bool)
            and low <= given <= high
            and abs(given) < float("inf")
        )
        if not fits:
            kind_of = "a whole number" if is_whole else "a number"
            raise BadInput(
                f"{self.name} = {short(given)}; give {kind_of}"
                f"{'' if self.low is None else f', at least {low:g}'}"
                f"{'' if self.high is None else f', at most {high:g}'}."
            )
        return given if is_whole else float(given)


@dataclass(frozen=True, kw_only=True)
class Line(_Shown):
    """Curve of a plot, given by its present value."""

    name: Name
    value: float
    """NaN leaves a gap."""


@dataclass(frozen=True, kw_only=True)
class Plot(_Shown):
    """Values over time; the screen stores the past ones."""

    title: Text
    unit: Annotated[str, Field(max_length=12)] = ""
    lines: Annotated[tuple[Line, ...], Field(min_length=1, max_length=8)]


@dataclass(frozen=True, kw_only=True)
class Panel(_Shown):
    """Values to show, settings to change, and one plot; each is optional."""

    columns: Annotated[tuple[Name, ...], Field(max_length=8)] = ("value",)
    """Column names with units, such as `present N`."""
    rows: Annotated[tuple[Row, ...], Field(max_length=80)] = ()
    settings: Annotated[tuple[Setting, ...], Field(max_length=20)] = ()
    """Settings of a controller; those of a schema are its declared parameters."""
    plot: Plot | None = None

    def setting(self, name: str) -> Setting:
        """Return a setting by name.

        Raises:
            UnknownName: the panel has no such setting.
        """
        for one in self.settings:
            if one.name == name:
                return one
        known = [one.name for one in self.settings]
        raise UnknownName("Setting", name, known, "the panel")


class PanelSource(Protocol):
    """Controller or schema with its own panel."""

    def panel(self) -> Panel:
        """Return the present panel; called a few times a second, between two steps.

        Must return within 2 ms and change nothing: a run must not depend on viewers.
        """


class Adjustable(Protocol):
    """Controller whose panel has settings."""

    def change_setting(self, name: str, value: SettingValue) -> None:
        """Apply a value that the panel's setting has accepted.

        Raises:
            BadInput: it conflicts with other settings.
        """


def has_panel(subject: object) -> TypeGuard[PanelSource]:
    """Return True if a controller or schema, or one that it wraps, has a panel."""
    return hasattr(subject, "panel")


def has_settings(subject: object) -> TypeGuard[Adjustable]:
    """Return True if a controller, or one that it wraps, has settings."""
    return hasattr(subject, "change_setting")


@cache
def _reader() -> "TypeAdapter[Panel]":
    """Return the validator of panels, which takes time to build."""
    return TypeAdapter(Panel)


def check_panel(given: object) -> Panel:
    """Validate a panel made by foreign code and return it.

    Raises:
        BadInput: it is not a Panel, or a part has a wrong type or is too large.
    """
    if not isinstance(given, Panel):
        raise BadInput(f"its panel() returned {short(given)}; return a Panel.")
    try:
        panel = _reader().validate_python(given)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise BadInput(
            f"{place} of its panel is {short(fault['input'])}: {fault['msg']}."
        ) from None
    for row in panel.rows:
        if len(row.values) != len(panel.columns):
            raise BadInput(
                f"row {row.name!r} of its panel has {len(row.values)} values; give "
                f"{len(panel.columns)}, one per column."
            )
    for names in (
        [one.name for one in panel.settings],
        [one.name for one in panel.plot.lines] if panel.plot else [],
    ):
        if len(set(names)) < len(names):
            raise BadInput(f"its panel has duplicate names: {', '.join(names)}.")
    return panel
