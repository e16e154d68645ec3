"""What all parts of a scenario file have in common: strict fields, and kinds by key.

The docstring below each field is its description in the JSON Schema.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

_PLAIN = r"[^\s\x00-\x1f\x7f]"
_NAME = rf"^{_PLAIN}([^\x00-\x1f\x7f]*{_PLAIN})?$"
Name = Annotated[str, Field(min_length=1, pattern=_NAME)]
"""May hold blanks inside, as `look around` does, but nothing that a screen obeys."""
Prose = Annotated[
    str,
    Field(min_length=1, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]+$"),
    AfterValidator(str.strip),
]
"""A sentence or two, on several lines if need be."""
BehaviourPath = Annotated[str, Field(min_length=1, pattern=_NAME)]
"""A name, or several with `/` from the top to what is meant: `life/dance`."""
Real = Annotated[float, Field(allow_inf_nan=False)]
Celsius = Annotated[float, Field(ge=-20.0, le=150.0, allow_inf_nan=False)]
Priority = Annotated[int, Field(ge=0, le=9)]


class Part(BaseModel):
    """A mapping of the file: unknown keys are refused, no value is converted."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


ONE, MANY = Tag("one"), Tag("many")


def how_many(value: Any) -> str:
    """Return the tag of a plain value, or of a list or mapping."""
    return "many" if isinstance(value, list | tuple | Mapping) else "one"


def by_key(what: str, kinds: Mapping[str, type[Part]]) -> Discriminator:
    """Return the rule that tells models of a union apart by the key that is there.

    Where none is, the nearest one is meant, so that a slip gets its hint.

    Args:
        what: for messages, such as `an event`.
        kinds: key to model, in the order in which they are looked for. The tag of a
            model is its class's name.
    """
    keys = tuple(kinds)

    def model_of(value: Any) -> str | None:
        if isinstance(value, Part):  # being written, not read
            return type(value).__name__
        if not isinstance(value, Mapping):
            return None
        for key in keys:
            if key in value:
                return kinds[key].__name__
        for found in value:
            for key in get_close_matches(str(found), keys, n=1):
                return kinds[key].__name__
        return None

    return Discriminator(
        model_of,
        custom_error_type="no_kind",
        custom_error_message=f"{what} has one of the keys {', '.join(keys)}",
    )
