"""What a controller or a schema shows of itself on a screen, and lets a person set.

A class that has `panel()` has a panel; nothing is registered beside the entry point of
the controller or the schema itself. The screen (`nao-testbed live`) knows none of them:
it draws what a `Panel` holds. [jdec-urjc, section 5]: each schema with a GUI of its
own, so that the common one need not change.

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
from typing import Annotated, ClassVar, Protocol, TypeGuard

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import short

Text = Annotated[str, Field(max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=60)]
SettingValue = bool | int | float | str


class _Shown:
    """Base of what a panel is made of: strict, and looked at again when it arrives."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        strict=True, extra="forbid", revalidate_instances="always"
    )


@dataclass(frozen=True, kw_only=True)
class Row(_Shown):
    """A line of a panel's table."""

    name: Name
    values: Annotated[tuple[float | int | Text, ...], Field(max_length=8)]
    """One a column; NaN is shown as a dash."""


@dataclass(frozen=True, kw_only=True)
class Setting(_Shown):
    """Something that a person may change while the robot runs."""

    name: Name
    value: bool | int | float | Text
    """Now; what is given for it has the same type."""
    low: float | None = None
    """Least of a number; None: no bound."""
    high: float | None = None
    choices: Annotated[tuple[Name, ...], Field(max_length=40)] = ()
    """Words that a text may be; empty: any."""
    unit: Annotated[str, Field(max_length=12)] = ""
    about: Text = ""

    def accept(self, given: SettingValue) -> SettingValue:
        """Return what is given, of the type of `value`.

        Raises:
            BadInput: it is of another type, out of range or none of the choices.
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
    """A curve of a plot, by its value now."""

    name: Name
    value: float
    """NaN leaves a gap."""


@dataclass(frozen=True, kw_only=True)
class Plot(_Shown):
    """Values over time; the screen keeps what they were."""

    title: Text
    unit: Annotated[str, Field(max_length=12)] = ""
    lines: Annotated[tuple[Line, ...], Field(min_length=1, max_length=8)]


@dataclass(frozen=True, kw_only=True)
class Panel(_Shown):
    """Values to show, parameters to set, one plot; each of them may be missing."""

    columns: Annotated[tuple[Name, ...], Field(max_length=8)] = ("value",)
    """With units, such as `present N`."""
    rows: Annotated[tuple[Row, ...], Field(max_length=80)] = ()
    settings: Annotated[tuple[Setting, ...], Field(max_length=20)] = ()
    """Of a controller; those of a schema are its declared parameters."""
    plot: Plot | None = None

    def setting(self, name: str) -> Setting:
        """Return a setting.

        Raises:
            UnknownName: the panel has none of that name.
        """
        for one in self.settings:
            if one.name == name:
                return one
        known = [one.name for one in self.settings]
        raise UnknownName("Setting", name, known, "the panel")


class PanelSource(Protocol):
    """A controller or schema with a panel of its own."""

    def panel(self) -> Panel:
        """Return what there is to see; a few times a second, between two steps.

        Within 2 ms, and without changing anything: a run must be the same whether
        somebody looks or not.
        """


class Adjustable(Protocol):
    """A controller whose panel has settings."""

    def change_setting(self, name: str, value: SettingValue) -> None:
        """Take a value over that fits the panel's setting of that name.

        Raises:
            BadInput: it does not go with the others.
        """


def has_panel(subject: object) -> TypeGuard[PanelSource]:
    """Return whether a controller or schema has a panel, by itself or wrapped."""
    return hasattr(subject, "panel")


def has_settings(subject: object) -> TypeGuard[Adjustable]:
    """Return whether a controller's settings can be changed, by itself or wrapped."""
    return hasattr(subject, "change_setting")


_PANEL = TypeAdapter(Panel)


def check_panel(given: object) -> Panel:
    """Return a panel that somebody else's code has made.

    Raises:
        BadInput: it is none, or something in it is of a wrong type or too much.
    """
    if not isinstance(given, Panel):
        raise BadInput(f"its panel() returned {short(given)}; return a Panel.")
    try:
        panel = _PANEL.validate_python(given)
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
                f"{len(panel.columns)}, one a column."
            )
    for names in (
        [one.name for one in panel.settings],
        [one.name for one in panel.plot.lines] if panel.plot else [],
    ):
        if len(set(names)) < len(names):
            raise BadInput(f"its panel names two alike: {', '.join(names)}.")
    return panel
