"""All errors of a file are reported with their lines, and nothing is started.

In the files below, `#!` and some words end each wrong line: only these lines have
errors, and each error contains the words of its line.
"""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.models import BadInput, load_robot
from nao_testbed.models.files.yaml_forms import FileErrors
from tests.experiments.scenarios.helpers import HEAD, Load
from tests.messages import Messages, each

NAO = load_robot()

SETTINGS = """
posture: Stnd  #! Did you mean 'Stand'?
controller: smrt  #! Did you mean 'smart'?
voice: silables  #! Did you mean 'syllables'?
body: T15  #! Did you mean 'T14'?
seed: -1  #! greater than or equal to 0
world: {slope_deg: 31}  #! less than or equal to 30
simulation:
  protection: nao6  #! 'none', 'nao', 'document' or 'robot'
  misalignment_deg:
    LAnklePich: 1  #! Did you mean 'LAnklePitch'?
    LKneePitch: 200  #! allows at most
  start_degc: {HeadYw: 60}  #! Did you mean 'HeadYaw'?
  payload_kg:
    Torso: 1  #! Did you mean 'torso'?
    l_gripper: 60  #! payload in kg = 60.0
    torso@1,2: 1  #! such as LINK@-0.08,0,0.05
    torso@0,0,5: 1  #! a payload's position in m = 5.0
  obstacles:
    table: 0.3,0.6@1,0,0.3  #! such as 0.3,0.6,0.02@0.25,0,0.3
    wall: 0,1,1@1,0,0.5  #! an obstacle's size in m = 0.0
reservations: {preemption: yes}  #! 'off' or 'by_priority'
transmitter:
  buses:  #! unit 'light' is on 2 buses
    a: [motion, light]
    b: [light, sound]
"""

RULES = """
reservations: {overtake_s: 0.123}  #! overtake_s is 0.123 s, 12.3 slots
transmitter:
  ttl_s: 5.004  #! ttl_s is 5.004 s, 500.4 slots
  conversion_s: {sound: 0.105}  #! conversion_s of sound is 0.105 s, 10.5 slots
  late_s: {motion: 0.0333}  #! late_s of motion is 0.0333 s
behaviours:
  - name: a
    schema: hold
    needs: [Head]
    timeout_s: 1.003  #! timeout_s is 1.003 s
    policy: {name: stop, within_s: 0.333}  #! within_s is 0.333 s
"""

EARLY = """
transmitter:  #! enable: early needs early_s
  enable: early
"""

BEHAVIOURS = """
behaviours:
  - {name: a, schema: exmple}  #! Did you mean 'example'?
  - {name: b, schema: example, with: {amplitud: 3}}  #! Did you mean 'amplitude'?
  - {name: c, schema: example, with: {for_s: soon}}  #! give a number
  - {name: d, schema: example, needs: [Hed]}  #! Did you mean 'Head'?
  - {name: e, schema: example, needs: [Head, Head]}  #! 'Head' twice
  - {name: e1, schema: example, needs: [CPU]}  #! request a rate in percent
  - {name: e2, schema: example, rates: {HeadYaw: 5}}  #! 'HeadYaw' has no rates
  - {name: e3, schema: example, rates: {CPU: 50.005}}  #! in steps of 0.01 %
  - {name: e4, schema: example, optional: [State]}  #! cannot be taken as a whole
  - {name: f, schema: example, policy: lok}  #! Did you mean 'lock'?
  - name: g
    schema: example
    policy: {name: lock, within_s: 1}  #! 'within_s' is not in policy
  - {name: h, schema: example, priority: 10}  #! less than or equal to 9
  - {name: i, schema: example, start_s: 10}  #! the scenario ends at 10 s
  - {name: j, schema: example, start_s: 1, start: waits}  #! exclude each other
  - {name: k, schema: example, start_s: 0.005}  #! whole slots of 0.01 s
  - {name: b, schema: example}  #! two behaviours
  - {name: l/m, schema: example}  #! has '/' or '.'
  - {name: hotEngine, schema: example}  #! a built-in owner
  - {name: n, schema: example, parent: bb}  #! Behaviour 'bb' is not in
  - {name: o, schema: example, colour: red}  #! unknown key 'behaviours.19.colour'
  - name: p
    schema: choose
    with: {arbitration: fairest}  #! 'fairest' is not in
    children:
      - {name: q, schema: example, start_s: 1}  #! start_s is only for
      - {name: r, schma: example}  #! Did you mean 'schema'?
"""

