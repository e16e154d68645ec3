"""Loading a valid file: names, times in slots, composites as leaves."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
from ruamel.yaml import YAML

from nao_testbed.controllers.arbitration.policies import PauseOnDemand, StopOnDemand
from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.controllers.transmitter.buses.bus import Watch
from nao_testbed.controllers.transmitter.commands.timing import Enable
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.scenarios.vocabulary import conditions as c
from nao_testbed.experiments.scenarios.vocabulary import events as e
from nao_testbed.experiments.scenarios.vocabulary import expectations as x
from nao_testbed.models.files.yaml_forms import FileErrors
from nao_testbed.models.library import Unit
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.engine.world import Payload
from tests.experiments.scenarios.helpers import Load

ROOT = Path(__file__).resolve().parents[4]

TREE = """
    behaviours:
      - name: life
        schema: choose
        with: {arbitration: highest_order}
        children:
          - {name: guard, schema: example, needs: [Legs], policy: stop}
          - name: show
            schema: choose
            children: [{name: wave, schema: example, needs: [Left arm]}]
      - {name: late, schema: example, start: waits, needs: [Head]}
      - {name: soon, schema: example, start_s: 0.25, needs: [HeadYaw], parent: life}
    events: [{at_s: 1, start: late}]
"""


def test_paths_lead_from_the_root_to_each_behaviour(load: Load) -> None:
    scenario = load(TREE)
    paths = [behaviour.path for behaviour in scenario.walk()]
    assert paths == [
        *("life", "life/guard", "life/show", "life/show/wave"),
        *("late", "soon"),
    ]


def test_behaviours_keep_the_values_of_the_file(load: Load) -> None:
    life, late, soon = load(TREE).behaviours
    guard, show = life.children
    assert (life.start_tick, late.start_tick, soon.start_tick) == (0, None, 25)
    assert isinstance(guard.policy, StopOnDemand)
    assert guard.needs == ("Legs",)
    assert show.needs is None
    assert soon.owner_parent == "life"
    assert life.parameters == {"arbitration": "highest_order"}
    assert (life.line, guard.line, soon.line) == (6, 10, 15)


def test_first_child_has_the_highest_order(load: Load) -> None:
    life = load(TREE).behaviours[0]
    guard, show = life.children
    assert guard.order > show.order
    assert guard.needs == ("Legs",)
    assert show.children[0].name == "wave"


def test_settings_reach_the_parts_of_the_testbed(load: Load) -> None:
    scenario = load(
        """
        posture: Crouch
        body: H21
        seed: 7
        controller: constant:0.6
        voice: syllables
        world: {friction: 0.3, slope_deg: -2}
        simulation:
          misalignment_deg: {LAnklePitch: 1}
          start_degc: {HeadYaw: 60}
          payload_kg: {torso: 1, "l_gripper@0,0,-0.05": 0.5}
          obstacles: {table: "0.3,0.6,0.02@0.5,0,0.3", wall: "0.1,2,1@1,0,0.5,30"}
          protection: nao
          heating: two-node
          gear_friction: 0.5
        reservations: {preemption: by_priority, retry_s: 0.2, overtake_s: 1}
        transmitter:
          buses: {body: [motion], face: [sound, light]}
          enable: early
          early_s: 0.5
          mode: elected
          late_s: {sound: 0.3}
        """
    )
    assert scenario.robot.absent == ("LWristYaw", "LHand", "RWristYaw", "RHand")
    assert (scenario.posture, scenario.controller) == ("Crouch", "constant:0.6")
    simulation = scenario.simulation
    assert (simulation.world.friction, simulation.world.slope_deg) == (0.3, -2.0)
    assert simulation.misalignment_deg == {"LAnklePitch": 1.0}
    assert simulation.start_degc == {"HeadYaw": 60.0}
    assert simulation.world.payloads == (
        Payload(link="torso", mass_kg=1.0),
        Payload(link="l_gripper", mass_kg=0.5, position=(0.0, 0.0, -0.05)),
    )
    assert simulation.world.obstacles == (
        Obstacle(name="table", size=(0.3, 0.6, 0.02), position=(0.5, 0.0, 0.3)),
        Obstacle(
            name="wall", size=(0.1, 2.0, 1.0), position=(1.0, 0.0, 0.5), yaw_deg=30.0
        ),
    )
    assert (simulation.protection, simulation.heating.model) == ("nao", "two-node")
    assert (simulation.servo.friction_scale, simulation.seed) == (0.5, 7)
    assert scenario.ledger.preemption is Preemption.BY_PRIORITY
    assert (scenario.ledger.retry_s, scenario.ledger.overtake_s) == (0.2, 1.0)
    wires, commands = scenario.transmitter, scenario.commands
    assert wires.buses == {"body": (Unit.MOTION,), "face": (Unit.SOUND, Unit.LIGHT)}
    assert wires.watch is Watch.ELECTED
    assert (commands.enable, commands.early_s) == (Enable.EARLY, 0.5)
    late = {u: scenario.delays[u] - commands.conversion_s[u] for u in Unit}
    assert late == pytest.approx({Unit.MOTION: 0, Unit.LIGHT: 0, Unit.SOUND: 0.3})


def test_mode_of_earlier_files_is_ignored(load: Load) -> None:
    plain = "behaviours: [{name: a, schema: example, needs: [Head]}]"
    for word in ("use", "reserve"):
        text = plain.replace("]}]", f"], mode: {word}}}]")
        assert load(text).behaviours == load(plain).behaviours


def test_policies_have_settings(load: Load) -> None:
    scenario = load(
        """
        behaviours:
          - name: a
            schema: example
            needs: [Head]
            rates: {CPU: 12.5}
            policy: {name: pause, within_s: 0.5, resume_timeout_s: 9}
        """
    )
    (a,) = scenario.behaviours
    assert a.policy == PauseOnDemand(within_s=0.5, resume_timeout_s=9.0)
    assert a.rates == {"CPU": 12.5}


EVENTS = """
    behaviours:
      - {name: a, schema: example, needs: [Head]}
      - name: b
        schema: choose
        children: [{name: kid, schema: example}, {name: guard, schema: fall watch}]
      - {name: fall watch, schema: fall watch}
    events:
