"""Fenced blocks of the README and of `docs/`, and their comparison with a run.

The language of a block is its kind: `console` (commands behind `$`, and what they
print), `python`, `yaml`, `toml`, and `text` (what the Python block before it prints, or
one of a few that tests know by name). `...` in output matches anything: values that
depend on the machine or on time, and omitted text.
"""

import re
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")),
)
LANGUAGES = frozenset({"console", "python", "text", "toml", "yaml"})

MINUTES = "takes minutes or hours"
SERVER = "serves until it is ended, or asks such a server"
FOLDER = "reads a folder that takes minutes to make"
CLUSTER = "needs a cluster"
INSTALL = "changes the environment"

NOT_RUN: Mapping[str, str] = MappingProxyType(
    {
        "make *": MINUTES,
        "nao-testbed heat --preset document *": MINUTES,
        "nao-testbed heat --controllers fixed,constant:0.3,smart *": MINUTES,
        "nao-testbed heat --misalign LAnklePitch=2.0": MINUTES,
        "nao-testbed heat --posture *": MINUTES,
        "nao-testbed heat --protection document *": MINUTES,
        "nao-testbed heat --robot runs/cool *": MINUTES,
        "nao-testbed heat *--policy *": "needs the file of a policy",
        "nao-testbed study hand-guiding *": MINUTES,
        "nao-testbed study xray-calibration *": MINUTES,
        "for s in * scenario run *": MINUTES,
        "nao-testbed sweep fifty_robots": MINUTES,
        "nao-testbed sweep push_survival *": MINUTES,
        "nao-testbed sweep misalignments": MINUTES,
        "nao-testbed study stand-30 *": MINUTES,
        "python -m tests.sim.motions.degree_off *": MINUTES,
        "nao-testbed heat *--exact --minutes 2 *": MINUTES,
        "nao-testbed replay runs/exact*": FOLDER,
        "python -m benchmarks*": MINUTES,
        "nao-testbed xray --trials 330 *": MINUTES,
        "nao-testbed live*": SERVER,
        "nao-testbed naoqi serve*": SERVER,
        "python examples/naoqi/wave.py *": SERVER,
        "nao-testbed naoqi run --address naoqi://*": SERVER,
        "nao-testbed resources *": SERVER,
        "nao-testbed report * --video": MINUTES,
        "nao-testbed report runs/four_controllers --gif": FOLDER,
        "nao-testbed report runs/sweeps/*": FOLDER,
        "nao-testbed report * runs/emergency *": FOLDER,
        "nao-testbed identify runs/heat/fixed *": FOLDER,
        "nao-testbed robot --from-urdf robots/*": "reads a package",
        "nao-testbed * --robot my_g1*": FOLDER,
        "nao-testbed xray lab.csv *": FOLDER,
        "nao-testbed report * --to rerun": "needs rerun-sdk, which is not in the lock",
        "nao-testbed sweep * --scheduler tcp://HOST:8786": CLUSTER,
        "nao-testbed sweep * --scheduler tcp://LOGIN:8786": CLUSTER,
        "nao-testbed sweep * --scheduler tcp://127.0.0.1:8786": CLUSTER,
        "dask *": CLUSTER,
        "sbatch *": CLUSTER,
    }
)
"""Commands (`*` matches anything) to the reason why they are not run."""

NOT_EXECUTED: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("docs/measured/engines.md", "frame = read_sweep("): FOLDER,
        (
            "docs/start/your_robot.md",
            'import pandas as pd\n\ntable = pd.read_csv("my_g1/joints',
        ): FOLDER,
        (
            "docs/start/your_robot.md",
            'import pandas as pd\n\ntable = pd.read_csv("my_g1/postures',
        ): FOLDER,
        ("docs/measured/prediction.md", "import dataclasses"): MINUTES,
        (
            "docs/reference/training.md",
            "import torch",
        ): "test_training_in_mjlab.py runs it",
        (
            "docs/guides/regression_kit.md",
            "import pytest",
        ): "test_page.py of the kit runs it",
        (
            "docs/reference/cluster.md",
            "from pathlib import Path\n\nfrom nao_testbed import read_spec, run_sweep",
        ): CLUSTER,
        (
            "docs/start/tour.md",
            "import pytest",
        ): "half a minute; the kit's page has its like",
        (
            "docs/start/first_controller.md",
            "import pytest",
        ): "an example of a mark; the kit's tests run such tests",
    }
)
"""Page and start of Python blocks to the reason why they are not run."""