EVENTS = """
behaviours:
  - {name: a, schema: example, needs: [Head]}
  - {name: b, schema: choose, children: [{name: kid, schema: example}]}
  - {name: watch, schema: fall watch}
events:
  - {at_s: 1, start: aa}  #! Behaviour 'aa' is not in
  - {at_s: 1, stop: kid}  #! 'kid' is a child of 'b'
  - {at_s: 11, say: Hello}  #! the scenario ends at 10 s
  - {say: Hello}  #! either at_s or when
  - {at_s: 1, when: {fallen: true}, say: Hello}  #! either at_s or when
  - {at_s: 1, after_s: 1, say: Hello}  #! after_s needs when
  - {at_s: 1, say: "?!"}  #! no letter and no digit
  - {at_s: 1, shove: torso}  #! an event has one of the keys
  - {at_s: 1, start: a, stop: b}  #! unknown key 'events.8.stop'
  - {at_s: 1, push: {link: trso, newton: [1, 0, 0], for_s: 1}}  #! Did you mean 'torso'?
  - {at_s: 1, push: {link: torso, newton: [1, 0], for_s: 1}}  #! at least 3 items
  - {at_s: 1, push: {link: torso, newton: [1, 0, 0], for_s: 0}}  #! greater than 0
  - {at_s: 1, heat: {joint: HeadYaw, degc: 400}}  #! less than or equal to 150
  - {at_s: 1, break: [Left amr]}  #! Resource 'Left amr' is not in
  - {at_s: 1, body: T13}  #! Body 'T13' is not in
  - {at_s: 1, ground: {}}  #! give friction, slope_deg or both
  - {at_s: 1, controller: constant}  #! has no number
  - {at_s: 1, controller: "smart:Stood=0.1"}  #! Posture 'Stood' is not in robot
  - {when: {degc_above: {HedYaw: 75}}, say: Hot}  #! Did you mean 'HeadYaw'?
  - {when: {force_above: {tabel: 1}}, say: Ouch}  #! Obstacle 'tabel' is not in this
  - {when: {force_above: {table: -1}}, say: Ouch}  #! greater than or equal to 0
  - {when: {granted: b}, say: Hello}  #! needs no resource
  - {when: {state: Stnd}, say: Hello}  #! Did you mean 'Stand'?
  - {when: {strted: a}, say: Hello}  #! Did you mean 'started'?
  - {when: {event: shove}, say: Hello}  #! Event 'shove' is not in
  - {when: {output: {watch.is_fallin: true}}, say: Hello}  #! mean 'is_falling'?
  - {when: {output: {watch.is_falling: 3}}, say: Hello}  #! is never 3
  - {when: {output: {is_falling: true}}, say: Hello}  #! give behaviour.output
  - {when: {output: {what.is_falling: true}}, say: Hello}  #! mean 'watch'?
  - {when: {output_above: {watch.is_falling: 3}}, say: Hello}  #! is not a number but
  - {when: {output_below: {watch.margn_m: 3}}, say: Hello}  #! mean 'margin_m'?
  - {when: {output_below: {watch.margin_m: low}}, say: Hello}  #! give a number
  - {when: {motion_started: nodd}, say: Hello}  #! Did you mean 'nod'?
  - {when: {light_started: alrm}, say: Hello}  #! Did you mean 'alarm'?
  - {at_s: 1, modulate: {behaviour: a, with: {for_: 3}}}  #! mean 'for_s'?
  - {at_s: 1, modulate: {behaviour: aa, with: {for_s: 3}}}  #! Behaviour 'aa' is not
  - {at_s: 1, modulate: {behaviour: a, with: {}}}  #! give at least 1 item
  - {at_s: 1, name: x, say: Hello}
  - {at_s: 2, name: x, say: Hello}  #! two events are called 'x'
"""

