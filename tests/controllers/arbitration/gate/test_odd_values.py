"""Invalid values at every entry point of the gate raise BadInput."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers import LedSetting, SoundChunk
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    DegradedMode,
    HotEngineCfg,
    Occupation,
)
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.resources import Device, DeviceKind, ResourceNode
from tests.controllers.arbitration.gate_setup import World, node, whole_tree

NO_NUMBERS: dict[str, Any] = {
    "text": "0.1",
    "bytes": b"1",
    "truth": True,
    "numpy truth": np.True_,
    "too long": 10**400,
    "complex": 0.1 + 0.0j,
    "object": object(),
    "numpy text": np.str_("0.1"),
    "text in an array": np.array("0.1"),
    "mapping": {"HeadYaw": 0.1},
    "not a number": float("nan"),
    "endless": float("inf"),
}
N = 26
NO_ARRAYS: dict[str, Any] = {
    **NO_NUMBERS,
    "texts": np.full(N, "0.1"),
    "truths": np.ones(N, dtype=bool),
    "a truth among them": [*[0.1] * (N - 1), True],
    "a text among them": [*[0.1] * (N - 1), "0.1"],
    "too long among them": [*[0.1] * (N - 1), 10**400],
    "objects": np.full(N, 0.1, dtype=object),
    "complex numbers": np.full(N, 0.1 + 0.0j),
    "ragged": [[0.1, 0.2], [0.1]],
    "one too few": np.full(N - 1, 0.1),
    "a column": np.full((N, 1), 0.1),
    "nan that is masked": np.ma.masked_invalid(np.full(N, np.nan)),
    "nothing": None,
    "times": np.full(N, 1, dtype="m8[s]"),
}
EntryPoint = Callable[[World, Token, Any], object]


def of_leaf(leaf: str) -> dict[str, EntryPoint]:
    """Return the entry points for one value of a leaf."""
    return {
        f"submit {leaf}": lambda w, t, x: w.gate.submit(t, leaf, x),
        f"submit all {leaf}": lambda w, t, x: w.gate.submit_all(
            t, {"RElbowRoll": 0.1, leaf: x}
        ),
        f"together {leaf}": lambda w, t, x: w.gate.submit_together(
            [(t, {"RElbowRoll": 0.1}), (t, {leaf: x})]
        ),
    }


MOTOR = of_leaf("HeadYaw")
LIMIT = of_leaf("Stiffness")
WHOLE: dict[str, EntryPoint] = {
    "set-points": lambda w, t, x: w.gate.submit_set_points(t, x),
    "stiffness": lambda w, t, x: w.gate.submit_stiffness(t, x),
    "shift": lambda w, t, x: w.gate.submit_shift(t, x),
}
CAP: dict[str, EntryPoint] = {
    "freeze": lambda w, t, x: w.ledger.freeze(
        ["HeadYaw"], "hot", w.ledger.tick, effort_cap=x
    ),
    "occupation": lambda w, t, x: Occupation(effort_cap=x, is_total=False),
    "mode": lambda w, t, x: DegradedMode(name="weak", caps={"HeadYaw": x}),
    "hot engine": lambda w, t, x: HotEngineCfg(effort_cap=x),
}
ONE_NUMBER_OF_AN_EFFECTOR: dict[str, EntryPoint] = {
    "fade": lambda w, t, x: LedSetting(colours=np.zeros(3), fade_s=x),
    "rate": lambda w, t, x: SoundChunk(
        samples=np.zeros(4), sample_rate_hz=x, label="hum"
    ),
}
ARRAY_OF_AN_EFFECTOR: dict[str, EntryPoint] = {
    "colours": lambda w, t, x: LedSetting(colours=x),
    "samples": lambda w, t, x: SoundChunk(samples=x, sample_rate_hz=16000, label="hum"),
}
SHAPES = {"one too few", "a column"}
ODD: dict[str, tuple[EntryPoint, dict[str, Any]]] = {
    **{
        name: (entry_point, NO_NUMBERS)
        for name, entry_point in (MOTOR | CAP | ONE_NUMBER_OF_AN_EFFECTOR).items()
    },
    **{
        name: (entry_point, NO_ARRAYS)
        for name, entry_point in (
            LIMIT | WHOLE | of_leaf("Eyes") | of_leaf("TTS")
        ).items()
    },
    **{
        name: (entry_point, {k: v for k, v in NO_ARRAYS.items() if v is not None})
        for name, entry_point in of_leaf("Speech").items()
    },
    **{
        name: (entry_point, {k: v for k, v in NO_ARRAYS.items() if k not in SHAPES})
        for name, entry_point in ARRAY_OF_AN_EFFECTOR.items()
    },
}


@pytest.fixture(scope="module")
def shared(nao: Robot) -> World:
    """Return a whole robot with loudspeakers; rejected calls do not change it."""
    voice = Device(kind=DeviceKind.SPEAKER, names=tuple(s.name for s in nao.speakers))
    root = whole_tree(nao)
    speaker = ResourceNode(name="TTS", device=voice)
    return World.of(nao, node("body", root, speaker))


@pytest.fixture(scope="module")
def token(shared: World) -> Token:
    return shared.take("stand", "root", "TTS")


@pytest.mark.requirement("RM-65")
@pytest.mark.parametrize("name", list(ODD))
def test_invalid_value_is_rejected(shared: World, token: Token, name: str) -> None:
    entry_point, values = ODD[name]
    told = len(shared.events)
    for kind, value in values.items():
        with pytest.raises(BadInput) as error:
            entry_point(shared, token, value)
        assert len(str(error.value)) < 400, kind
    assert shared.flush() == ()
    assert not shared.robot.commands
    kinds = {type(event).__name__ for event in shared.events[told:]}
    assert kinds <= {"Settled", "Ticked"}


@pytest.mark.parametrize("tick", [True, 1.0, np.int64(1), "1", None])
def test_flush_rejects_a_tick_that_is_not_an_int(nao: Robot, tick: Any) -> None:
    world = World.of(nao)
    token = world.take("look", "HeadYaw")
    world.gate.submit(token, "HeadYaw", 0.5)
    world.ledger.advance(1)
    with pytest.raises(BadInput, match=r"tick is .*; give a whole number"):
        world.gate.flush(tick)
    assert not world.robot.commands


@pytest.mark.parametrize("value", [0, np.int64(0), np.float32(0.25), np.array(0.125)])
def test_ints_and_numpy_scalars_are_accepted(nao: Robot, value: Any) -> None:
    world = World.of(nao)
    token = world.take("stand", "root")
    for leaf in ("HeadYaw", "Stiffness"):
        assert world.gate.submit(token, leaf, value) is None
    world.flush()
    assert world.target_of("HeadYaw") == float(value)
    assert world.stiffness_of("HeadYaw") == float(value)


NO_BATCHES: dict[str, tuple[Any, Any]] = {
    "a text": ("HeadYaw", ()),
    "a mapping": ({"HeadYaw": 0.1}, ()),
    "triples": ([(None, "HeadYaw", 0.1)], ()),
    "a list of values": ([(None, [("HeadYaw", 0.1)])], ()),
    "a leaf that is a number": ([(None, {5: 0.1, "HeadYaw": 0.1})], ()),
    "a right to one text": ([(None, {"HeadYaw": 0.1})], [(None, "HeadYaw")]),
    "a right to nothing": ([(None, {"HeadYaw": 0.1})], [(None, None)]),
    "a right to a number": ([(None, {"HeadYaw": 0.1})], [(None, [5])]),
    "one right": ([(None, {"HeadYaw": 0.1})], (None, ["HeadYaw"])),
    "nothing": (None, ()),
}


@pytest.mark.parametrize("case", list(NO_BATCHES))
def test_invalid_batch_is_rejected(shared: World, case: str) -> None:
    parts, rights = NO_BATCHES[case]
    with pytest.raises(BadInput, match=r"batch|right"):
        shared.gate.submit_together(parts, rights)


@pytest.mark.parametrize("leaf", [5, None, ["HeadYaw"], b"HeadYaw", {"HeadYaw"}])
def test_leaf_name_must_be_a_string(shared: World, token: Token, leaf: Any) -> None:
    with pytest.raises(BadInput, match=r"a leaf is .*; give its name, a string"):
        shared.gate.submit(token, leaf, 0.1)
    with pytest.raises(BadInput):
        shared.gate.submit_all(token, leaf)
