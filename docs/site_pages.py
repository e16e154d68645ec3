"""Hook of the documentation site: pages made from the program, links out of `docs/`.

    hooks: [docs/site_pages.py]   # in mkdocs.yml

MkDocs calls `on_files` and `on_page_markdown`. The pages are the command line, the
columns of a run and the words of a scenario; they read the same objects as the program.
The references and the changelog are files at the top of the repository, which become
pages too. Any other link out of `docs/` becomes text that names the file: the site has
no copy of the code.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pydantic import BaseModel

from nao_testbed import load_robot
from nao_testbed.experiments.cli import app
from nao_testbed.experiments.closed_loop.recording import channels
from nao_testbed.experiments.scenarios.vocabulary.conditions import CONDITIONS
from nao_testbed.experiments.scenarios.vocabulary.events import ACTIONS
from nao_testbed.experiments.scenarios.vocabulary.expectations import EXPECTATIONS

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = {"REFERENCES.md": "references.md", "CHANGELOG.md": "changes.md"}
"""File at the top of the repository to the page that shows it."""
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s:]*)\)")
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file of `docs/` holds."""
    pages = {
        "reference/command_line.md": command_line_page(),
        "reference/run_columns.md": run_columns_page(),
        "reference/scenario_words.md": scenario_words_page(),
        **{
            page: (ROOT / name).read_text(encoding="utf-8")
            for name, page in FROM_ROOT.items()
        },
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Rewrite the links of a page that lead out of `docs/`."""
    return mend_links(markdown, page.file.src_uri)


def mend_links(text: str, page: str) -> str:
    """Return a page's text in which each link leads to a page or names a file.

    Args:
        text: Markdown; fenced blocks stay as they are.
        page: path of the page below `docs/`.
    """
    origin = {new: old for old, new in FROM_ROOT.items()}.get(page, f"docs/{page}")
    mend = partial(_mended, page=page, folder=posixpath.dirname(origin))
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(mend, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(mend, text[end:])])


def _mended(link: re.Match[str], page: str, folder: str) -> str:
    label, (path, hash_, anchor) = link[1], link[2].partition("#")
    if not path:
        return link[0]
    target = posixpath.normpath(posixpath.join(folder, path))
    if target in FROM_ROOT:
        target = f"docs/{FROM_ROOT[target]}"
    if target == "README.md":
        target = "docs/index.md"
    if target.startswith("docs/") and target.endswith((".md", ".png")):
        start = posixpath.dirname(page) or "."
        relative = posixpath.relpath(target.removeprefix("docs/"), start)
        return f"[{label}]({relative}{hash_}{anchor})"
    if target.startswith("tests/"):
        return f'<span title="{target}">{label.replace("_", "_<wbr>")}</span>'
    is_named = Path(target).name in label
    return label if is_named else f"{label} (`{target}`)"


# --- pages made from the program ------------------------------------------------------


def command_line_page() -> str:
    """Return every command with its arguments, options and defaults."""
    lines = [
        "# Command line",
        "",
        "This page is generated from the program. `nao-testbed COMMAND --help` prints "
        "the same. Exit status: 0 done, 1 the run ended in a stated failure, 2 bad "
        "input.",
    ]
    for words, command in _commands(typer.main.get_command(app), "nao-testbed"):
        lines += ["", f"## {words}", "", _text(command.help)]
        rows = [_parameter(one) for one in command.params if _is_shown(one)]
        if rows:
            lines += ["", *_table(("argument or option", "default", "meaning"), rows)]
    return "\n".join(lines) + "\n"


def _commands(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Yield a command and those below it, in the order of `--help`."""
    yield words, command
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from _commands(below, f"{words} {name}")


def _is_shown(parameter: Any) -> bool:
    return not getattr(parameter, "hidden", False)


def _parameter(parameter: Any) -> tuple[str, str, str]:
    """Return the name, the default and the meaning of an argument or option."""
    metavar = parameter.metavar or ""
    if parameter.param_type_name == "argument":
        name = metavar or parameter.name.upper()
    else:
        name = " / ".join([*parameter.opts, *parameter.secondary_opts])
        name = f"{name} {metavar}".strip()
    default = parameter.default
    is_plain = default not in (None, False, "") and not callable(default)
    return f"`{name}`", f"`{default}`" if is_plain else "", _text(parameter.help)


def run_columns_page() -> str:
    """Return the channels of a run, with their units and columns."""
    robot = load_robot()
    rows = []
    for one in channels(robot, with_leds=True, signals=("...",)):
        columns = one.columns
        shown = f"`{columns[0]}`" + (
            f" and {len(columns) - 1} more" * (len(columns) > 1)
        )
        rows.append((f"`{one.name}`", one.unit, shown, _text(one.about)))
    return "\n".join(
        [
            "# Columns of a run",
            "",
            "This page is generated from the program, for the NAO. A run folder holds "
            "these columns as Parquet; `read_run(folder).frame` returns them as one "
            "table, and `read_run(folder).channel(name)` returns one channel. A row is "
            "one control period. `leds` and `signal` are there where a run has them.",
            "",
            *_table(("channel", "unit", "columns", "meaning"), rows),
            "",
        ]
    )


def scenario_words_page() -> str:
    """Return the conditions, events and expectations of a scenario file."""
    lines = [
        "# Words of a scenario file",
        "",
        "This page is generated from the program. `nao-testbed scenario words` prints "
        "the motions, sounds and behaviours of the robot too. The "
        "[guide](../guides/scenarios.md) shows whole files.",
    ]
    forms: dict[str, Mapping[str, type[BaseModel]]] = {
        "Conditions": CONDITIONS,
        "Events": ACTIONS,
        "Expectations": EXPECTATIONS,
    }
    for title, kinds in forms.items():
        rows = [
            (
                f"`{key}`",
                ", ".join(
                    f"`{field.alias or name}`" + ("" if field.is_required() else "?")
                    for name, field in form.model_fields.items()
                ),
                _text((form.__doc__ or "").partition("\n")[0]),
            )
            for key, form in kinds.items()
        ]
        lines += ["", f"## {title}", ""]
        lines += _table(("word", "keys (`?`: may be left out)", "meaning"), rows)
    return "\n".join(lines) + "\n"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = tuple(heads)
    lines = [heads, tuple("---" for _ in heads), *map(tuple, rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _text(text: str | None) -> str:
    """Return a text on one line, as Markdown shows it unchanged."""
    plain = " ".join((text or "").split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([|*\[\]_])", r"\\\1", plain) if "`" not in plain else plain