REPAIR = """
events:
  - {at_s: 1, break: [Left arm]}
  - {at_s: 2, repair: [Right arm]}  #! Part 'Right arm' is not in
  - {at_s: 0.5, repair: [Left arm]}  #! breaks at 1 s
  - {when: {fallen: true}, repair: [Left arm]}
"""

TRIGGERS = """
behaviours:
  - {name: a, schema: example, start: waits}
events:
  - {when: {started: a}, say: Hello}  #! no event starts it
  - {when: {fallen: true}, after_s: 10, say: Ouch}  #! longer than the scenario
  - {when: {event: x}, name: x, say: Oh}  #! x waits for x
  - {when: {event: z}, name: y, say: Oh}  #! y waits for z waits for y
  - {when: {event: y}, name: z, say: Oh}  #! z waits for y waits for z
  - {when: {event: y}, name: after y, say: Oh}
  - {when: {fallen: true}, name: fall, say: Oh}
  - {when: {event: fall}, say: Oh}
"""

EXPECTATIONS = """
simulation: {start_degc: {HeadYaw: 60}}
behaviours:
  - {name: a, schema: example, needs: [Head]}
  - {name: b, schema: example, needs: [Head]}
  - {name: c, schema: fall watch}
  - {name: d, schema: example, start: waits}
  - {name: late, schema: example, needs: [LHand], start_s: 5}
events: [{at_s: 3, name: shove, say: Oh}]
sounds: {hi: {text: Hi}}
lights: {red: {steps: [{at_s: 0, leds: [Left eye], colour: "#ff0000"}]}}
commands: {hello: {light: red, sound: hi, points: {light: 30, sound: 70}}}
expect:
  - {at_s: 10, holds: {Head: a}}  #! the scenario ends at 10 s
  - {at_s: 1}  #! give holds, waiters
  - {at_s: 1, holds: {}}  #! at least 1 item
  - {at_s: 1, running: []}  #! at least 1 item
  - {at_s: 1, holds: {Left arm: a}}  #! 'a' never holds LElbowRoll,
  - {at_s: 1, holds: {Head: c}}  #! needs no resource
  - {at_s: 1, holds: {Head: nobody}}  #! Behaviour 'nobody' is not in
  - {at_s: 2, holds: {Head: a, HeadYaw: b}}  #! held by 'a' and by 'b'
  - {at_s: 3, holds: {Head: a}}
  - {at_s: 3, holds: {HeadYaw: b}}  #! held by 'a' at the same time in
  - {at_s: 3, holds: {HeadYaw: null}}  #! nobody's here
  - {at_s: 1, waiters: {LHand: [a]}}  #! 'a' never waits for 'LHand'
  - {at_s: 4, state: Stand}
  - {at_s: 4, state: Sit}  #! 'Stand' at the same time in
  - {at_s: 4, running: [a]}
  - {at_s: 4, not_running: [a]}  #! running at the same time in
  - {at_s: 4, running: [b], not_running: [b]}  #! running and not running
  - {at_s: 4, running: [d]}  #! no event starts it
  - {at_s: 4, posture: Std}  #! Did you mean 'Stand'?
  - {happens: {said: Hi}}
  - {happens: {said: Something else}}
  - {happens: {said: hi there}}
  - {happens: {said: Oho}}  #! Did you mean 'Oh'?
  - {happens: {started: d}}  #! no event starts it
  - {order: [{started: a}, {stopped: d}]}  #! no event starts it
  - {happens: {started: late}, at_s: 4}  #! 'late' is activated only at 5 s
  - {happens: {started: late}, from_s: 4}
  - {at_s: 4, holds: {LHand: late}}  #! 'late' is activated only at 5 s
  - {at_s: 4, waiters: {LHand: [late]}}  #! 'late' is activated only at 5 s
  - {never: {started: late}, to_s: 4}
  - {happens: {event: shove}, at_s: 2.9}  #! occurs at 3 s
  - {happens: {event: shove}, at_s: 2.9, within_s: 0.1}
  - {happens: {started: a}, at_s: 3, from_s: 1}  #! give only one of
  - {happens: {started: a}, within_s: 1}  #! within_s needs at_s
  - {happens: {started: a}, within_slots: 1}  #! within_slots needs after
  - {never: {fallen: true}, from_s: 4, to_s: 3}  #! is after to_s
  - {never: {fallen: true}, to_s: 12}  #! the scenario ends at 10 s
  - {never: fallen}  #! a condition has one of the keys
  - {order: [{started: a}]}  #! at least 2 items
  - {joint: Had, degc_below: 80}  #! Did you mean 'Head'?
  - {joint: Head}  #! degc_below, degc_above or both
  - {joint: Head, degc_below: 60}  #! HeadYaw starts at 60 °C
  - {joint: LHand, degc_above: 40}  #! LHand starts at 30 °C
  - {joint: Head, degc_below: 70, degc_above: 70, from_s: 1}  #! swap the limits
  - {group: helo}  #! Did you mean 'hello'?
  - {group: hello, starts_after: initial motion}  #! no motion with a start posture
  - {group: hello, empty_slots: 0}  #! needs starts_after
  - {happens: {group_ended: hello, reason: dne}}  #! Did you mean 'done'?
  - {owner: a}  #! give executed, refused
  - {owner: a, executed: [3, 2]}  #! at least 3 and at most 2
  - {owner: a, executed: -1}  #! greater than or equal to 0
  - {owner: c, executed: 1}  #! needs no resource
"""

