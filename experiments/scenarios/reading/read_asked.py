"""What a behaviour of a file asks for: what the file says, or else its schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controllers.resources.ledger import Ledger
from controllers.resources.owner import Owner
from controllers.resources.request import Request
from controllers.resources.ticket import Ticket
from controllers.schemas.registry import SchemaClass
from controllers.schemas.schema import ActuationSchema
from experiments.scenarios.form.behaviours import BehaviourForm
from experiments.scenarios.reading.scene import Scene
from models.yaml_lines import Place


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Resources by their names."""

    needs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    """Cumulative resource to the rate that it must have, in percent."""
    is_certain: bool = True
    """Whether there are no others; not where something in the behaviour is wrong."""

    @property
    def needed(self) -> tuple[str, ...]:
        """Without which it does not act."""
        return (*self.needs, *self.rates)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.needs, *self.optional, *self.rates)


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
    desk = _Desk(form.name, scene)
    known = [name in scene.tree for name in names]
    known += [scene.resource((*place, "rates", name), name) for name in rates]
    taken = [
        *(desk.ask((*place, "rates", n), rates={n: rate}) for n, rate in rates.items()),
        *(desk.ask((*place, "needs"), resources=(n,)) for n in needs or ()),
        *(desk.ask((*place, "optional"), resources=(n,)) for n in optional or ()),
    ]
    is_right = all(known) and all(taken)
    if is_right and names:
        desk.ask(
            (*place, "needs"),
            resources=needs or (),
            optional=optional or (),
            rates=rates,
        )
    return Asked(
        needs=needs or (),
        optional=optional or (),
        rates=rates,
        is_certain=is_certain and is_right,
    )


class _Desk:
    """A ledger that is asked for trial, so that what it refuses is told beforehand."""

    def __init__(self, owner: str, scene: Scene) -> None:
        self._owner = owner
        self._scene = scene
        self._ledger = Ledger(scene.tree)
        self._ledger.add_owner(Owner(name=owner), 0)

    def ask(self, place: Place, **wanted: Any) -> bool:
        """Tell whether this could be asked for; note it if not."""
        names = [name for group in wanted.values() for name in group]
        if not all(name in self._scene.tree for name in names):
            return False  # noted before
        return self._scene.notes.attempt(place, self._request, **wanted) is not None

    def _request(self, **wanted: Any) -> Ticket:
        return self._ledger.request(Request(owner=self._owner, **wanted), 0)


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
