"""`report --video`: the picture, timing and sound of the film."""

import dataclasses
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from PIL.GifImagePlugin import GifImageFile

from nao_testbed.experiments.cli import main
from nao_testbed.experiments.common.output_files import is_own_output
from nao_testbed.experiments.heat.figures.robot_view import HOTTEST_DEGC, colours_of
from nao_testbed.experiments.report.replay.track import RobotTrack, dress, pose_robot
from nao_testbed.experiments.report.run_source import RecordedTrial, read_source
from nao_testbed.experiments.report.video import film as film_module
from nao_testbed.experiments.report.video.chart import Chart
from nao_testbed.experiments.report.video.film import (
    FPS,
    GIF_FPS,
    HEIGHT,
    WIDTH,
    Film,
    FilmCfg,
)
from nao_testbed.experiments.report.video.stage import Stage, stages_of
from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.models.files import WriteError
from nao_testbed.sim.effectors import SOUND_FILE, write_wav
from nao_testbed.sim.engine.world import Camera, Rendering
from nao_testbed.sim.recording.run_folder import Event

av = pytest.importorskip("av", reason="PyAV is not installed: the extra video")

NAO = load_robot()


@pytest.fixture(scope="module")
def trials(heat_folder: Path) -> tuple[RecordedTrial, ...]:
    return read_source(heat_folder).trials


def robots_of(trials: tuple[RecordedTrial, ...]) -> dict[str, Robot]:
    return {trial.name: NAO for trial in trials}


def heard(
    trial: RecordedTrial, folder: Path, *tones: tuple[float, float]
) -> RecordedTrial:
    """Return the robot with a sound file: 440 Hz between the given times in s."""
    rate = 16_000
    time = np.arange(int(float(trial.frame.index[-1]) * rate)) / rate
    loud = np.zeros(len(time))
    for begin, end in tones:
        loud[(time >= begin) & (time < end)] = 12_000.0
    samples = (loud * np.sin(2.0 * np.pi * 440.0 * time)).astype(np.int16)
    write_wav(folder / SOUND_FILE, samples, rate)
    events = [
        Event(
            kind=kind,
            time_s=time_s,
            data={"unit": "sound", "stream": k, "label": "Hello there"},
        )
        for k, tone in enumerate(tones)
        for kind, time_s in zip(("StreamStarted", "StreamEnded"), tone, strict=True)
    ]
    run = dataclasses.replace(trial.run, folder=folder, events=tuple(events))
    return dataclasses.replace(trial, run=run)


@pytest.fixture(scope="module")
def undrawn() -> Any:
    """Films without rendered robots; other tests render them."""

    class Blank:
        def __init__(self, width: int, height: int) -> None:
            self._picture = Image.new("RGB", (width, height), "white")

        def picture(self, i: int) -> Image.Image:
            return self._picture

        def close(self) -> None:
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            film_module,
            "stages_of",
            lambda motions, width, height, _slope: (
                [Blank(width, height)] * len(motions)
            ),
        )
        yield


def pictures(path: Path) -> list[NDArray[np.uint8]]:
    with av.open(str(path)) as file:
        return [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]