LIBRARY = """
motions:
  turn:
    from: Stnd  #! Did you mean 'Stand'?
    angles_deg:
      HeadYaw: [[1, 20], [0.5, 0]]  #! overlapping keyframes
      HeadPitch: [[1, 90]]  #! 90
      LHand: [[0.1, 0], [0.11, 57]]  #! with up to
lights:
  red: {steps: [{at_s: 0, leds: [Left ey], colour: "#ff0000"}]}  #! LED 'Left ey' is
  blue: {steps: [{at_s: 0, leds: [Left eye], colour: blue}]}  #! such as "#00ff00"
commands:
  hello: {motion: turn, light: red, points: {motion: 50, light: 40}}  #! sum to 90
  bye: {motion: trn}  #! Did you mean 'turn'?
"""

JOINED = """
commands:
  arm: {motion: nod, points: {motion: 40}}
  voice: {sound: hello, points: {sound: 60}}
  most: {light: blink, points: {light: 70}}  #! sum to 70
  alone: {light: blink, points: {light: 60}}  #! may complete it
behaviours:
  - {name: a, schema: move, with: {command: arm, group: duo}}
  - {name: b, schema: choose, children: [
      {name: kid, schema: move, with: {command: voice, group: duo}}]}
  - {name: c, schema: move, with: {command: most, group: duo}}
  - {name: d, schema: move, with: {command: alone}}
"""

INITIAL_MOTION = """
posture: Sit
behaviours:
  - name: a
    schema: move
    with: {command: say hello and wave}  #! needs: [All motors, Left
  - {name: b, schema: blink, needs: [Chest]}
"""

MOTION_TO_POSTURE = """
posture: Sit
behaviours:
  - name: a
    schema: move
    with: {command: announce standing}  #! needs: [All motors, Left
    needs: [Head, Left eye, Right eye, TTS]
"""

NO_MOTION_TO_POSTURE = """
posture: LyingBack
behaviours:
  - name: a
    schema: move
    with: {command: announce standing}  #! goes to Stand, the robot starts in LyingBack
"""

UNAVAILABLE = """
body: T14
behaviours:
  - {name: a, schema: hold, needs: [Legs]}  #! which this body lacks
  - {name: b, schema: hold, needs: [LKneePitch]}
  - {name: c, schema: hold, needs: [Head], optional: [Legs]}
  - {name: d, schema: hold, needs: [Head-stiffness]}  #! the stiffness controller
  - {name: e, schema: hold}  #! e
  - {name: f, schema: sequence}  #! f
  - {name: g, schema: say}  #! g
  - {name: h, schema: move}  #! h
  - {name: i, schema: move, with: {motion: nd}}  #! Did you mean 'nod'?
expect:
  - {happens: {timed_out: b}}
"""

