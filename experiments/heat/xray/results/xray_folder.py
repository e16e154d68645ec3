"""Folder of an X-ray, which `nao-testbed report` shows as a page."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from nao_testbed.experiments.common.drawing.page import DataTable
from nao_testbed.experiments.common.drawing.style import save_figure
from nao_testbed.experiments.common.options import json_text
from nao_testbed.experiments.heat.xray.results.figure import xray_figure
from nao_testbed.experiments.heat.xray.results.tables import (
    advice_text,
    headline,
    tables,
)
from nao_testbed.experiments.heat.xray.xray import Xray, XrayCfg
from nao_testbed.models import BadInput
from nao_testbed.models.files import read_text, write_text
from nao_testbed.sim.recording.run_folder import create_run_folder
from nao_testbed.sim.recording.run_meta import describe_run, robot_data, write_meta

FILE, FIGURE = "xray.json", "xray.svg"
CAPTION = (
    "Needed and useless heat of the leg motors, and the errors that explain it with "
    "their 95 % intervals."
)


class XrayPage(NamedTuple):
    """Contents of a page about an X-ray."""

    summary: str
    """Diagnosis and cooler stance, in sentences."""
    tables: tuple[DataTable, ...]


def write_xray_folder(found: Xray, cfg: XrayCfg, folder: Path) -> Path:
    """Write a new folder with the result, its tables and its figure; return its path.

    Raises:
        BadInput: the folder cannot be written.
    """
    made = create_run_folder(folder.parent, folder.name)
    robot = found.model.robot
    meta = describe_run(
        experiment="xray",
        robot=robot.name,
        seed=0,
        config=cfg,
        command=sys.argv,
        robot_data=robot_data(robot),
    )
    page = {
        "summary": f"{headline(found)}\n{advice_text(found)}".strip(),
        "tables": [asdict(table) for table in tables(found)],
    }
    write_text(made / FILE, json_text({**found.as_json(), "page": page}))
    settings = {"log": found.standing.name, "feet": cfg.assumptions.feet}
    save_figure(xray_figure(found), made / FIGURE, headline(found), settings)
    write_meta(made, replace(meta, state="done", rows=0))
    return made


def read_xray_folder(folder: Path) -> XrayPage:
    """Read the contents of the page.

    Raises:
        BadInput: the file of the result is missing or damaged.
    """
    path = folder / FILE
    try:
        data = json.loads(read_text(path))["page"]
        return TypeAdapter(XrayPage).validate_python(data)
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        why = "it is no result of an X-ray"
    raise BadInput(f"{path} cannot be read: {why}; write it by `xray LOG --out DIR`.")