"""


DOES = [
    # Text of the file, its meaning if different, and text in the figure.
    ("start: a", None, "start a"),
    ("stop: b", None, "stop b"),
    ("say: I am hot", None, "say “I am hot”"),
    (
        "push: {link: torso, newton: [30, 0, -1.5], for_s: 0.2}",
        None,
        "push torso (30, 0, -1.5) N",
    ),
    ("heat: {joint: HeadYaw, degc: 80}", None, "HeadYaw set to 80 °C"),
    ("break: [Left arm, Head]", None, "break Left arm, Head"),
    ("repair: [LHand]", None, "repair LHand"),
    ("body: T14", None, "body T14"),
    ("set_down: Stand", None, "set down Stand"),
    (
        "touch: {sensor: Head/Touch/Front, for_s: 0.2}",
        None,
        "touch Head/Touch/Front",
    ),
    ("ground: {friction: 0.2}", None, "ground friction 0.2"),
    ("ground: {friction: 0, slope_deg: 3}", None, "ground friction 0, slope 3°"),
    ("controller: smart", None, "controller smart"),
    ("delete_group: say hello and wave", None, "delete group say hello and wave"),
    (
        "modulate: {behaviour: kid, with: {amplitude: 0.2}}",
        {"modulate": {"behaviour": "b/kid", "with": {"amplitude": 0.2}}},
        "modulate b/kid: amplitude: 0.2",
    ),
]


@pytest.mark.parametrize(("text", "meant", "words"), DOES)
def test_each_event_has_its_key(
    load: Load, text: str, meant: dict[str, object] | None, words: str
) -> None:
    scenario = load(
        f"{EVENTS}      - {{at_s: 2.5, {text}}}\n      - {{at_s: 1, break: [LHand]}}\n"
    )
    event = scenario.events[0]
    given = meant or YAML(typ="safe").load(f"{{{text}}}")
    kind = e.ACTIONS[text.partition(":")[0]]
    assert dict(event) == dict(kind.model_validate({"at_s": 2.5, **given}))
    assert (event.label(), event.tick) == (words, 250)
    assert event.text == f"at_s: 2.5, {text}"
    assert event.line == 12


def test_push_ends_after_its_duration(load: Load) -> None:
    """The duration includes the first slot."""
    text = "push: {link: torso, newton: [30, 0, 0], for_s: 0.2}"
    (event,) = load(f"{EVENTS}      - {{at_s: 2.5, {text}}}\n").events
    setup = Mock(tick=250, tick_s=0.01)
    event.act(setup)
    setup.disturbance.push.assert_called_once_with("torso", [30.0, 0.0, 0.0], 270)


def test_every_event_is_in_the_table() -> None:
    assert {text.partition(":")[0] for text, _, _ in DOES} == set(e.ACTIONS)


MEANT = [
    # Text of the file, and with paths and leaves if different.
    ("started: kid", {"started": "b/kid"}),
    ("stopped: b/kid", None),
    ("failed: a", None),
    ("granted: a", None),
    ("denied: a", None),
    ("timed_out: a", None),
    ("cancelled: a", None),
    ("revoked: a", None),
    ("holds: {Head: a}", {"holds": {"HeadYaw": "a", "HeadPitch": "a"}}),
    ("holds: {LHand: null}", None),
    ("holds: {LHand: brokenArm}", None),
    ("state: Sit", None),
    ("degc_above: {HeadYaw: 75}", None),
    ("degc_below: {HeadYaw: 75}", None),
    ("fallen: true", None),
    ("shut_down: true", None),
    ("said: Good morning", None),
    ("event: shove", None),
    ("output: {fall watch.is_falling: true}", None),
    ("output: {guard.is_falling: true}", {"output": {"b/guard.is_falling": True}}),
    ("output_above: {fall watch.margin_m: 0.02}", None),
    ("output_below: {fall watch.margin_m: 0.02}", None),
    ("motion_started: nod", None),
    ("motion_started: dance 2/5", None),
    ("light_started: alarm", None),
]


@pytest.mark.parametrize(("text", "meant"), MEANT)
def test_events_and_expectations_share_conditions(
    load: Load, text: str, meant: dict[str, object] | None
) -> None:
    scenario = load(
        f"{EVENTS}"
        "      - {name: shove, at_s: 1, say: Oh}\n"
        f"      - {{when: {{{text}}}, after_s: 0.5, say: Ah}}\n"
        "    expect:\n"
        f"      - happens: {{{text}}}\n"
        f"      - never: {{{text}}}\n"
    )
    given = meant or YAML(typ="safe").load(f"{{{text}}}")
    condition = c.CONDITIONS[text.partition(":")[0]].model_validate(given)
    event = scenario.events[1]
    assert (event.when, event.after_ticks) == (condition, 50)
    happens, never = scenario.expectations
    assert list(happens.conditions()) == [condition]
    assert list(never.conditions()) == [condition]


@pytest.mark.parametrize("word", ["timed_out", "denied"])
@pytest.mark.parametrize("way", ["happens: {0}", "order: [{0}, fallen: true]"])
def test_request_that_must_fail_is_accepted_if_expected(
    load: Load, word: str, way: str
) -> None:
    """The body lacks the required legs."""
    condition = f"{{{word}: a}}"
    load(
        f"""
        body: T14
        behaviours: [{{name: a, schema: hold, needs: [Legs]}}]
        expect: [{{{way.format(condition)}}}]
        """
    )


def test_failure_of_an_inactive_behaviour_may_be_expected(load: Load) -> None:
    """Other conditions on an inactive behaviour are errors."""
    behaviour = "behaviours: [{name: a, schema: example, needs: [Head], start: waits}]"
    load(f"\n{behaviour}\nexpect: [happens: {{failed: a}}]\n")
    with pytest.raises(FileErrors, match="'a' is inactive then"):
        load(f"\n{behaviour}\nexpect: [happens: {{stopped: a}}]\n")


def test_behaviour_without_children_may_activate_others(load: Load) -> None:
    scenario = load(f"{EVENTS}      - {{when: {{started: a/nod}}, say: Ah}}\n")
    assert scenario.events[0].when == c.StartedForm(started="a/nod")


KID = """
    behaviours: [{name: b, schema: choose, children: [{name: kid, schema: example}]}]