OWNERS = """
behaviours:
  - {name: a, schema: example, needs: [Head], parent: c}  #! cycle of owners
  - {name: b, schema: example, needs: [Head], parent: a}
  - {name: c, schema: example, needs: [Head], parent: b}
  - {name: e, schema: choose, children: [{name: f, schema: example, needs: [Head]}]}
  - {name: g, schema: example, needs: [Head], parent: f}  #! 'f' is a child of another
  - {name: h, schema: example, needs: [Head], parent: i}  #! 'i' comes later in the file
  - {name: i, schema: choose, children: [{name: j, schema: example}]}
  - {name: d, schema: example, needs: [Head], parent: d}  #! cycle of owners
"""

FILES = {
    "settings": SETTINGS,
    "rules": RULES,
    "early": EARLY,
    "behaviours": BEHAVIOURS,
    "events": EVENTS,
    "repair": REPAIR,
    "triggers": TRIGGERS,
    "expectations": EXPECTATIONS,
    "library": LIBRARY,
    "joined": JOINED,
    "initial motion": INITIAL_MOTION,
    "motion to a posture": MOTION_TO_POSTURE,
    "no motion to a posture": NO_MOTION_TO_POSTURE,
    "unavailable": UNAVAILABLE,
    "owners": OWNERS,
}


def wrong_lines(text: str) -> dict[int, str]:
    """Return the words after `#!` for each line number."""
    return {
        number: line.partition("#!")[2].strip()
        for number, line in enumerate(text.splitlines(), start=1)
        if "#!" in line
    }


@pytest.mark.parametrize("name", FILES)
def test_each_wrong_line_is_reported_and_no_other(load: Load, name: str) -> None:
    wrong = wrong_lines(HEAD + FILES[name])
    with pytest.raises(FileErrors) as told:
        load(FILES[name])
    found: dict[int, str] = {}
    for error in told.value.errors:
        assert error.line is not None
        found[error.line] = f"{found.get(error.line, '')} {error.problem}"
    assert set(found) == set(wrong), "\n" + str(told.value)
    for line, words in wrong.items():
        assert words in found[line]


@pytest.mark.parametrize("name", FILES)
def test_errors_name_file_and_line_in_order(load: Load, name: str) -> None:
    with pytest.raises(FileErrors) as told:
        load(FILES[name])
    lines = str(told.value).splitlines()
    numbers = [int(re.match(r"\S+scenario\.yaml:(\d+): \S", line)[1]) for line in lines]  # type: ignore[index]
    assert numbers == sorted(numbers)
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: [", "1:8: is not YAML: expected the node content"),
        ("name: a\nabout: \xff\n", "2: is not UTF-8 text: it has the byte 0xff"),
        ("name: a\nname: b\n", 'found duplicate key "name"'),
        ("- 1\n", "the file is [1]"),
        ("[" * 1000, "nested too deeply"),
        ("name: a\nexpect: &a [*a]\n", "2: &a refers to itself: an alias"),
        ("", "key 'name' is missing"),
        ("name: a\nabout: b\nduration_s: 0\n", "greater than 0"),
        ("name: a\nabout: \0\n", "2:8: is not text"),
        ("name: a\n---\nname: b\n", "has two documents; keep one"),
        ("name: a\nabout: b\nduration_s: soon\n", "is 'soon': give a number"),
        ("name: a\nabout: b\nduration_s: 1\nworld: 3\n", "give keys with values"),
        ("name: a\nabout: b\nduration_s: 1\nevents: 3\n", "is 3: give a list"),
        ("name: ' a'\nabout: b\nduration_s: 1\n", "without blanks at its ends"),
        ('name: "a\\e[31m"\nabout: b\nduration_s: 1\n', "name is 'a\\x1b[31m'"),
        ('name: a\nabout: "b\\0"\nduration_s: 1\n', "about is 'b\\x00'"),
        ("name: a\nabout: b\nduration_s: 5\nrobot: there\n", "is neither a directory"),
    ],
)
def test_invalid_scenario_file_is_reported(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(BadInput, match=re.escape(problem)) as told:
        load_scenario(path)
    assert str(told.value).startswith(f"{path}:")


def test_wrong_behaviour_is_still_known_by_name(load: Load) -> None:
    """One mistake makes one error: references to the behaviour remain valid."""
    with pytest.raises(FileErrors) as told:
        load(
            """
            behaviours: [{name: a, schema: example, needs: [Head], prority: 3}]
            events: [{at_s: 1, stop: a}, {when: {granted: a}, say: Hello}]
            expect: [{at_s: 1, holds: {Head: a}}, {owner: a, executed: 1}]
            """
        )
    (error,) = told.value.errors
    assert "Did you mean 'priority'?" in error.problem


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAO.joint_names), data=st.data())
def test_joint_name_with_a_missing_letter_is_suggested(
    load: Load, name: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(name) - 1))
    slip = name[:place] + name[place + 1 :]
    assume(slip not in NAO.joint_names)
    with pytest.raises(FileErrors) as told:
        load(f"\nexpect:\n  - {{joint: {slip}, degc_below: 80}}\n")
    (error,) = told.value.errors
    assert error.line == 6
    match = re.search(r"Did you mean '(\w+)'", error.problem)
    assert match is not None
    # The joint of the other side may be equally close.
    assert match[1][-4:] == name[-4:] or match[1] == name


