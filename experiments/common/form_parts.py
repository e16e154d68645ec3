"""Parts of YAML files: strict fields, unions selected by a key, notes.

    class PushForm(Part): ...    # unknown keys are rejected, no value is converted
    by_key("an event", ACTIONS)  # the present key selects the model notes.add(place,
    "...")      # all problems of a file at once, each with its place

The docstring below each field is its description in the JSON Schema. Read values can be
written on one line (`one_line`), or converted to plain data without line numbers
(`plain`).
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ParamSpec, TypeVar, Union, get_type_hints

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    create_model,
)

from nao_testbed.controllers.interface.ranges import NAME_PATTERN, FiniteFloat
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.files.documented import Documented
from nao_testbed.models.files.yaml_forms import Place, Problem

Prose = Annotated[
    str,
    Field(min_length=1, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]+$"),
    AfterValidator(str.strip),
]
"""One or two sentences, possibly on several lines."""
BehaviourPath = Annotated[str, Field(min_length=1, pattern=NAME_PATTERN)]
"""Name, or path of names from the root, such as `life/dance`."""
Priority = Annotated[int, Field(ge=0, le=9)]


class Part(Documented):
    """Mapping of the file: unknown keys are rejected, no value is converted."""

    model_config = ConfigDict(strict=True)


PartT = TypeVar("PartT", bound=Part)


def part_of(
    source: type,
    name: str,
    about: str,
    fields: Iterable[str] | None = None,
    kind_in_file: Callable[[Any], Any] = lambda kind: kind,
    base: type[Part] = Part,
    **usual: Any,
) -> Any:
    """Return a part of a file whose keys are fields of a dataclass.

    Args:
        source: dataclass. Its annotations have the ranges, the docstrings of its fields
            the descriptions.
        name: name of the class.
        about: docstring of the class.
        fields: fields of the dataclass, in the order of the file; None: all.
        kind_in_file: type of a field to the type of its key, if a file accepts more
            than a value, such as a distribution.
        base: base class with other keys, which come first.
        usual: name to the default of an absent key, if it differs from that of the
            dataclass.
    """
    hints = get_type_hints(source, include_extras=True)
    defaults = {one.name: one.default for one in dataclasses.fields(source)} | usual
    keys: dict[str, Any] = {}
    for key in fields or hints:
        if defaults[key] is dataclasses.MISSING:  # an empty mapping
            said: Any = Field(default_factory=dict)
        else:
            said = Field(default=defaults[key])
        keys[key] = kind_in_file(hints[key]), said
    form = create_model(name, __base__=base, __doc__=about, **keys)
    form.documented_by = source
    return form


ONE, MANY = Tag("one"), Tag("many")


def value_or_many(value: Any) -> str:
    """Return the tag of a plain value, or of a list or mapping."""
    return "many" if isinstance(value, list | tuple | Mapping) else "one"


def by_key(what: str, kinds: Mapping[str, type[Part]]) -> Discriminator:
    """Return the rule that selects the model of a union by its key.

    Without any known key the nearest one is assumed, so that a typing error gets a
    hint.

    Args:
        what: description for messages, such as `an event`.
        kinds: key to model, in the order of the search. The tag of a
            model is its class's name.
    """
    keys = tuple(kinds)

    def model_of(value: Any) -> str | None:
        if isinstance(value, Part):  # writing, not reading
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


def kinds_of(base: type[PartT]) -> dict[str, type[PartT]]:
    """Return key to model of all subclasses of a base, in order of definition.

    The key of a model is its first own field; base classes have none.
    """
    kinds: dict[str, type[PartT]] = {}
    for kind in base.__subclasses__():
        own = [name for name in kind.__annotations__ if name in kind.model_fields]
        if own:
            kinds[kind.model_fields[own[0]].alias or own[0]] = kind
        kinds |= kinds_of(kind)
    return kinds


def tagged_union(what: str, kinds: Mapping[str, type[Part]]) -> Any:
    """Return the union of models for `by_key`."""
    tagged = tuple(Annotated[kind, Tag(kind.__name__)] for kind in kinds.values())
    return Annotated[Union[tagged], by_key(what, kinds)]  # noqa: UP007 # made here


P = ParamSpec("P")
T = TypeVar("T")


class Notes:
    """Collection of the problems found so far."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self.problems: list[Problem] = []

    def add(self, place: Place, message: str) -> None:
        """Add a problem at a place of the file."""
        problem = Problem(place, message)
        if problem not in self.problems:
            self.problems.append(problem)

    def attempt(
        self, place: Place, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Return the result of a call; None if it rejects its input, with a note."""
        try:
            return call(*args, **kwargs)
        except BadInput as error:
            self.add(place, str(error))
            return None

    def is_known(
        self, place: Place, kind: str, name: str, known: Iterable[str], where: str
    ) -> bool:
        """Return True if a name is known; otherwise add a problem."""
        names = tuple(known)
        if name in names:
            return True
        self.add(place, str(UnknownName(kind, name, names, where)))
        return False


def one_line(value: Any) -> str:
    """Return a part of a file in YAML's flow style, without its outer braces."""
    text = flow(value)
    return text[1:-1] if isinstance(value, dict) else text


def flow(value: Any) -> str:
    """Return a value in YAML's flow style."""
    if isinstance(value, dict):
        inner = ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return '""' if value == "" else str(value)


def plain(value: Any) -> Any:
    """Return a part of a file as plain data, without line numbers."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


MAX_NEWTON = 10_000.0
"""Largest force of a push in N, along an axis or as its magnitude."""
Newton = Annotated[FiniteFloat, Field(ge=-MAX_NEWTON, le=MAX_NEWTON)]
