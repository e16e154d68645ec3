"""What a scenario does to its robot, in few words."""

from experiments.scenarios.plan import events as e
from experiments.scenarios.reading.one_line import one_line


def action_words(action: e.Action) -> str:  # noqa: PLR0911 # one return a kind
    """Return an action as a label of a figure has room for it."""
    match action:
        case e.StartBehaviour(behaviour=name):
            return f"start {name}"
        case e.StopBehaviour(behaviour=name):
            return f"stop {name}"
        case e.Say(text=text):
            return f"say “{text}”"
        case e.Push(link=link, newton=newton):
            forces = ", ".join(f"{force:g}" for force in newton)
            return f"push {link} ({forces}) N"
        case e.SetTemperature(joint=joint, degc=degc):
            return f"{joint} set to {degc:g} °C"
        case e.BreakParts(parts=parts):
            return f"break {', '.join(parts)}"
        case e.RepairParts(parts=parts):
            return f"repair {', '.join(parts)}"
        case e.ChangeBody(body=body):
            return f"body {body}"
        case e.SetGround(friction=friction, slope_deg=slope):
            words = [] if friction is None else [f"friction {friction:g}"]
            words += [] if slope is None else [f"slope {slope:g}°"]
            return f"ground {', '.join(words)}"
        case e.UseController(controller=name):
            return f"controller {name}"
        case e.DeleteGroup(group=group):
            return f"delete group {group}"
        case e.Modulate(behaviour=name, parameters=parameters):
            return f"modulate {name}: {one_line(dict(parameters))}"
