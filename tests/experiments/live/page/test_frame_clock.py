"""Pictures keep their rate whatever drawing one takes."""

import pytest

from nao_testbed.experiments.live.page import scene
from nao_testbed.experiments.live.page.scene import FRAME_S, FrameClock


class Clock:
    """Time that passes only by sleeping and drawing."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0.0
        self.now += seconds


@pytest.mark.parametrize(
    ("drawing_s", "period_s"), [(0.0, FRAME_S), (0.03, FRAME_S), (0.1, 0.1)]
)
def test_drawing_does_not_slow_pictures_until_it_takes_longer_than_one(
    drawing_s: float, period_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(scene, "time", clock)
    frame = FrameClock()
    for _ in range(50):
        clock.now += drawing_s
        frame.wait()
    assert clock.now - 100.0 == pytest.approx(50 * period_s)


def test_pictures_missed_in_a_break_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(scene, "time", clock)
    frame = FrameClock()
    clock.now += 5.0
    frame.wait()
    back = clock.now
    for _ in range(10):
        frame.wait()
    assert clock.now - back == pytest.approx(10 * FRAME_S)