TEXTS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("docs/start/install.md", "pip install"): INSTALL,
        ("docs/start/your_robot.md", "pip install"): INSTALL,
        ("docs/start/your_robot.md", "typical_postures"): "a part of robot.yaml",
        ("docs/start/first_controller.md", "pip install"): INSTALL,
        ("README.md", "Comparison with"): "a part of a console block of the first run",
        ("docs/concepts/stiffness_law.md", "|tau|"): "an equation",
        (
            "docs/guides/regression_kit.md",
            "chatterbox",
        ): "test_packages.py of the kit prints it",
        ("docs/guides/scenarios.md", "# yaml-language-server"): "a comment for editors",
        (
            "docs/guides/sweeps.md",
            "00000-hangs",
        ): "of foreign code; test_hanging_trials.py",
        ("docs/reference/cluster.md", "error: the worker"): CLUSTER,
    }
)
"""Page and start of texts that no Python block prints to their kind."""

_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command line of a page and its shown output."""

    line: str
    """Without comment, `.venv` folder and line breaks."""
    printed: str
    """Empty if the page shows no output."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words as split by the shell."""
        return tuple(shlex.split(self.line))


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    """Line number of its first line, from 1."""
    language: str
    text: str

    def __str__(self) -> str:
        """Return its location."""
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of a console block."""
        return tuple(
            Command(line=_plain(line), printed=printed.strip("\n"))
            for line, printed in _COMMAND.findall(self.text)
        )


def _plain(line: str) -> str:
    joined = line.replace("\\\n", " ")
    without_comment = re.sub(r"\s+#.*$", "", joined)
    return re.sub(r" +", " ", without_comment.replace(".venv/bin/", "")).strip()


@cache
def blocks_of(page: str) -> tuple[Block, ...]:
    """Return the blocks of a page in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return tuple(
        Block(
            page=page,
            line=text.count("\n", 0, found.start(3)) + 1,
            language=found[2],
            text=textwrap.dedent(found[3]),
        )
        for found in _BLOCK.finditer(text)
    )


def all_blocks(language: str) -> tuple[Block, ...]:
    """Return the blocks of one language, page by page."""
    return tuple(b for page in PAGES for b in blocks_of(page) if b.language == language)


def is_listed(block: Block, listed: Mapping[tuple[str, str], str]) -> bool:
    """Return True if a list names the page and the start of a block."""
    return any(
        block.page == page and block.text.startswith(text) for page, text in listed
    )


def reason(command: Command) -> str | None:
    """Return why a command is not run."""
    found = (why for words, why in NOT_RUN.items() if fnmatchcase(command.line, words))
    return next(found, None)


def appears(shown: str, printed: str) -> bool:
    """Return True if the printed lines match the page.

    Spaces and rules may differ in length: a table is as wide as its content. The
    last of four or more digits may differ by one, because processors round differently:
    15 minutes of PyBullet gave 9519.4 J on one and 9520.0 J on another.
    """
    parts = [re.escape(_even(part)) for part in re.split(r"\.\.\.", shown)]
    pattern = r" ?.*? ?".join(_NUMBER.sub(_about, part.strip()) for part in parts)
    return bool(re.search(rf"(?ms)^{pattern}$", _even(printed)))


_NUMBER = re.compile(r"(?<![\w.])\d+(?:\\\.\d+)?(?![\w.])")
"""A number in an escaped text."""


def _about(number: re.Match[str]) -> str:
    """Return a pattern of a number of four digits or more and of its neighbours."""
    text = number[0].replace("\\", "")
    if sum(map(str.isdigit, text)) < 4:
        return number[0]
    value = Decimal(text)
    unit = Decimal(1).scaleb(-len(text.partition(".")[2]))
    near = (re.escape(str(value + k * unit)) for k in (-1, 0, 1))
    return f"(?:{'|'.join(near)})"


def _even(text: str) -> str:
    """Return a text with single spaces, short rules and no empty lines."""
    lines = (" ".join(re.sub("─+", "─", line).split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
