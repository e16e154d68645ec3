"""Programs for a NAO, run against `naoqi serve`: `python -m benchmarks.naoqi_programs`.

Each program is a separate process, written from the published API [naoqi-api]. It says
what it has seen in sensors, events and answers. The result of a program is

    right     all that it expects was seen
    refused   the server said what it does not simulate, as expected
    wrong     anything else: another value, another error, an end by the time limit

`short` and `longer` hold the programs: a line with `##` and the name precedes each one.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.naoqi_clients import start_server
from benchmarks.naoqi_programs import longer, short

LONGEST_S = 120.0
"""Time limit of a program in s."""
START = """
import sys, time, threading
import qi, almath
qi.logging.setLevel(qi.logging.FATAL)
app = qi.Application(["program", "--qi-url=" + sys.argv[1]])
app.start()
session = app.session
motion, memory, posture, speech, leds = map(session.service, (
    "ALMotion", "ALMemory", "ALRobotPosture", "ALTextToSpeech", "ALLeds"))
def until(true, seconds=60):
    end = time.time() + seconds
    while not true() and time.time() < end:
        time.sleep(0.02)
    return true()
def angle(joint):
    return motion.getAngles(joint, True)[0]
def near(a, b, by=0.05):
    return abs(a - b) < by
"""
PROGRAMS: Mapping[str, str] = {
    name: code
    for table in (short.PROGRAMS, longer.PROGRAMS)
    for name, code in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", table, re.MULTILINE)
}
"""Programs by name; each sets what it has `seen` and what is `expected`."""
REFUSED = frozenset(
    {
        "words are recognised",
        "a face is tracked",
        "a preference is read",
        "a microphone records",
        "face detection",
        "photo capture",
        "tracker",
    }
)
"""Programs that need a part that is not simulated."""
END = """
print("RIGHT" if seen == expected else "WRONG %r, not %r" % (seen, expected))
"""


@contextmanager
def serving(speed: float) -> Iterator[str]:
    """Start `naoqi serve` and give its address; end it afterwards.

    Args:
        speed: simulated seconds per second.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        start_server(Path(folder), "--speed", f"{speed:g}") as (server, url),
    ):
        try:
            yield url
        finally:
            server.terminate()


def run_program(name: str, url: str) -> tuple[str, str]:
    """Run a program; return right, refused or wrong, and what it said."""
    code = START + PROGRAMS[name] + END
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, url],
            capture_output=True,
            encoding="utf-8",
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "wrong", f"not done after {LONGEST_S:g} s"
    lines = [*done.stderr.splitlines(), *done.stdout.splitlines()] or ["nothing"]
    refusals = [line for line in lines if "not simulated: " in line]
    if name in REFUSED:
        return "refused" if refusals else "wrong", (refusals or lines)[-1]
    said = [line for line in lines if line.startswith(("RIGHT", "WRONG"))]
    return ("right", "") if said == ["RIGHT"] else ("wrong", (said or lines)[-1])
