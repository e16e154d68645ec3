"""Video of a run: robots on the left, temperatures on the right, events below.

    film = Film(trials, robots, FilmCfg())
    film.write(Path("run.mp4"))

MP4: H.264 at 25 frames per second, for browsers and slides, with the run's sound if it
plays in real time. GIF: smaller, silent, for a README or a message.
"""

import os
import wave
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.experiments.common.drawing.style import COLOURS, INK, SOFT_INK
from nao_testbed.experiments.common.ranges import VideoSpeed
from nao_testbed.experiments.heat.figures.robot_view import (
    BACKGROUND,
    COLDEST_DEGC,
    HOTTEST_DEGC,
    colours_of,
)
from nao_testbed.experiments.report.replay.stage import hottest_text
from nao_testbed.experiments.report.replay.track import dress, pose_robot, slope_deg
from nao_testbed.experiments.report.run_contents import (
    COUNTED_AT_END,
    SHOWN,
    events_of,
)
from nao_testbed.experiments.report.run_source import RecordedTrial
from nao_testbed.experiments.report.video.chart import Chart
from nao_testbed.experiments.report.video.stage import stages_of
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.files import convert_write_errors
from nao_testbed.sim.effectors import SOUND_FILE

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame


FPS = 25
"""Frames per second of an MP4."""
GIF_FPS = 10
GIF_WIDTH = 960
"""Width of a GIF in pixels: README pages show at most 900."""
LONGEST_GIF_S = 12.0
WIDTH, HEIGHT = 1280, 720
HEAD, FOOT = 68, 108
"""Pixel rows above the robots (titles and clock) and below them (names, scale,
events)."""
HEAD_LINES = 24, 49
MARGIN = 20
STAGE_WIDTH = 560
"""Preferred width of a robot."""
CHART_WIDTH = 420
"""Minimum width of the temperature charts."""
GAP = 3
"""Gap between two robots."""
MOST_ROBOTS = 4
LONGEST_S = 60.0
"""Longest video in s with a derived speed, unless it has sound."""
LONGEST_SOUND_S = 300.0
"""Longest run in s that is shown in real time because of its sound."""
SPEEDS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 240.0)
LAST_S = 1.0
"""Time in s for which the last picture is shown."""
TOLD_S = 3.0
"""Time in s for which an event is shown."""
CALM = {"crf": "20", "preset": "veryfast"}
"""Options of x264: visually lossless, and cheaper than drawing."""


@dataclass(frozen=True, kw_only=True)
class FilmCfg(Checked):
    """Options of a video."""

    speed: VideoSpeed | None = None
    """Playback speed over real time; None: 1 if the run has sound, otherwise the
    smallest of `SPEEDS` at which the video lasts at most a minute, a GIF 12 s."""
    is_gif: bool = False
    """True: write an animated GIF instead of an MP4."""

    @property
    def suffix(self) -> str:
        """File suffix of the format."""
        return ".gif" if self.is_gif else ".mp4"

    @property
    def fps(self) -> int:
        """Frames per second."""
        return GIF_FPS if self.is_gif else FPS