"""
GREETING = """
    sounds: {hi: {text: Hi}}
    motions: {tilt: {from: Stand, angles_deg: {HeadPitch: [[0.5, 20]]}}}
    commands: {hello: {motion: tilt, sound: hi, points: {motion: 30, sound: 70}}}
    expect:
"""


def test_windows_are_in_slots_and_end_with_the_run(load: Load) -> None:
    scenario = load(
        KID
        + GREETING
        + """
      - {happens: {said: Hi}, at_s: 6.2, within_s: 0.1}
      - {happens: {said: Hi}, at_s: 9.95, within_s: 0.2, times: 1}
      - {happens: {said: Hi}, from_s: 2, to_s: 10}
      - {happens: {said: Hi}, after: {fallen: true}, within_slots: 3}
      - {never: {fallen: true}, after: {started: kid}}
    """
    )
    windows = [tuple(one.slots) for one in scenario.expectations]
    assert windows == [(610, 630), (975, 999), (200, 999), (0, 999), (0, 999)]
    started = c.StartedForm(started="b/kid")
    assert list(scenario.expectations[-1].conditions())[1] == started


def test_every_kind_of_expectation_is_read(load: Load) -> None:
    scenario = load(
        GREETING
        + """
      - {at_s: 1, holds: {Audio: null}, state: Stand, posture: Stand, within_deg: 2}
      - {order: [{said: Hi}, {group_ended: hello, reason: done}]}
      - {joint: [Head, LKneePitch], degc_below: 80, degc_above: 20, from_s: 1}
      - {group: hello, starts_after: initial motion, empty_slots: 0}
    """
    )
    at, order, warm, group = scenario.expectations
    assert isinstance(at, x.AtTimeExpectation)
    assert at.holds == {"TTS": None, "Microphone": None}
    ended = c.GroupEndedForm(group_ended="hello", reason="done")
    assert list(order.conditions()) == [c.SaidForm(said="Hi"), ended]
    assert isinstance(warm, x.TemperatureExpectation)
    assert warm.joints == ["HeadYaw", "HeadPitch", "LKneePitch"]
    assert isinstance(group, x.GroupExpectation)
    windows = [tuple(one.slots) for one in scenario.expectations]
    assert windows == [(100, 100), (0, 999), (100, 999), (0, 999)]


def test_counts_are_a_number_or_a_range(load: Load) -> None:
    scenario = load(
        """
        behaviours: [{name: a, schema: example, needs: [Head]}]
        expect: [{owner: a, executed: [1, 9], refused: 0}, {owner: a, refused: 0}]
        """
    )
    counts, refused = scenario.expectations
    assert isinstance(counts, x.CountsExpectation)
    assert counts.ranges() == {"executed": (1, 9), "refused": (0, 0)}
    assert (counts.counts_commands, refused.counts_commands) == (True, False)


def test_file_entries_extend_the_library_of_the_robot(load: Load) -> None:
    scenario = load(GREETING.replace("    expect:\n", ""))
    assert scenario.library.motion("tilt").joints == ("HeadPitch",)
    assert scenario.library.order("hello").is_synchronous
    assert set(scenario.robot.library.motions) <= set(scenario.library.motions)


def test_robot_folder_is_relative_to_the_file(tmp_path: Path) -> None:
    folder = ROOT / "tests" / "data" / "two_leg"
    shutil.copytree(folder, tmp_path / "robots" / "two_leg")
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\nabout: Two legs.\nduration_s: 1\nrobot: robots/two_leg\n"
        "posture: Stand\nexpect: [{joint: right_knee, degc_below: 80}]\n",
        "utf-8",
    )
    scenario = load_scenario(path)
    assert scenario.robot.name != "nao"
    (warm,) = scenario.expectations
    assert isinstance(warm, x.TemperatureExpectation)
    assert warm.joints == ["right_knee"]


def test_about_text_may_have_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\nabout: >\n  One line,\n  and another.\nduration_s: 1\n", "utf-8"
    )
    assert load_scenario(path).about == "One line, and another."


def test_plan_keeps_the_text_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("name: s\nabout: Nothing.  # yet\nduration_s: 1e0\n", "utf-8")
    scenario = load_scenario(path)
    assert scenario.text == path.read_text("utf-8")
    assert scenario.duration_ticks == 100


WAVES = "{name: a, schema: move, with: {command: say hello and wave}"
RISES = "{name: a, schema: move, with: {command: announce standing}"


@pytest.mark.parametrize(
    "text",
    [
        f"posture: Stand\nbehaviours: [{WAVES}}}]\n",
        f"posture: Sit\nbehaviours: [{WAVES}, needs: [All motors, Leds, TTS]}}]\n",
        # A command to a posture requests the joints of every possible motion.
        f"posture: Sit\nbehaviours: [{RISES}}}]\n",
        # Another behaviour may reach the posture first.
        f"posture: Sit\nbehaviours: [{WAVES}}}, {{name: b, schema: stand}}]\n",
    ],
)
def test_command_with_a_possible_motion_is_accepted(load: Load, text: str) -> None:
    assert load("\n" + text).behaviours[0].name == "a"


def test_dependent_parameters_are_checked_together(load: Load) -> None:
    """Alone, each would be invalid with the default of the other."""
    with_ = "with: {from_degc: 50, until_degc: 40}"
    (cool,) = load(
        f"\nbehaviours: [{{name: a, schema: cool down, {with_}}}]\n"
    ).behaviours
    assert cool.parameters == {"from_degc": 50, "until_degc": 40}


def test_wrong_one_of_dependent_parameters_is_named(load: Load) -> None:
    with_ = "{from_degc: 50, until_degc: 40, from_deg: 3}"
    with pytest.raises(FileErrors, match="5: Parameter 'from_deg'") as told:
        load(f"\nbehaviours: [{{name: a, schema: cool down, with: {with_}}}]\n")
    assert len(told.value.errors) == 1
