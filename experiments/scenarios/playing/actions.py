"""What an event does to the stage, one function a kind of action."""

from experiments.scenarios.plan import events as e
from experiments.scenarios.playing.stage import Stage


def act(action: e.Action, stage: Stage, tick: int) -> None:
    """Let an action happen at the beginning of a slot.

    Raises:
        TestbedError: it cannot be done now; the message says why.
    """
    body = stage.body
    match action:
        case e.StartBehaviour(behaviour=name):
            stage.schemas.wake(name, tick)
        case e.StopBehaviour(behaviour=name):
            stage.schemas.sleep(name, tick)
        case e.Modulate(behaviour=path, parameters=values):
            stage.modulate(path, values, tick)
        case e.Say(text=text):
            stage.say(text, tick)
        case e.Push(link=link, newton=newton, ticks=ticks):
            stage.disturbance.push(link, newton, tick + ticks)
        case e.SetTemperature(joint=joint, degc=degc):
            body.sim.set_temperature(stage.motor_name(joint), degc)
        case e.BreakParts(parts=parts):
            body.break_parts(parts)
        case e.RepairParts(parts=parts):
            body.repair_parts(parts)
        case e.ChangeBody(body=name):
            body.change_body(name)
        case e.SetGround(friction=friction, slope_deg=slope_deg):
            stage.disturbance.set_ground(friction, slope_deg)
        case e.UseController(controller=spec):
            stage.use_controller(spec)
        case e.DeleteGroup(group=group):
            stage.delete_group(group, tick)
