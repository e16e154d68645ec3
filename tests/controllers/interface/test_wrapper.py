"""Controller wrappers: they extend a controller and forward everything else."""

import copy

import pytest

from nao_testbed.controllers import FixedStiffness, Limits, Observation
from nao_testbed.controllers.interface.controller import ControllerWrapper, has_signals
from nao_testbed.models import Robot
from tests.controllers.helpers import Observe


class Switched(FixedStiffness):
    """Controller with a signal, a switch and a state."""

    signal_names = ("steps",)
    enabled = True

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    @property
    def signals(self) -> tuple[float, ...]:
        return (float(self.steps),)

    def step(self, observation: Observation) -> Limits:
        self.steps += 1
        return super().step(observation)


class Halved(ControllerWrapper):
    """Wrapper that adds an attribute."""

    _factor = 0.5

    @property
    def factor(self) -> float:
        return self._factor

    @factor.setter
    def factor(self, value: float) -> None:
        self._factor = value

    def step(self, observation: Observation) -> Limits:
        return Limits(stiffness=self._factor * super().step(observation).stiffness)


def test_wrapper_extends_the_wrapped_controller(nao: Robot, observe: Observe) -> None:
    inner = Switched()
    outer = Halved(Halved(inner))
    outer.reset(nao)
    assert outer.step(observe(nao)).stiffness.tolist() == [0.25] * 26
    assert outer.name == "fixed"
    assert outer.steps == 1
    assert has_signals(outer)
    assert outer.signals == (1.0,)
    assert not has_signals(Halved(FixedStiffness()))


def test_wrapper_forwards_switches_but_not_own_attributes() -> None:
    inner = Switched()
    outer = Halved(inner)
    outer.enabled = False
    assert inner.enabled is False
    outer.factor = 0.1
    assert outer.factor == 0.1
    assert not hasattr(inner, "factor")
    assert not hasattr(inner, "_factor")


def test_missing_attribute_names_the_wrapped_class() -> None:
    with pytest.raises(AttributeError, match=r"'Switched' .* 'no_such_thing'"):
        _ = Halved(Switched()).no_such_thing


def test_wrapper_can_be_copied() -> None:
    outer = Halved(Switched())
    other = copy.deepcopy(outer)
    other.enabled = False
    assert outer.enabled is True
