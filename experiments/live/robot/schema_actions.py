"""Requests on schemas of a live robot: activate, change, deactivate and view."""

from collections.abc import Iterator

from nao_testbed.controllers.schemas.activation import Activation, parameters_as_text
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.experiments.live.robot.moment import SchemaView
from nao_testbed.experiments.live.robot.operation import (
    ModulateSchema,
    SleepSchema,
    WakeSchema,
)

SchemaRequest = WakeSchema | SleepSchema | ModulateSchema


def change_schema(runtime: SchemaRuntime, action: SchemaRequest, tick: int) -> str:
    """Execute an operator's request on a schema; return a text for the operator.

    A schema is a separate behaviour: it requests resources at the priority of its first
    activation, and waits for the operator as for any owner.

    Raises:
        UnknownName: the schema, instance or parameter does not exist.
        BadInput: the schema cannot be activated alone, or a value is invalid.
    """
    match action:
        case WakeSchema(schema=name, priority=priority):
            if name not in runtime.instances.roots:
                runtime.add(Activation(schema=name, priority=priority))
            runtime.wake(name, tick)
            return f"schema {name} activated"
        case SleepSchema(schema=name):
            runtime.sleep(name, tick)
            return f"schema {name} deactivated"
        case ModulateSchema(path=path, parameter=parameter, value=value):
            runtime.modulate(path, {parameter: value}, tick)
            return f"{parameter} of schema {path} is {value}"


def views_of(runtime: SchemaRuntime) -> Iterator[SchemaView]:
    """Yield every instance since the start, parents before their children."""
    for path in runtime.paths:
        one = runtime.view(path)
        notes = {
            "waits for its resources": one.is_waiting,
            "done": one.is_done,
            f"failed: {one.error}": bool(one.error),
        }
        outputs = runtime.instances.find(path).info.outputs
        yield SchemaView(
            path=path,
            state=one.state,
            note="; ".join(note for note, holds in notes.items() if holds),
            parameters=parameters_as_text(one.parameters),
            outputs={
                output.name: str(runtime.value(path, output.name))[:200]
                for output in outputs
            },
        )
