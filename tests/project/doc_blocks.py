"""Fenced blocks of the README and of `docs/`, and how they are compared with a run.

The language of a block says what it is: `console` (commands behind `$`, and what they
print), `python`, `yaml`, `toml`, and `text` (what the Python block before it prints, or
one of a few that tests know by name). `...` in what is printed stands for anything: for
what depends on the machine or on time, and for what was left out.
"""

import re
import shlex
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in ROOT.glob("docs/*.md")))
LANGUAGES = frozenset({"console", "python", "text", "toml", "yaml"})

_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A line that a reader types, and what the page shows of its output."""

    line: str
    """Without its comment, the folder of `.venv`, and the breaks of the line."""
    printed: str
    """Empty: the page does not say."""

    @property
    def words(self) -> tuple[str, ...]:
        """What the shell makes of it."""
        return tuple(shlex.split(self.line))


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    """Of its first line in the page, counted from 1."""
    language: str
    text: str

    def __str__(self) -> str:
        """Return where it stands."""
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


def appears(shown: str, printed: str) -> bool:
    """Return whether whole lines of what was printed read as the page shows them.

    Spaces and rules may be of another length: a table is as wide as what is in it.
    """
    parts = [re.escape(_even(part)) for part in re.split(r"\.\.\.", shown)]
    pattern = r" ?.*? ?".join(part.strip() for part in parts)
    return bool(re.search(rf"(?ms)^{pattern}$", _even(printed)))


def _even(text: str) -> str:
    """Return a text with single spaces, short rules and no empty lines."""
    lines = (" ".join(re.sub("─+", "─", line).split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
