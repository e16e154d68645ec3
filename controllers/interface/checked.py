"""Base of configurations that validate themselves by their annotated ranges."""

from dataclasses import dataclass
from functools import cache
from math import inf, isfinite
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic.fields import FieldInfo

from nao_testbed.controllers.interface.ranges import Accepts
from nao_testbed.models import BadInput
from nao_testbed.models.values import as_number, short

_LIMITS = (Annotated, Literal)
_UNITS = {
    "_rad_s": " rad/s",
    "_rad": " rad",
    "_s": " s",
    "_dt": " s",
    "_volt": " V",
    "_m": " m",
    "_newton": " N",
    "_a": " A",
    "_deg": " degrees",
    "_degc": " °C",
}


class Checked:
    """Base of a dataclass whose annotations declare the accepted values.

    Numbers are bounded by `Field(gt=, ge=, le=)` and finite, words by `Literal`;
    `title=` is the name of the field in messages. Rules between fields belong in
    `__post_init__`, after a call of this one.
    """

    _limited: ClassVar[tuple[tuple[str, Any, bool], ...]]
    """Fields with a limit, its annotation, and whether None is accepted."""

    def __init_subclass__(cls) -> None:
        limited = []
        for name, hint in get_type_hints(cls, include_extras=True).items():
            alone = get_origin(hint) in _LIMITS
            parts = (hint,) if alone else get_args(hint)
            for part in parts:
                if get_origin(part) in _LIMITS:
                    limited.append((name, part, type(None) in parts))
        cls._limited = tuple(limited)

    def __post_init__(self) -> None:
        """Validate the numbers and words of all fields.

        Raises:
            BadInput: a value is not accepted; the message names the first such field.
        """
        for name, hint, may_be_none in self._limited:
            value = getattr(self, name)
            if not (may_be_none and value is None):
                check_value(name, value, hint)


def check_value(name: str, value: object, hint: Any) -> None:
    """Check one value against an annotation such as `Fraction`.

    Raises:
        BadInput: the value is not accepted.
    """
    title = next((mark.title for mark in _marks(hint) if mark.title), name)
    if get_origin(hint) is Annotated and get_origin(get_args(hint)[0]) is Literal:
        hint = get_args(hint)[0]
    if get_origin(hint) is Literal:
        if value not in (words := get_args(hint)):
            raise BadInput(f"{title} {value!r}; give one of {', '.join(words)}.")
        return
    accepted, number = _interval(hint), as_number(value)
    if number is None or number not in accepted:
        unit = next((_UNITS[end] for end in _UNITS if name.endswith(end)), "")
        shown = value if type(value) is int else number
        said = short(value) if number is None else f"{shown}{unit}"
        raise BadInput(f"{title} = {said}; give {accepted}.")


@dataclass(frozen=True)
class _Interval:
    """Finite or whole numbers from `low` to `high`."""

    low: float
    high: float
    is_low_in: bool
    is_high_in: bool
    is_whole: bool

    def __contains__(self, number: float) -> bool:
        above = number >= self.low if self.is_low_in else number > self.low
        below = number <= self.high if self.is_high_in else number < self.high
        is_one = not self.is_whole or number.is_integer()
        return isfinite(number) and above and below and is_one

    def __str__(self) -> str:
        kind = f"a {'whole' if self.is_whole else 'finite'} number"
        low, high = f"{self.low:g}", f"{self.high:g}"
        if self.high == inf:
            return f"{kind}, {low} or more" if self.is_low_in else f"{kind} above {low}"
        if self.is_low_in and self.is_high_in and not self.is_whole:
            return f"{low} to {high}"
        begin = "from" if self.is_low_in else "above"
        end = "up to" if self.is_high_in else "and below"
        return f"{kind} {begin} {low} {end} {high}"


def _marks(hint: Any) -> list[FieldInfo | Accepts]:
    marks = getattr(hint, "__metadata__", ())
    return [mark for mark in marks if isinstance(mark, FieldInfo | Accepts)]


@cache
def _interval(hint: Any) -> _Interval:
    """Return the interval that `Field(gt=, ge=, lt=, le=)` accepts."""
    limits = {
        name: getattr(limit, name)
        for limit in _marks(hint)[0].metadata
        for name in ("gt", "ge", "lt", "le")
        if hasattr(limit, name)
    }
    return _Interval(
        low=limits.get("gt", limits.get("ge", -inf)),
        high=limits.get("lt", limits.get("le", inf)),
        is_low_in="gt" not in limits,
        is_high_in="lt" not in limits,
        is_whole=get_args(hint)[0] is int,
    )
