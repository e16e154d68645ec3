"""The behaviours of a scenario file: schemas, parameters, owners and their tree."""

from collections.abc import Iterator, Mapping
from typing import Any

from controllers.resources.policies import ConflictPolicy, make_policy
from controllers.schemas.registry import SchemaClass, schema_class
from controllers.schemas.states import Kind
from experiments.scenarios.form.behaviours import BehaviourForm
from experiments.scenarios.plan.scenario import Behaviour
from experiments.scenarios.reading.notes import Notes
from experiments.scenarios.reading.one_line import plain
from experiments.scenarios.reading.read_asked import read_asked
from experiments.scenarios.reading.read_parameters import read_parameters
from experiments.scenarios.reading.scene import Role, Scene
from models.yaml_lines import Place

PATIENCE_S = 5.0
"""How long a behaviour waits for its resources where it does not say."""


def read_behaviours(
    forms: list[BehaviourForm], scene: Scene, started: Mapping[str, float]
) -> tuple[Behaviour, ...]:
    """Return the behaviours of the top level, and tell the scene of all of them.

    Args:
        forms: of the file.
        scene: gets their names and roles.
        started: name to the earliest time at which an event may start it, in s.
    """
    _check_names(forms, scene)
    found = []
    for i, form in enumerate(forms):
        times = [started[form.name]] if form.name in started else []
        if form.start is None:
            times.append(form.start_s or 0.0)
        first = round(min(times) / scene.tick_s) if times else None
        reader = _Reader(scene, first)
        found.append(reader.read(form, ("behaviours", i), above=""))
    return tuple(found)


def walk_forms(
    forms: list[BehaviourForm], place: Place = ("behaviours",)
) -> Iterator[tuple[Place, BehaviourForm]]:
    """Yield all behaviours with their places, parents before children."""
    for i, form in enumerate(forms):
        yield (*place, i), form
        yield from walk_forms(form.children, (*place, i, "children"))


def read_schema(
    form: BehaviourForm, place: Place, notes: Notes
) -> tuple[SchemaClass | None, Any]:
    """Return the schema and its parameters, tested value by value; None: wrong."""
    found = notes.attempt((*place, "schema"), schema_class, form.schema_)
    if found is None:
        return None, None
    if found.kind is Kind.PERCEPTIVE and (form.children or form.needs):
        key = "children" if form.children else "needs"
        notes.add(
            (*place, key),
            f"schema {form.schema_!r} is perceptive: it commands nothing and wakes "
            f"nobody, so it has no {key}; leave them out.",
        )
    given = plain(form.with_)
    return found, read_parameters(found.info, given, (*place, "with"), notes)


def _check_names(forms: list[BehaviourForm], scene: Scene) -> None:
    first: dict[str, Place] = {}
    for place, form in walk_forms(forms):
        here = (*place, "name")
        if "/" in form.name or "." in form.name:
            scene.notes.add(
                here,
                f"behaviour {form.name!r} has '/' or '.' in its name, which paths and "
                "variables are written with; leave them out.",
            )
        if form.name in scene.virtual:
            scene.notes.add(
                here,
                f"behaviour {form.name!r} has the name of an owner that is there "
                "without it; give it another one.",
            )
        if first.setdefault(form.name, place) != place:
            scene.notes.add(
                here,
                f"a second behaviour is called {form.name!r}; give each a name of its "
                "own, so that events and expectations say whom they mean.",
            )


class _Reader:
    """Reads one behaviour of the top level and all below it."""

    def __init__(self, scene: Scene, first_tick: int | None) -> None:
        self._scene = scene
        self._notes = scene.notes
        self._first_tick = first_tick

    def read(self, form: BehaviourForm, place: Place, above: str) -> Behaviour:
        """Return a behaviour; what is wrong in it is noted."""
        path = f"{above}/{form.name}" if above else form.name
        self._tell(form, place, path, is_top=not above)
        if above:
            self._check_child(form, place)
        elif form.start is not None and form.start_s is not None:
            self._notes.add(
                (*place, "start_s"),
                "start_s and start: waits exclude each other; leave one of them out.",
            )
        return Behaviour(
            name=form.name,
            path=path,
            schema=form.schema_,
            parameters=plain(form.with_),
            children=tuple(
                self.read(child, (*place, "children", i), path)
                for i, child in enumerate(form.children)
            ),
            needs=_tuple(form.needs),
            optional=_tuple(form.optional),
            rates=form.rates,
            policy=self._policy(form, place),
            priority=form.priority,
            timeout_s=self._timeout_s(form, place),
            start_tick=self._start(form, place),
            owner_parent=form.parent,
            line=self._scene.line_of(place),
        )

    def _tell(
        self, form: BehaviourForm, place: Place, path: str, *, is_top: bool
    ) -> None:
        """Let the scene know of it."""
        schema, parameters = read_schema(form, place, self._notes)
        asked = read_asked(form, place, schema, parameters, self._scene)
        names = asked.names if asked.is_certain else (self._scene.tree.root.name,)
        self._scene.roles[path] = Role(
            path=path,
            is_owner=bool(names),
            leaves=self._scene.leaves(names),
            needed=self._scene.leaves(asked.needed),
            first_tick=self._first_tick,
            is_top=is_top,
            schema=schema,
            parameters=plain(form.with_),
        )
        self._scene.paths[path] = path
        self._scene.paths.setdefault(form.name, path)

    def _check_child(self, form: BehaviourForm, place: Place) -> None:
        for key in ("start_s", "start", "parent"):
            if getattr(form, key) is not None:
                self._notes.add(
                    (*place, key),
                    f"{key} is for behaviours of the top level; the one above "
                    f"{form.name!r} wakes it and is its parent. Leave it out.",
                )

    def _timeout_s(self, form: BehaviourForm, place: Place) -> float:
        if form.timeout_s is None:
            return PATIENCE_S
        self._scene.ticks((*place, "timeout_s"), form.timeout_s)
        return form.timeout_s

    def _policy(self, form: BehaviourForm, place: Place) -> ConflictPolicy | None:
        given = form.policy
        if given is None:
            return None
        here = (*place, "policy")
        if isinstance(given, str):
            return self._notes.attempt(here, make_policy, given)
        settings: dict[str, Any] = given.model_dump(exclude_unset=True)
        for key, value in settings.items():
            if key.endswith("_s") and value is not None:
                self._scene.ticks((*here, key), value)
        return self._notes.attempt(here, make_policy, settings.pop("name"), **settings)

    def _start(self, form: BehaviourForm, place: Place) -> int | None:
        if form.start is not None:
            return None
        if form.start_s is None:
            return 0
        return self._scene.moment((*place, "start_s"), form.start_s)


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
