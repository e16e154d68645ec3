"""Pictures keep their rate, independent of the drawing time."""

import pytest

from nao_testbed.experiments.live.page import scene
from nao_testbed.experiments.live.page.scene import FRAME_S, FrameClock


class Clock:
    """Clock that advances only by sleeping and drawing."""

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
def test_frame_period_is_kept_unless_drawing_takes_longer(
    drawing_s: float, period_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(scene, "time", clock)
    frame = FrameClock()
    for _ in range(50):
        clock.now += drawing_s
        frame.wait()
    assert clock.now - 100.0 == pytest.approx(50 * period_s)


def test_frames_missed_in_a_pause_are_skipped(
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