TIMES = {
    "event": "events: [{at_s: TIME, say: Hello}]",
    "delay": "events: [{when: {fallen: true}, after_s: TIME, say: Hello}]",
    "push": "events: [{at_s: 0, push: {link: torso, newton: [1, 0, 0], for_s: TIME}}]",
    "start": "behaviours: [{name: a, schema: example, start_s: TIME}]",
    "timeout": "behaviours: [{name: a, schema: example, timeout_s: TIME}]",
    "policy": "behaviours: [{name: a, schema: example, "
    "policy: {name: stop, within_s: TIME}}]",
    "never": "expect: [{never: {fallen: true}, to_s: TIME}]",
    "never from": "expect: [{never: {fallen: true}, from_s: TIME}]",
    "happens": "expect: [{happens: {fallen: true}, at_s: 1, within_s: TIME}]",
    "at": "expect: [{at_s: TIME, state: Stand}]",
    "joint": "expect: [{joint: HeadYaw, degc_below: 80, to_s: TIME}]",
    "retry": "reservations: {retry_s: TIME}",
    "overtake": "reservations: {overtake_s: TIME}",
    "early": "transmitter: {enable: early, early_s: TIME}",
    "to live": "transmitter: {ttl_s: TIME}",
    "conversion": "transmitter: {conversion_s: {motion: TIME}}",
    "keyframe": "motions: {m: {angles_deg: {HeadYaw: [[TIME, 5]]}}}",
    "posture": "motions: {m: {postures: [[TIME, Stand]]}}",
    "tone": "sounds: {s: {tone_hz: 440, length_s: TIME}}",
    "light": "lights: {l: {steps: [{at_s: TIME, leds: [Chest], colour: '#00ff00'}]}}",
    "fade": "lights: {l: {steps: [{at_s: 0, leds: [Chest], colour: '#00ff00', "
    "fade_s: TIME}]}}",
    "pattern": "lights: {l: {length_s: TIME, steps: "
    "[{at_s: 0, leds: [Chest], colour: '#00ff00'}]}}",
}


@pytest.mark.parametrize("time", ["1e308", "1000000000", "1e9"])
@pytest.mark.parametrize("where", TIMES)
def test_infinite_time_is_refused(load: Load, where: str, time: str) -> None:
    with pytest.raises(FileErrors) as told:
        load(TIMES[where].replace("TIME", time))
    assert "less than or equal to" in str(told.value)


def test_longest_motion_is_accepted(load: Load) -> None:
    load("motions: {m: {angles_deg: {HeadYaw: [[600, 5]]}}}")


def test_messages(messages: Messages, tmp_path: Path, load: Load) -> None:
    messages(
        a_file_that_is_missing=lambda: load_scenario(tmp_path / "none.yaml"),
        a_text_without_end=each(
            lambda text: load(text.replace("WORDS", "word " * 1000 + "word")),
            "sounds: {s: {text: WORDS}}",
            "events: [{at_s: 0, say: WORDS}]",
            "behaviours: [{name: a, schema: say, with: {text: WORDS}}]",
        ),
    )