@pytest.mark.slow(covers=True)
def test_film_has_the_duration_and_sound_of_the_run(
    trials: tuple[RecordedTrial, ...], tmp_path: Path, undrawn: None
) -> None:
    trial = heard(trials[0], tmp_path, (0.5, 1.0), (2.0, 2.2))
    film = Film([trial], {trial.name: NAO}, FilmCfg(), ("Bold", "below"))
    assert film.speed == 1.0
    done: list[int] = []
    film.write(tmp_path / "film.mp4", done.append)
    assert done == list(range(1, film.frames + 1))
    end_s = float(trial.frame.index[-1])
    with av.open(str(tmp_path / "film.mp4")) as file:
        (video,), (audio,) = file.streams.video, file.streams.audio
        assert (video.codec_context.name, video.average_rate) == ("h264", FPS)
        assert (video.width, video.height) == (WIDTH, HEIGHT)
        assert float(video.duration * video.time_base) == pytest.approx(
            end_s + 1.0, abs=2.0 / FPS
        )
        parts = [part.to_ndarray()[0] for part in file.decode(audio=0)]
        wave, rate = np.concatenate(parts), audio.rate
    loud = [
        float(np.abs(wave[int(a * rate) : int(b * rate)]).mean()) > 0.05
        for a, b in ((0.1, 0.4), (0.6, 0.9), (1.1, 1.9), (2.06, 2.14), (2.4, 2.8))
    ]
    assert loud == [False, True, False, True, False]
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.slow(covers=True)
def test_film_shows_the_spoken_text(
    trials: tuple[RecordedTrial, ...], tmp_path: Path, undrawn: None
) -> None:
    """The bubble is above the robot while it speaks, and is absent otherwise."""
    trial = heard(trials[0], tmp_path, (0.5, 1.0))
    shown = list(Film([trial], {trial.name: NAO}, FilmCfg()).pictures())
    silent, speaks = (
        np.asarray(shown[round(t * FPS)])[: HEIGHT // 4, : WIDTH // 3]
        for t in (0.2, 0.7)
    )
    assert (speaks != silent).any(axis=2).sum() > 200
    again = np.asarray(shown[round(1.4 * FPS)])[: HEIGHT // 4, : WIDTH // 3]
    np.testing.assert_array_equal(again, silent)


@pytest.mark.slow(covers=True)
def test_faster_film_is_silent_and_shorter(
    trials: tuple[RecordedTrial, ...], tmp_path: Path, undrawn: None
) -> None:
    trial = heard(trials[0], tmp_path, (0.5, 1.0))
    film = Film([trial], {trial.name: NAO}, FilmCfg(speed=4.0))
    assert film.sound is None
    film.write(tmp_path / "film.mp4")
    with av.open(str(tmp_path / "film.mp4")) as file:
        assert not file.streams.audio
    end_s = float(trial.frame.index[-1])
    assert len(pictures(tmp_path / "film.mp4")) == film.frames
    assert film.frames / FPS == pytest.approx(end_s / 4.0 + 1.0, abs=2.0 / FPS)


@pytest.mark.parametrize(
    ("end_s", "speed"),
    [(3.0, 1.0), (60.0, 1.0), (61.0, 2.0), (900.0, 15.0), (1e6, 240)],
)
def test_silent_film_lasts_at_most_a_minute(end_s: float, speed: float) -> None:
    assert film_module._speed(end_s, film_module.LONGEST_S) == speed


@pytest.mark.slow(covers=True)
def test_gif_is_small_silent_and_loops(
    trials: tuple[RecordedTrial, ...],
    tmp_path: Path,
    undrawn: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)  # a GIF needs no extra
    trial = heard(trials[0], tmp_path, (0.5, 1.0))
    film = Film([trial], {trial.name: NAO}, FilmCfg(is_gif=True))
    assert film.sound is None
    film.write(tmp_path / "film.gif")
    with GifImageFile(tmp_path / "film.gif") as gif:
        assert (gif.size, gif.info["loop"]) == ((960, 540), 0)
        last_s = 0.0
        for k in range(gif.n_frames):
            gif.seek(k)
            last_s += gif.info["duration"] / 1000.0
    end_s = float(trial.frame.index[-1])
    assert last_s == pytest.approx(end_s + 1.0, abs=2.0 / GIF_FPS)
    assert is_own_output(tmp_path / "film.gif")


@pytest.mark.slow(covers=True)
def test_damaged_sound_gives_a_silent_film(
    trials: tuple[RecordedTrial, ...], tmp_path: Path
) -> None:
    trial = heard(trials[0], tmp_path, (0.5, 1.0))
    (tmp_path / SOUND_FILE).write_bytes(b"RIFF....")
    assert Film([trial], {trial.name: NAO}, FilmCfg()).sound is None


def test_too_many_robots_are_refused(trials: tuple[RecordedTrial, ...]) -> None:
    five = [dataclasses.replace(trials[0], name=f"robot {i}") for i in range(5)]
    with pytest.raises(BadInput, match="5 robots with rows; a video shows 1 to 4"):
        Film(five, {trial.name: NAO for trial in five}, FilmCfg())
    with pytest.raises(BadInput, match="0 robots with rows"):
        Film([], {}, FilmCfg())


@pytest.mark.slow(covers=True)
def test_interrupted_film_keeps_the_existing_file(
    trials: tuple[RecordedTrial, ...], tmp_path: Path, undrawn: None
) -> None:
    film = Film(trials[:1], robots_of(trials), FilmCfg())
    (tmp_path / "film.mp4").write_text("an older one", "utf-8")

    def stop(done: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        film.write(tmp_path / "film.mp4", stop)
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]
    assert (tmp_path / "film.mp4").read_text("utf-8") == "an older one"
    with pytest.raises(WriteError):
        film.write(tmp_path / "none" / "film.mp4")


@pytest.fixture(scope="module")
def motion(trials: tuple[RecordedTrial, ...]) -> RobotTrack:
    """Robot that stands and warms up, then lies on its back."""
    trial = trials[0]
    motion = pose_robot(trial, dress(trial, NAO), np.array([0.0, 1.0, 2.0, 3.0]))
    degc = np.full_like(motion.degc, 30.0)
    degc[1:, NAO.joint_index("LKneePitch")] = HOTTEST_DEGC
    rotation, position = motion.rotation.copy(), motion.position.copy()
    q = motion.q.copy()
    q[:], position[:], rotation[:] = q[0], position[0], rotation[0]
    rotation[3] = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    position[3] = [-0.2, 0.0, 0.1]
    return dataclasses.replace(
        motion, degc=degc, rotation=rotation, position=position, q=q, lamps=()
    )


@pytest.fixture(scope="module")
def stage(motion: RobotTrack) -> Any:
    (stage,) = stages_of([motion], 240, 300, 0.0)
    yield stage
    stage.close()


@pytest.mark.slow(covers=True)
def test_warm_joint_has_the_colour_of_the_scale(stage: Stage) -> None:
    cold, warm = (np.asarray(stage.picture(i)).astype(int) for i in (0, 1))
    changed = np.abs(warm - cold).max(axis=2) > 60
    assert 20 < changed.sum() < 2000
    hue = warm[changed] / warm[changed].max(axis=1, keepdims=True)
    wanted = colours_of(np.array(HOTTEST_DEGC))
    np.testing.assert_allclose(np.median(hue, axis=0), wanted / wanted.max(), atol=0.06)


@pytest.mark.slow(covers=True)
def test_resting_robot_is_not_rendered_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.picture(0)
    drawn: list[Camera] = []
    render = stage._drawn.render

    def count(camera: Camera) -> Rendering:
        drawn.append(camera)
        return render(camera)

    monkeypatch.setattr(stage._drawn, "render", count)
    for i in (1, 2, 0):
        stage.picture(i)
    assert drawn == []
    stage.picture(3)
    assert drawn


@pytest.mark.slow(covers=True)
def test_robot_is_completely_visible_in_the_whole_run(stage: Stage) -> None:
    for i in (0, 3):
        stage.picture(i)
        seen = stage._drawn.render(stage._camera).link >= 0
        assert seen.sum() > 0.02 * seen.size
        border = np.concatenate([seen[0], seen[-1], seen[:, 0], seen[:, -1]])
        assert not border.any()


@pytest.mark.slow(covers=True)
def test_future_part_of_the_chart_is_faint(motion: RobotTrack) -> None:
    chart = Chart([motion], np.array([0.0, 1.0, 2.0, 3.0]), 400, 300)
    first, later, last = (np.asarray(chart.picture(i)).astype(int) for i in (0, 2, 3))
    assert first.shape == (300, 400, 3)
    ink = [int((image.min(axis=2) < 200).sum()) for image in (first, later, last)]
    assert ink[0] < ink[1] < ink[2]
    columns = np.flatnonzero((later != last).any(axis=(0, 2)))
    assert columns.min() > 400 * 0.4  # the past is unchanged


@pytest.fixture
def report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    def run(*words: str) -> tuple[int, str, str]:
        line = ["nao-testbed", "report", "--no-replay", *words]
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


@pytest.mark.slow(covers=True)
def test_command_names_its_files(
    report: Callable[..., tuple[int, str, str]],
    copy_of: Callable[[str], Path],
    undrawn: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "nao_testbed.experiments.report.write.heat_figures", lambda *_: []
    )
    run = copy_of("run")
    (run / "report.mp4").write_text("made elsewhere", "utf-8")
    status, out, err = report(str(run), "--video")
    assert status == 2
    assert "--overwrite to replace it" in err
    (run / "report.gif").write_text("made elsewhere", "utf-8")
    assert report(str(run), "--gif")[2].startswith("error: --gif ")
    words = ["--video", "--video-speed", "2", "--overwrite"]
    status, out, err = report(str(run), *words)
    assert (status, err) == (0, "")
    assert out == f"{run / 'report.html'}\n{run / 'report.mp4'}\n"
    assert len(pictures(run / "report.mp4")) == pytest.approx(
        3.0 / 2.0 * FPS + FPS, abs=2
    )
    one, two = run / "fixed", run / "smart"
    page = tmp_path / "both.html"
    words = [str(one), str(two), "--out", str(page), "--video", "--json", "-"]
    status, out, err = report(*words)
    assert (status, err) == (0, "")
    names = [Path(path).name for path in json.loads(out)["videos"]]
    assert names == ["both-fixed.mp4", "both-smart.mp4"]
    assert all((tmp_path / name).stat().st_size > 1000 for name in names)


def test_invalid_video_options_are_refused(
    report: Callable[..., tuple[int, str, str]],
    copy_of: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "nao_testbed.experiments.report.write.heat_figures", lambda *_: []
    )
    run = copy_of("run")
    status, _, err = report(str(run), "--video-speed", "0")
    assert (status, err) == (2, "error: --video-speed = 0.0; give 0.1 to 1000.\n")
    (run / "report.mp4").mkdir()
    status, _, err = report(str(run), "--video")
    assert status == 2
    assert "--video" in err
    assert not (run / "report.html").exists()
    shutil.rmtree(run / "report.mp4")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "av", None)
        status, _, err = report(str(run), "--video")
    assert status == 2
    assert "pip install '.[video]'" in err
    status, _, err = report(str(run), "--video", "--gif")
    assert status == 2
    assert "--video and --gif exclude each other" in err
