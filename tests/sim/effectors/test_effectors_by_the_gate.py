"""Speech and LEDs of the simulated robot, commanded by tokens."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers import LedSetting, SoundChunk
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Preemption, Token
from nao_testbed.controllers.transmitter.speech import SyllableVoice
from nao_testbed.models import Robot
from nao_testbed.sim import SimulatedRobot, SimulationCfg
from nao_testbed.sim.effectors import FULL_SCALE
from tests.sim.conftest import Simulate

SLOT = 160
"""Samples of a device slot at 16 kHz."""


class Stage:
    """A simulated robot behind its gate, slot by slot."""

    def __init__(self, sim: SimulatedRobot) -> None:
        self.sim = sim
        cfg = LedgerCfg(preemption=Preemption.BY_PRIORITY)
        self.ledger = Ledger(ResourceTree(sim.robot.resources), cfg)
        self.gate = Gate(self.ledger, sim)

    def take(self, owner: str, *names: str, priority: int = 0) -> Token:
        self.ledger.add_owner(Owner(name=owner, priority=priority), self.ledger.tick)
        request = Request(owner=owner, resources=names)
        outcome = self.ledger.request(request, self.ledger.tick).outcome
        assert outcome is not None
        assert outcome.token is not None
        return outcome.token

    def slot(self) -> None:
        self.gate.flush(self.ledger.tick)
        self.sim.step(10)
        self.ledger.advance(self.ledger.tick + 1)


@pytest.fixture
def stage(nao: Robot, simulate: Simulate) -> Stage:
    return Stage(simulate(nao, SimulationCfg(), "PoseInit"))


def chunks(text: str) -> list[SoundChunk]:
    samples = SyllableVoice().render(text)
    parts = [samples[i : i + SLOT] for i in range(0, len(samples), SLOT)]
    return [
        SoundChunk(
            samples=part,
            sample_rate_hz=16000,
            label=text,
            is_last=k == len(parts) - 1,
        )
        for k, part in enumerate(parts)
    ]


@pytest.mark.requirement("AR-10")
def test_a_text_is_spoken_completely_and_on_time(stage: Stage) -> None:
    token = stage.take("greet", "TTS")
    for _ in range(5):
        stage.slot()
    for chunk in chunks("Hello"):
        assert stage.gate.submit(token, "TTS", chunk) is None
        stage.slot()
    stage.slot()
    (said,) = stage.sim.speaker.utterances
    assert (said.label, said.is_whole) == ("Hello", True)
    assert_allclose([said.start_s, said.end_s], [0.05, 0.45], atol=1e-9)
    heard = stage.sim.speaker.recording(0.46)
    assert_array_equal(
        heard[800:7200], np.round(SyllableVoice().render("Hello") * FULL_SCALE)
    )
    assert not heard[:800].any()
    assert not heard[7200:].any()


@pytest.mark.requirement("AR-14", "AR-19")
def test_speech_stops_in_the_slot_that_revokes_the_speaker(stage: Stage) -> None:
    token = stage.take("greet", "TTS", "Left eye")
    green = LedSetting(colours=np.array([0.0, 1.0, 0.0]), fade_s=0.2)
    assert stage.gate.submit(token, "Left eye", green) is None
    refused = 0
    for k, chunk in enumerate(chunks("Hello")):
        if k == 12:
            stage.take("alarm", "TTS", priority=5)
        refused += stage.gate.submit(token, "TTS", chunk) is not None
        stage.slot()
    assert refused == 40 - 12
    (said,) = stage.sim.speaker.utterances
    assert (said.label, said.is_whole) == ("Hello", False)
    assert_allclose(said.end_s, 0.12, atol=1e-9)
    # The eyes are released too and keep their last colour.
    eye = stage.sim.leds.state("LeftFaceLeds")
    assert_array_equal(eye, np.tile([0.0, 1.0, 0.0], (8, 1)))
    assert not stage.sim.leds.state("RightFaceLeds").any()
