"""Configurations that check themselves, by the ranges that their annotations tell."""

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

from pydantic import Field
from pydantic.fields import FieldInfo

from models import BadInput
from models.values import as_number, short

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]

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
    """Base of a dataclass whose fields say what they accept.

    Numbers do so by `Field(gt=, ge=, le=)` and are finite, words by `Literal`; `title=`
    is what a message calls the field. Rules between fields stand in `__post_init__`,
    after this one.
    """

    _limited: ClassVar[tuple[tuple[str, Any, bool], ...]]
    """Fields with a limit, its annotation, and whether None is accepted."""

    def __init_subclass__(cls) -> None:
        """Read the annotations."""
        limited = []
        for name, hint in get_type_hints(cls, include_extras=True).items():
            alone = get_origin(hint) in _LIMITS
            parts = (hint,) if alone else get_args(hint)
            for part in parts:
                if get_origin(part) in _LIMITS:
                    limited.append((name, part, type(None) in parts))
        cls._limited = tuple(limited)

    def __post_init__(self) -> None:
        """Refuse numbers and words without meaning.

        Raises:
            BadInput: a field has one; the message names the first.
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
    low, is_open, high = _range(hint)
    number = as_number(value)
    is_within = number is not None and isfinite(number) and low <= number <= high
    if not is_within or (is_open and number == low):
        unit = next((_UNITS[end] for end in _UNITS if name.endswith(end)), "")
        said = short(value) if number is None else f"{number}{unit}"
        start = f"a number above {low:g}" if is_open else f"{low:g}"
        if high == inf:
            accepted = (
                f"a finite number above {low:g}" if is_open else f"{low:g} or more"
            )
        else:
            accepted = f"{start}{', up' if is_open else ''} to {high:g}"
        raise BadInput(f"{title} = {said}; give {accepted}.")


def _marks(hint: Any) -> list[FieldInfo]:
    marks = getattr(hint, "__metadata__", ())
    return [mark for mark in marks if isinstance(mark, FieldInfo)]


@cache
def _range(hint: Any) -> tuple[float, bool, float]:
    """Return the lower limit, whether it is itself refused, and the upper limit."""
    low, is_open, high = -inf, False, inf
    for limit in _marks(hint)[0].metadata:
        low = getattr(limit, "gt", getattr(limit, "ge", low))
        is_open = is_open or hasattr(limit, "gt")
        high = getattr(limit, "le", high)
    return low, is_open, high
