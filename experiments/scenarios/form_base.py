"""What all parts of a scenario file have in common: strict fields, and kinds by key.

The docstring below each field is its description in the JSON Schema.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

Name = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]
"""May hold blanks inside, as `look around` does."""
Path = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]
"""A name, or several with `/` from the top to what is meant: `life/dance`."""
Real = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Celsius = Annotated[float, Field(ge=-20.0, le=150.0, allow_inf_nan=False)]
Priority = Annotated[int, Field(ge=0, le=9)]


class Part(BaseModel):
    """A mapping of the file: unknown keys are refused, no value is converted."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


HAS_NONE = " has none of the keys "
"""In the message of an error of `by_key`, between what it is and the keys."""


def tag(kind: str) -> Tag:
    """Return the tag of the model whose key `kind` tells it from the others."""
    return Tag(f"<{kind}>")


def is_tag(part: object) -> bool:
    """Tell whether a step of an error's place is such a tag, and no key of a file."""
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")


ONE, MANY = tag("one"), tag("many")


def how_many(value: Any) -> str:
    """Return the tag of a plain value, or of a list or mapping."""
    return "<many>" if isinstance(value, list | tuple | Mapping) else "<one>"


def by_key(what: str, kinds: tuple[str, ...]) -> Discriminator:
    """Return the rule that tells models of a union apart by the key that is there.

    Args:
        what: for messages, such as `an event`.
        kinds: the keys, one for each model.
    """

    def kind_of(value: Any) -> str | None:
        if isinstance(value, Mapping):
            return next((f"<{kind}>" for kind in kinds if kind in value), None)
        # An instance of a model; only when it is written, never when a file is read.
        fields = getattr(type(value), "model_fields", {})
        keys = {field.alias or name for name, field in fields.items()}
        return next((f"<{kind}>" for kind in kinds if kind in keys), None)

    return Discriminator(
        kind_of,
        custom_error_type="no_kind",
        custom_error_message=f"{what}{HAS_NONE}{', '.join(kinds)}",
    )
