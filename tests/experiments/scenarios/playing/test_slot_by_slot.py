"""Conditions and starts in individual slots of a scenario."""

from pathlib import Path
from typing import cast

import pytest

from nao_testbed.controllers.schemas.library.common import PostureStateSchema
from nao_testbed.controllers.schemas.library.move import SayParameters
from nao_testbed.experiments.scenarios.playing.result import ScenarioResult
from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import load_scenario


def play(folder: Path, text: str) -> ScenarioResult:
    """Run a scenario given without its name and description."""
    path = folder / "scenario.yaml"
    path.write_text("name: slots\nabout: Slots.\n" + text, encoding="utf-8")
    return run_scenario(load_scenario(path)).result


SITTING_DANCER = """\
duration_s: 0.8
posture: Sit
behaviours: [{name: dancer, schema: dance}]
expect:
  - {at_s: 0.0, state: Sit}
  - {never: {started: dancer}}
  - {never: {fallen: true}}
"""


@pytest.mark.scenario
@pytest.mark.requirement("JD-8", "I-26")
def test_sitting_robot_does_not_dance(tmp_path: Path) -> None:
    """The scenario sets the state from slot 0 on."""
    result = play(tmp_path, SITTING_DANCER)
    assert result.all_hold, result.verdicts


@pytest.mark.scenario
@pytest.mark.requirement("I-26")
def test_transmitter_refuses_a_dance_in_another_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both schemas and the transmitter check the state."""
    monkeypatch.setattr(
        PostureStateSchema, "is_in_state_of", lambda self, posture: True
    )
    kept = play(tmp_path, SITTING_DANCER)
    assert [v.holds for v in kept.verdicts] == [True, False, True, True]


SHARED_HEAD = """\
duration_s: 2.1
behaviours:
  - {name: looking, schema: look around, with: {for_s: 1.01}, policy: lock}
  - {name: nodding, schema: move, with: {motion: nod}, start_s: 0.5, timeout_s: 5}
expect:
  - {happens: {granted: nodding}, at_s: 1.01}
  - {happens: {started: nodding}, after: {stopped: looking}, within_slots: 0}
"""


@pytest.mark.scenario
@pytest.mark.requirement("RM-17")
@pytest.mark.parametrize("nodder_is_first", [False, True])
def test_grant_takes_effect_in_the_same_slot(
    tmp_path: Path, nodder_is_first: bool
) -> None:
    """In either order of the behaviours, and for any periods."""
    lines = SHARED_HEAD.splitlines()
    if nodder_is_first:
        lines[2:4] = lines[3:1:-1]
    result = play(tmp_path, "\n".join(lines))
    assert result.all_hold, result.verdicts


@pytest.mark.scenario
@pytest.mark.requirement("RM-35")
def test_promised_release_takes_effect_in_the_same_slot(tmp_path: Path) -> None:
    """The ledger enforces the promise itself; no behaviour acts in that slot before."""
    result = play(
        tmp_path,
        """\
duration_s: 1
behaviours:
  - name: looking
    schema: look around
    policy: {name: stop, within_s: 0.33}
  - {name: nodding, schema: move, with: {motion: nod}, start_s: 0.3}
expect:
  - {happens: {granted: nodding}, at_s: 0.63}
  - {happens: {started: nodding}, at_s: 0.63}
""",
    )
    assert result.all_hold, result.verdicts


@pytest.mark.scenario
@pytest.mark.requirement("RM-40", "RM-63")
def test_virtual_owner_holds_frozen_resources(tmp_path: Path) -> None:
    """For conditions, events and expectations; capped joints have no holder."""
    result = play(
        tmp_path,
        """\
duration_s: 1.3
events:
  - {at_s: 0.33, heat: {joint: HeadYaw, degc: 80}}
  - {at_s: 0.5, break: [LHand]}
  - {when: {holds: {HeadYaw: hotEngine}}, name: hot, say: "Hot"}
expect:
  - {at_s: 0.99, holds: {HeadYaw: null, LHand: brokenArm}}
  - {at_s: 1.0, holds: {HeadYaw: hotEngine, HeadPitch: null}}
  - {happens: {holds: {HeadYaw: hotEngine}}, at_s: 1.0}
  - {happens: {event: hot}, at_s: 1.01}
  - {never: {holds: {HeadYaw: null}}, from_s: 1.0}
""",
    )
    assert result.all_hold, result.verdicts


@pytest.mark.scenario
def test_conditions_are_evaluated_in_every_slot(tmp_path: Path) -> None:
    """A condition that is true in a single slot is detected."""
    result = play(
        tmp_path,
        """\
duration_s: 0.7
behaviours:
  - {name: late, schema: hold, needs: [TTS], with: {for_s: 0.01}, start_s: 0.37}
events:
  - {when: {holds: {TTS: late}}, name: seen, heat: {joint: HeadYaw, degc: 60}}
  - {when: {degc_above: {HeadYaw: 55}}, name: warm, heat: {joint: HeadYaw, degc: 30}}
