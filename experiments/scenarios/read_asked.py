"""What a behaviour of a file asks for: what the file says, or else its schema."""

from dataclasses import dataclass
from typing import Any

from controllers.resources.request import Request, rate_of
from controllers.schemas.registry import SchemaClass
from controllers.schemas.schema import ActuationSchema
from experiments.scenarios.form_behaviours import BehaviourForm
from experiments.scenarios.scene import Scene
from models.yaml_lines import Place


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Resources by their names."""

    names: tuple[str, ...]
    is_certain: bool
    """Whether there are no others; not where something in the behaviour is wrong."""


def read_asked(
    form: BehaviourForm,
    place: Place,
    schema: SchemaClass | None,
    parameters: Any,
    scene: Scene,
) -> Asked:
    """Return what a behaviour asks for, needed, optional and by rates.

    Args:
        form: of the behaviour.
        place: of it in the file.
        schema: its class; None: it is unknown.
        parameters: of the schema; None: some are wrong.
        scene: gets notes of what cannot be asked for.
    """
    needs = _named(form, place, "needs", schema, parameters, scene)
    optional = _named(form, place, "optional", schema, parameters, scene)
    rates = form.rates
    if rates is None:
        rates = {} if schema is None else dict(schema.info.rates)
    names = (*(needs or ()), *(optional or ()), *rates)
    is_certain = needs is not None and optional is not None
    is_right = all(
        [
            *(scene.resource((*place, "rates", name), name) for name in rates),
            *(name in scene.tree for name in names),
            *(
                scene.notes.attempt((*place, "rates", n), rate_of, n, x) is not None
                for n, x in rates.items()
            ),
        ]
    )
    if is_right and names:
        scene.notes.attempt(
            (*place, "needs"),
            Request,
            owner=form.name,
            resources=needs or (),
            optional=optional or (),
            rates=rates,
        )
    return Asked(names=names, is_certain=is_certain and is_right)


def _named(
    form: BehaviourForm,
    place: Place,
    key: str,
    schema: SchemaClass | None,
    parameters: Any,
    scene: Scene,
) -> tuple[str, ...] | None:
    """Return resources of a kind; None where the schema cannot be asked for them."""
    given = getattr(form, key)
    if given is not None:
        for i, name in enumerate(given):
            scene.resource((*place, key, i), name)
        return tuple(given)
    if schema is None or not issubclass(schema, ActuationSchema):
        return None if schema is None else ()
    if parameters is None or not scene.is_library_right:
        return None
    ask = schema.needs_of if key == "needs" else schema.optional_of
    found = scene.notes.attempt((*place, "with"), ask, parameters, scene.robot)
    return None if found is None else tuple(found)
