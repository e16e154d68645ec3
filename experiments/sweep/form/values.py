"""Values as a sweep file writes them: one, a list (a grid), or a distribution."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag

from experiments.scenarios.form.base import Name, Part, Real, by_key
from experiments.sweep.trial import Value
from experiments.sweep.values import Choice, Fixed, Grid, Normal, Uniform, Values

TwoNumbers = Annotated[list[Real], Field(min_length=2, max_length=2)]


def _each_once(values: list[Any]) -> list[Any]:
    if not values:
        raise ValueError("an empty grid runs nothing; give at least one value")
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{value!r} stands there twice; give each value once")
    return values


def _at_least_one(options: list[Any]) -> list[Any]:
    if not options:
        raise ValueError("there is nothing to choose from; give at least one value")
    return options


class UniformForm(Part):
    """All numbers between two are equally likely."""

    uniform: TwoNumbers
    """Smallest and largest number."""


class NormalForm(Part):
    """Normally distributed numbers."""

    normal: TwoNumbers
    """Mean and standard deviation."""
    clip: TwoNumbers | None = None
    """Smallest and largest number; a draw outside of them is drawn again."""


class ChooseNumberForm(Part):
    """Some numbers, all equally likely."""

    choice: Annotated[list[Real], AfterValidator(_at_least_one)]
    """What is chosen from; a value that stands there twice is twice as likely."""


class ChooseTextForm(Part):
    """Some names, all equally likely."""

    choice: Annotated[list[Name], AfterValidator(_at_least_one)]
    """What is chosen from; a value that stands there twice is twice as likely."""


NUMBER_KINDS: Mapping[str, type[Part]] = {
    "uniform": UniformForm,
    "normal": NormalForm,
    "choice": ChooseNumberForm,
}
TEXT_KINDS: Mapping[str, type[Part]] = {"choice": ChooseTextForm}


def _which(kinds: Mapping[str, type[Part]]) -> Discriminator:
    distribution = by_key("a distribution", kinds)

    def which(value: Any) -> Any:
        if isinstance(value, list):
            return "list"
        if isinstance(value, Mapping | Part):
            return distribution.discriminator(value)  # type: ignore[operator]  # a function
        return "value"

    return Discriminator(
        which,
        custom_error_type="no_kind",
        custom_error_message=f"give a value, a list, or one of {', '.join(kinds)}",
    )


Number = Annotated[
    Annotated[Real, Tag("value")]
    | Annotated[list[Real], AfterValidator(_each_once), Tag("list")]
    | Annotated[UniformForm, Tag("UniformForm")]
    | Annotated[NormalForm, Tag("NormalForm")]
    | Annotated[ChooseNumberForm, Tag("ChooseNumberForm")],
    _which(NUMBER_KINDS),
]
"""A number, a list of them, or `{uniform: [low, high]}`, `{normal: [mean, deviation],
clip: [low, high]}`, `{choice: [...]}`."""
Text = Annotated[
    Annotated[Name, Tag("value")]
    | Annotated[list[Name], AfterValidator(_each_once), Tag("list")]
    | Annotated[ChooseTextForm, Tag("ChooseTextForm")],
    _which(TEXT_KINDS),
]
"""A name, a list of them, or `{choice: [...]}`."""


def read_values(form: Any) -> Values:
    """Return what a form says.

    Args:
        form: of a `Number` or `Text`.

    Raises:
        BadInput: the numbers of a distribution do not go together.
    """
    match form:
        case UniformForm():
            low, high = form.uniform
            return Uniform(float(low), float(high))
        case NormalForm():
            mean, deviation = (float(value) for value in form.normal)
            if form.clip is None:
                return Normal(mean, deviation)
            low, high = form.clip
            return Normal(mean, deviation, (float(low), float(high)))
        case ChooseNumberForm() | ChooseTextForm():
            return Choice(tuple(_value(option) for option in form.choice))
        case list():
            return Grid(tuple(_value(value) for value in form))
        case _:
            return Fixed(_value(form))


def _value(value: float | str) -> Value:
    """Return whole numbers as reals, so that 1 and 1.0 are the same trial."""
    return value if isinstance(value, str) else float(value)
