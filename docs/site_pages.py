"""Hook of the documentation site: pages made from the program, links out of `docs/`.

    hooks: [docs/site_pages.py]   # in mkdocs.yml

MkDocs calls `on_files` and `on_page_markdown`. The pages are the command line, the
columns of a run, and the keys of scenario and sweep files; they read the same objects
as the program.
The references and the changelog are files at the top of the repository, which become
pages too. Any other link out of `docs/` becomes text that names the file: the site has
no copy of the code.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nao_testbed import load_robot
from nao_testbed.controllers.interface.robot_interface import READINGS
from nao_testbed.experiments.cli import app
from nao_testbed.experiments.closed_loop.recording import channels
from nao_testbed.experiments.scenarios.reading.behaviours import BehaviourForm
from nao_testbed.experiments.scenarios.reading.scenario_file import (
    ReservationsForm,
    ScenarioFile,
    SimulationForm,
    TransmitterForm,
    WorldForm,
)
from nao_testbed.experiments.scenarios.vocabulary.conditions import CONDITIONS
from nao_testbed.experiments.scenarios.vocabulary.events import ACTIONS
from nao_testbed.experiments.scenarios.vocabulary.expectations import EXPECTATIONS
from nao_testbed.experiments.sweep.spec_file import (
    DrawnPushForm,
    FastForwardForm,
    KeepForm,
    SweepFile,
    SweepPushForm,
)
from nao_testbed.models.files.documented import field_docs

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = {"REFERENCES.md": "references.md", "CHANGELOG.md": "changes.md"}
"""File at the top of the repository to the page that shows it."""
FIELDS = "<!-- fields of an observation -->"
"""Where a page shows `observation_fields`."""
_OF_EVENTS = frozenset({"name", "at_s", "when", "after_s"})
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s:]*)\)")
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages that no file of `docs/` holds."""
    from mkdocs.structure.files import File  # noqa: PLC0415  # tests read pages without it

    pages = {
        "reference/command_line.md": command_line_page(),
        "reference/run_columns.md": run_columns_page(),
        "reference/scenario_keys.md": scenario_keys_page(),
        "reference/sweep_keys.md": sweep_keys_page(),
        **{
            page: (ROOT / name).read_text(encoding="utf-8")
            for name, page in FROM_ROOT.items()
        },
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: "Page", **_: Any) -> str:
    """Fill in the fields of an observation, and rewrite links out of `docs/`."""
    filled = markdown.replace(FIELDS, "\n".join(observation_fields()))
    return mend_links(filled, page.file.src_uri)


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
    is_named = Path(target).name in label or label.strip("`/") in target
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


def observation_fields() -> list[str]:
    """Return the table of the fields of an `Observation`, with those of the NAO."""
    robot = load_robot()
    rows = [("`time_s`", "s", "", "Time since the start.")]
    for name, one in READINGS.items():
        members = one.members(robot) or ()
        shape = f"{len(members)}: `{members[0]}` ..." if members else ""
        rows.append((f"`{name}`", one.unit, shape, _text(one.about)))
    return _table(("field", "unit", "elements (NAO)", "meaning"), rows)


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


def scenario_keys_page() -> str:
    """Return the keys of a scenario file, section by section."""
    sections: dict[str, type[BaseModel]] = {
        "File": ScenarioFile,
        "world": WorldForm,
        "simulation": SimulationForm,
        "reservations": ReservationsForm,
        "transmitter": TransmitterForm,
        "behaviours": BehaviourForm,
    }
    lines = [
        "# Keys of a scenario file",
        "",
        "This page is generated from the program. `nao-testbed scenario words` prints "
        "the motions, sounds and behaviours of the robot too. The "
        "[guide](../guides/scenarios.md) shows whole files.",
    ]
    for title, form in sections.items():
        lines += ["", f"## {title}", "", _text(form.__doc__), "", *_keys(form)]
    lines += ["", "## Conditions", "", *_words(CONDITIONS)]
    first = next(iter(ACTIONS.values()))
    shared = [name for name in first.model_fields if name in _OF_EVENTS]
    lines += ["", "## Events", "", "Every event has these keys, and one action.", ""]
    lines += [*_keys(first, shared), "", *_words(ACTIONS, shared)]
    return "\n".join([*lines, "", "## Expectations", "", *_words(EXPECTATIONS), ""])


def sweep_keys_page() -> str:
    """Return the keys of a sweep file, and those of its parts."""
    parts: dict[str, type[BaseModel]] = {
        "push": DrawnPushForm,
        "pushes": SweepPushForm,
        "keep": KeepForm,
        "fast_forward": FastForwardForm,
    }
    lines = [
        "# Keys of a sweep file",
        "",
        "This page is generated from the program. The [guide](../guides/sweeps.md) "
        "shows whole files. A number may be a value, a list, or a distribution: "
        "`{uniform: [low, high]}`, `{normal: [mean, deviation], clip: [low, high]}`, "
        "`{choice: [a, b]}`.",
        "",
        *_keys(SweepFile),
    ]
    for title, form in parts.items():
        lines += ["", f"## {title}", "", _text(form.__doc__), "", *_keys(form)]
    return "\n".join(lines) + "\n"


def _keys(form: type[BaseModel], names: Iterable[str] | None = None) -> list[str]:
    """Return the table of a form's keys; `names` selects some of them."""
    fields = form.model_fields
    rows = [
        (
            f"`{fields[name].alias or name}`",
            _default(fields[name]),
            _about(form, name),
        )
        for name in (names or fields)
    ]
    return _table(("key", "default", "meaning"), rows)


def _words(
    forms: Mapping[str, type[BaseModel]], hidden: Iterable[str] = ()
) -> list[str]:
    """Return the table of words, each followed by the keys that stand beside it."""
    rows = []
    for word, form in forms.items():
        doc = _text((form.__doc__ or "").partition("\n")[0])
        others = []
        for name, field in form.model_fields.items():
            below, key, about = (
                field.annotation,
                field.alias or name,
                _about(form, name),
            )
            if key == word:
                doc = f"{doc} Value: {about}" if about else doc
            elif name not in hidden:
                others.append((f"`{key}`", about))
            if isinstance(below, type) and issubclass(below, BaseModel):
                others += [
                    (f"`{key}.{one.alias or inner}`", _about(below, inner))
                    for inner, one in below.model_fields.items()
                ]
        rows += [(f"**`{word}`**", doc), *others]
    return _table(("word", "meaning"), rows)


def _about(form: type[BaseModel], name: str) -> str:
    """Return the docstring of a field, or its description."""
    said = form.model_fields[name].description
    return _text(said or field_docs(form).get(name))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    plain = isinstance(field.default, bool | int | float | str)
    return f"`{field.default}`" if plain else ""


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = tuple(heads)
    lines = [heads, tuple("---" for _ in heads), *map(tuple, rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _text(text: str | None) -> str:
    """Return a text on one line, as Markdown shows it unchanged."""
    plain = " ".join((text or "").split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([|*\[\]_])", r"\\\1", plain) if "`" not in plain else plain
