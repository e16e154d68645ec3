"""What was played, in a row for each unit; synchronous groups start at one line."""

from collections.abc import Sequence

from controllers.sync.transmitter.words import EndReason
from experiments.report.figure_style import INK, SOFT_INK
from experiments.report.timeline.canvas import BAR, LETTER, THIN, Canvas
from experiments.report.timeline.colours import BROKEN, OWNER_COLOURS
from experiments.report.timeline.spans import Span, SpanKind
from experiments.report.timeline.streams import GroupStart, StreamSpan
from models.library import Library, Unit

WELL = frozenset({None, EndReason.DONE, EndReason.REPLACED})
"""Ends of a stream that nobody need look at."""
INDEPENDENT = "#9aa4ae"
"""Colour of streams of no group."""


def draw_outputs(
    canvas: Canvas,
    streams: Sequence[StreamSpan],
    starts: Sequence[GroupStart],
    library: Library,
) -> None:
    """Draw the streams of each unit: hatched while they wait, then what they play.

    Args:
        canvas: where.
        streams: of all units.
        starts: of synchronous groups.
        library: with the colours of light patterns.
    """
    groups = dict.fromkeys(s.group for s in streams if s.group is not None)
    tint = {
        group: OWNER_COLOURS[-1 - i % len(OWNER_COLOURS)]
        for i, group in enumerate(groups)
    }
    top = canvas.y
    for unit in Unit:
        of_unit = [s for s in streams if s.unit is unit]
        if not of_unit:
            continue
        begin = canvas.y
        for lane in _lanes(of_unit):
            canvas.begins = [stream.received_s for stream in lane]
            for stream in lane:
                _draw_stream(canvas, stream, tint, library)
            canvas.y += BAR + 0.02
        canvas.next_row(begin, unit.value)
    free = 0.0
    for start in starts:
        canvas.axes.plot(
            [start.time_s] * 2, [top - 0.06, canvas.y], color=INK, lw=1.4, zorder=4
        )
        if start.time_s < free:
            continue  # the label before it is still there
        text = f"▾ {start.group}"
        free = start.time_s + canvas.seconds((len(text) + 1) * LETTER * 7.0)
        canvas.axes.text(
            start.time_s,
            top - 0.08,
            text,
            fontsize=7,
            color=INK,
            ha="left",
            va="bottom",
        )


def _lanes(streams: Sequence[StreamSpan]) -> list[list[StreamSpan]]:
    lanes: list[list[StreamSpan]] = []
    for stream in sorted(streams, key=lambda s: (s.received_s, s.end_s)):
        for lane in lanes:
            if lane[-1].end_s <= stream.received_s + 1e-9:
                lane.append(stream)
                break
        else:
            lanes.append([stream])
    return lanes


def _draw_stream(
    canvas: Canvas, stream: StreamSpan, tint: dict[str, str], library: Library
) -> None:
    colour = INDEPENDENT if stream.group is None else tint[stream.group]
    start = stream.end_s if stream.start_s is None else stream.start_s
    if start > stream.received_s:
        waits = (stream.received_s, start - stream.received_s)
        canvas.axes.broken_barh(
            [waits],
            (canvas.y + 0.5 * (BAR - THIN), THIN),
            facecolor="white",
            edgecolor=colour,
            hatch="/////",
            lw=0.6,
        )
    if stream.start_s is not None:
        _draw_playing(canvas, stream, stream.start_s, colour, library)
    if stream.reason is not None and stream.reason not in WELL:
        canvas.axes.plot(stream.end_s, canvas.y + 0.5 * BAR, "x", color=BROKEN, ms=5)
        why = stream.reason.value
        text = f"{stream.label}: {why}" if start == stream.end_s else why
        _write_beside(canvas, stream, text, BROKEN)


def _draw_playing(
    canvas: Canvas, stream: StreamSpan, start_s: float, colour: str, library: Library
) -> None:
    pattern = library.lights.get(stream.label)
    if stream.unit is Unit.LIGHT and pattern is not None:
        canvas.strip(pattern, start_s, stream.end_s)
        _write_beside(canvas, stream, stream.label)
        return
    text = f"“{stream.label}”" if stream.unit is Unit.SOUND else stream.label
    span = Span(
        name=stream.label, start_s=start_s, end_s=stream.end_s, kind=SpanKind.HOLDS
    )
    has_room = canvas.bar(span, BAR, text, colour)
    if not has_room and stream.reason in WELL:
        _write_beside(canvas, stream, text)


def _write_beside(
    canvas: Canvas, stream: StreamSpan, text: str, colour: str = SOFT_INK
) -> None:
    """Write at the right of a bar, unless the next one is there."""
    room = canvas.seconds(LETTER * 7.0 * (len(text) + 1))
    if canvas.free_until(stream.end_s) < stream.end_s + room:
        return
    canvas.axes.text(
        stream.end_s + canvas.seconds(0.05),
        canvas.y + 0.5 * BAR,
        text,
        fontsize=7,
        color=colour,
        va="center_baseline",
    )