expect:
  - {happens: {holds: {TTS: late}}, at_s: 0.37}
  - {happens: {stopped: late}, at_s: 0.38}
  - {happens: {event: seen}, at_s: 0.38}
  - {happens: {degc_above: {HeadYaw: 55}}, at_s: 0.38}
  - {happens: {event: warm}, at_s: 0.39}
  - {happens: {degc_below: {HeadYaw: 55}}, at_s: 0.39}
""",
    )
    assert result.all_hold, result.verdicts


@pytest.mark.scenario
@pytest.mark.requirement("JD-2")
def test_inactive_behaviour_is_not_modulated(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(
        """\
name: slots
about: Slots.
duration_s: 1
behaviours:
  - {name: talks, schema: say, with: {text: "One"}, start: waits}
""",
        encoding="utf-8",
    )
    setup = load_scenario(path).set_up()

    def says() -> str:
        return cast(SayParameters, setup.schemas.view("talks").parameters).text

    try:
        setup.modulate("talks", {"text": "Two"})
        setup.modulate("talks/below", {"text": "Two"})  # was never activated
        assert says() == "One"
        setup.schemas.wake("talks", 0)
        setup.modulate("talks", {"text": "Two"})
        assert says() == "Two"
    finally:
        setup.close()


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-16", "SY-23", "SY-27", "I-27")
def test_others_use_speech_and_lights_in_an_initial_motion(tmp_path: Path) -> None:
    """Unused resources are available, and are returned in time under any policy.

    Speech starts after 0.1 s for its conversion and one slot for the controller.
    """
    result = play(
        tmp_path,
        """\
duration_s: 3.6
posture: Crouch
behaviours:
  - name: greeting
    schema: move
    with: {command: say hello and wave}
    needs: [All motors, Left eye, Right eye, TTS]
  - {name: talker, schema: hold, needs: [TTS], start_s: 1.0, policy: lock}
  - {name: shiner, schema: hold, needs: [Left eye], start_s: 0.2, policy: lock}
events:
  - {at_s: 0.5, say: "Wait"}
expect:
  - {at_s: 0.3, holds: {All motors: greeting, Left eye: shiner, Right eye: null}}
  - {happens: {said: Wait}, at_s: 0.61}
  - at_s: 1.2
    holds: {All motors: greeting, TTS: talker}
    running: [greeting, talker]
  - {group: say hello and wave, starts_after: initial motion, empty_slots: 0}
  - happens: {said: Hello}
    after: {group_started: say hello and wave}
    within_slots: 0
  - {never: {revoked: greeting}}
  - at_s: 3.5
    holds: {TTS: greeting, Left eye: greeting}
    not_running: [talker, shiner]
""",
    )
    assert result.all_hold, result.verdicts


WHOLE_AND_PARTS = """\
duration_s: 0.8
behaviours:
  - {name: guard, schema: look around, policy: lock}
  - {name: look, schema: look around, parent: guard, start_s: 0.2}
  - {name: rival, schema: look around, start_s: 0.3, timeout_s: 0.3}
  - name: life
    schema: choose
    needs: [TTS]
    children: [{name: greet, schema: say, with: {text: Hello everybody}}]
expect:
  - {at_s: 0.1, holds: {HeadYaw: guard}}
  - {at_s: 0.4, holds: {HeadYaw: look, TTS: greet}}
  - {happens: {timed_out: rival}, at_s: 0.6}
"""


@pytest.mark.scenario
@pytest.mark.requirement("RM-26", "RM-28")
def test_parts_use_the_resources_of_their_behaviour(tmp_path: Path) -> None:
    """As owners (`parent`) and as schemas (`children`), without a `mode`."""
    result = play(tmp_path, WHOLE_AND_PARTS)
    assert result.all_hold, result.verdicts


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-28", "I-23", "I-26")
def test_command_to_a_posture_starts_from_the_current_posture(
    tmp_path: Path,
) -> None:
    """From Crouch it rises; from Stand it only uses lights and speech."""
    result = play(
        tmp_path,
        """\
duration_s: 4.2
posture: Crouch
behaviours:
  - {name: first, schema: move, with: {command: announce standing}}
  - name: second
    schema: move
    with: {command: announce standing}
    start_s: 2.6
expect:
  - {at_s: 0.1, state: Crouch}
  - {group: announce standing, skew_slots: 0}
  - happens: {motion_started: Crouch to Stand}
    after: {group_started: announce standing}
    within_slots: 0
  - {order: [{stopped: first}, {started: second}, {said: I stand up}]}
  - {never: {motion_started: Crouch to Stand}, from_s: 2.6}
  - {at_s: 4.1, posture: Stand, within_deg: 6, not_running: [first, second]}
  - {never: {fallen: true}}
""",
    )
    assert result.all_hold, result.verdicts
