"""Parameters of a schema in a file: tested together, and the wrong one is found."""

from collections.abc import Mapping
from typing import Any

from controllers.schemas.info import SchemaInfo
from controllers.schemas.parameters import make_parameters
from experiments.scenarios.reading.notes import Notes
from models import BadInput
from models.yaml_lines import Place


def read_parameters(
    info: SchemaInfo,
    given: Mapping[str, Any],
    place: Place,
    notes: Notes,
    base: Mapping[str, Any] | None = None,
) -> Any:
    """Return the parameters that values make; None where they are refused.

    Some values belong together and are refused alone, so all are tried at once. Of
    those that are refused, the one is noted without which the rest is right; else each
    that is refused alone; else all of them.

    Args:
        info: of the schema.
        given: name to value.
        place: of the values in the file.
        notes: gets what is wrong.
        base: values that were given before.
    """
    before = dict(base or {})
    problem = _problem(info, {**before, **given})
    if problem is None:
        return make_parameters(info, {**before, **given})
    rest = {
        name: {other: one for other, one in given.items() if other != name}
        for name in given
    }
    cure = [n for n in given if _problem(info, {**before, **rest[n]}) is None]
    if len(cure) == 1:
        notes.add((*place, cure[0]), problem)
        return None
    alone = {
        name: words
        for name, value in given.items()
        if (words := _problem(info, {**before, name: value})) is not None
    }
    if cure or not alone:
        notes.add(place, problem)
        return None
    for name, words in alone.items():
        notes.add((*place, name), words)
    return None


def _problem(info: SchemaInfo, values: Mapping[str, Any]) -> str | None:
    try:
        make_parameters(info, values)
    except BadInput as error:
        return str(error)
    return None