class Film:
    """Video of a run."""

    def __init__(
        self,
        trials: Sequence[RecordedTrial],
        robots: Mapping[str, Robot],
        cfg: FilmCfg,
        titles: tuple[str, str] = ("", ""),
    ) -> None:
        """Read the motions of the robots.

        Args:
            trials: recorded trials, with rows.
            robots: robots by name of the trial.
            cfg: options.
            titles: bold title, and the line below.

        Raises:
            BadInput: there are too many robots, or rows lack data.
        """
        if not 1 <= len(trials) <= MOST_ROBOTS:
            raise BadInput(
                f"the run has {len(trials)} robots with rows; a video shows 1 to "
                f"{MOST_ROBOTS}. Give the folder of one of them."
            )
        self.cfg = cfg
        self._end_s = max(float(trial.frame.index[-1]) for trial in trials)
        is_silent = cfg.is_gif or self._end_s > LONGEST_SOUND_S
        self.sound = None if is_silent else _sound_of(trials)
        longest_s = LONGEST_GIF_S if cfg.is_gif else LONGEST_S
        self.speed = cfg.speed or (
            1.0 if self.sound is not None else _speed(self._end_s, longest_s)
        )
        if self.speed != 1.0:
            self.sound = None
        step_s = self.speed / cfg.fps
        n = max(int(np.ceil(self._end_s / step_s)), 1)
        self._grid_s = np.minimum(np.arange(n + 1) * step_s, self._end_s)
        self._motions = [
            pose_robot(trial, dress(trial, robots[trial.name]), self._grid_s)
            for trial in trials
        ]
        self._slope_deg = slope_deg(trials[0])
        told = [
            (t, text if len(trials) == 1 else f"{trial.name}: {text}")
            for trial in trials
            for t, text in events_of(trial, SHOWN - {COUNTED_AT_END})
        ]
        self._events = sorted(told)
        self._title, self._lead = titles

    @property
    def frames(self) -> int:
        """Number of pictures."""
        return len(self._grid_s) + round(LAST_S * self.cfg.fps)

    def write(
        self, path: Path, on_progress: Callable[[int], None] = lambda _: None
    ) -> None:
        """Write the file; replace an existing one.

        Args:
            path: file with the suffix of the format.
            on_progress: function called with the number of finished frames.

        Raises:
            WriteError: the operating system refuses.
        """
        suffix = self.cfg.suffix
        unfinished = path.with_name(f".{path.stem}.{os.getpid()}{suffix}")
        try:
            with convert_write_errors(path):
                if self.cfg.is_gif:
                    self._write_gif(unfinished, on_progress)
                else:
                    self._write_mp4(unfinished, on_progress)
                unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def _write_mp4(self, path: Path, on_progress: Callable[[int], None]) -> None:
        import av  # noqa: PLC0415  # an extra

        with av.open(path, "w", options={"movflags": "faststart"}) as file:
            file.metadata["comment"] = "made by nao-testbed"
            video = file.add_stream("libx264", rate=FPS, options=CALM)
            video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            sound = _sound_frames(self.sound)
            heard = None
            if sound:
                rate = sound[0].sample_rate
                heard = file.add_stream("aac", rate=rate, layout="mono")
            for i, picture in enumerate(self.pictures()):
                frame = av.VideoFrame.from_ndarray(np.asarray(picture), "rgb24")
                frame.pts, frame.time_base = i, Fraction(1, FPS)
                file.mux(video.encode(frame))
                while heard and sound and (sound[0].time or 0.0) <= i / FPS:
                    file.mux(heard.encode(sound.popleft()))
                on_progress(i + 1)
            file.mux(video.encode(None))
            if heard:
                file.mux(heard.encode(None))

    def _write_gif(self, path: Path, on_progress: Callable[[int], None]) -> None:
        """Write a looping GIF; all frames share one palette, without dithering.

        Unchanged pixels then stay equal, and each frame stores only what has moved.
        """
        size = GIF_WIDTH, round(GIF_WIDTH * HEIGHT / WIDTH)
        small = []
        for i, picture in enumerate(self.pictures()):
            small.append(picture.resize(size, Image.Resampling.LANCZOS))
            on_progress(i + 1)
        palette = _palette(small[-1])
        frames = [
            one.quantize(palette=palette, dither=Image.Dither.NONE) for one in small
        ]
        frames[0].save(
            path,
            save_all=True,
            append_images=frames[1:],
            duration=1000 // self.cfg.fps,
            loop=0,
            comment="made by nao-testbed",
        )

    def pictures(self) -> Iterator[Image.Image]:
        """Yield one picture after the other; the same object if nothing has changed."""
        n = len(self._motions)
        stage_width = min(STAGE_WIDTH, (WIDTH - CHART_WIDTH - 2 * MARGIN) // n)
        height = HEIGHT - HEAD - FOOT
        chart_left = n * stage_width + MARGIN
        chart = Chart(
            self._motions, self._grid_s, WIDTH - chart_left - MARGIN, HEIGHT - HEAD - 50
        )
        stages = stages_of(self._motions, stage_width - GAP, height, self._slope_deg)
        picture = paper = _paper(self._title, self._lead, n * stage_width)
        try:
            for i, time_s in enumerate(self._grid_s.tolist()):
                picture = paper.copy()
                draw = ImageDraw.Draw(picture)
                picture.paste(chart.picture(i), (chart_left, HEAD))
                for k, (stage, motion) in enumerate(
                    zip(stages, self._motions, strict=True)
                ):
                    left = k * stage_width
                    picture.paste(stage.picture(i), (left, HEAD))
                    text = hottest_text(motion.name, motion.body.robot, motion.degc[i])
                    middle = left + stage_width / 2.0
                    draw.text(
                        (middle, HEAD + height + 8),
                        text,
                        INK,
                        font=_fitting(text, 17, stage_width - 8),
                        anchor="ma",
                    )
                    if motion.said[i]:
                        _bubble(draw, motion.said[i], middle, HEAD + 8, stage_width)
                self._tell(draw, time_s)
                yield picture
            for _ in range(round(LAST_S * self.cfg.fps)):
                yield picture
        finally:
            for stage in stages:
                stage.close()

    def _tell(self, draw: ImageDraw.ImageDraw, time_s: float) -> None:
        """Draw the clock and the events."""
        clock = f"{_clock(time_s, self._end_s)} of {_clock(self._end_s, self._end_s)}"
        speed = "real time" if self.speed == 1.0 else f"{self.speed:g} × real time"
        draw.text(
            (WIDTH - MARGIN, HEAD_LINES[0]),
            clock,
            INK,
            font=_font(20),
            anchor="rm",
        )
        draw.text(
            (WIDTH - MARGIN, HEAD_LINES[1]),
            speed,
            SOFT_INK,
            font=_font(14),
            anchor="rm",
        )
        since = time_s - TOLD_S * self.speed
        now = [text for t, text in self._events if since < t <= time_s]
        if now:
            more = f"  (and {len(now) - 1} more)" if len(now) > 1 else ""
            text = _cut(now[-1] + more, WIDTH - 2 * MARGIN, 16)
            draw.text((MARGIN, HEIGHT - 10), text, INK, font=_font(16), anchor="ls")


def _palette(picture: Image.Image) -> Image.Image:
    """Return an image with 256 colours for a picture, temperatures and curves."""
    degc = np.linspace(COLDEST_DEGC, HOTTEST_DEGC, picture.width)
    scale = (255.0 * colours_of(degc)).astype(np.uint8)
    curves = np.array([ImageColor.getrgb(colour) for colour in COLOURS], np.uint8)
    bands = curves[np.arange(picture.width) * len(curves) // picture.width]
    rows = picture.height // 2
    parts = [np.tile(part, (rows, 1, 1)) for part in (scale, bands)]
    image = Image.fromarray(np.vstack([np.asarray(picture), *parts]), "RGB")
    return image.quantize(256, dither=Image.Dither.NONE)


def _speed(end_s: float, longest_s: float) -> float:
    return next((one for one in SPEEDS if end_s <= one * longest_s), SPEEDS[-1])


def _sound_of(trials: Sequence[RecordedTrial]) -> Path | None:
    """Return the first readable sound of a robot, or None."""
    for trial in trials:
        path = trial.run.folder / SOUND_FILE
        try:
            with wave.open(str(path)) as file:
                is_mono = file.getnchannels() == 1
            if is_mono:
                return path
        except (OSError, EOFError, wave.Error):
            continue
    return None


def _sound_frames(path: Path | None) -> "deque[AudioFrame]":
    import av  # noqa: PLC0415  # an extra

    if path is None:
        return deque()
    with av.open(path) as file:
        return deque(file.decode(audio=0))


def _clock(time_s: float, end_s: float) -> str:
    if end_s < 180.0:
        return f"{time_s:.1f} s"
    minutes, seconds = divmod(int(time_s), 60)
    return f"{minutes}:{seconds:02}"


def _paper(title: str, lead: str, stage_width: int) -> Image.Image:
    """Return the constant background: titles and the temperature scale."""
    paper = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(paper)
    ground = tuple((255.0 * BACKGROUND).astype(int).tolist())
    draw.rectangle((0, HEAD, stage_width - 1, HEIGHT - FOOT - 1), fill=ground)
    font = _font(20, is_bold=True)
    draw.text((MARGIN, HEAD_LINES[0]), title, INK, font=font, anchor="lm")
    lead = _cut(lead, WIDTH - 220, 14)
    draw.text((MARGIN, HEAD_LINES[1]), lead, SOFT_INK, font=_font(14), anchor="lm")
    degc = np.linspace(COLDEST_DEGC, HOTTEST_DEGC, 240)
    bar = np.tile((255.0 * colours_of(degc)).astype(np.uint8), (10, 1, 1))
    top, left = HEIGHT - FOOT + 44, (stage_width - 240) // 2
    paper.paste(Image.fromarray(bar, "RGB"), (left, top))
    low, high = f"{COLDEST_DEGC:.0f} °C", f"{HOTTEST_DEGC:.0f} °C"
    font = _font(14)
    draw.text((left - 8, top + 5), low, SOFT_INK, font=font, anchor="rm")
    draw.text((left + 248, top + 5), high, SOFT_INK, font=font, anchor="lm")
    return paper


def _bubble(
    draw: ImageDraw.ImageDraw, text: str, middle: float, top: float, width: int
) -> None:
    """Draw the spoken text above a robot."""
    font = _font(16)
    text = _cut(text, width - 40, 16)
    half = font.getlength(text) / 2.0 + 12.0
    draw.rounded_rectangle(
        (middle - half, top, middle + half, top + 30.0),
        radius=12,
        fill="white",
        outline=SOFT_INK,
    )
    draw.text((middle, top + 15.0), text, INK, font=font, anchor="mm")


def _font(size: int, *, is_bold: bool = False) -> ImageFont.FreeTypeFont:
    from matplotlib import font_manager  # noqa: PLC0415  # heavy

    weight = "bold" if is_bold else "normal"
    name = font_manager.FontProperties(family="DejaVu Sans", weight=weight)
    return ImageFont.truetype(font_manager.findfont(name), size)


def _fitting(text: str, size: int, width: int) -> ImageFont.FreeTypeFont:
    """Return the largest font up to a size in which a text fits a width in pixels."""
    font = _font(size)
    while size > 9 and font.getlength(text) > width:
        size -= 1
        font = _font(size)
    return font


def _cut(text: str, width: int, size: int) -> str:
    """Shorten a text to one line that fits a width in pixels."""
    text = " ".join(text.split())
    font = _font(size)
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(text + "…") > width:
        text = text[:-1]
    return text.rstrip() + "…"
