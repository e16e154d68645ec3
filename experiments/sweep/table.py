"""All trials of a sweep as one table, with what they were made of in its metadata.

sweep = read_sweep(Path("runs/ankles"))
sweep.frame.groupby("controller").legs_power_w.median()
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.sweep.store import TrialRecord, sweep_meta
from models import BadInput
from models.files import told_if_not_written

if TYPE_CHECKING:
    import pandas as pd

TABLE_FILE = "table.parquet"
METADATA_KEY = b"nao_testbed.sweep"
"""Of the Parquet schema's metadata: JSON with spec, versions, commit and seed."""
OUTCOMES = (
    "fell",
    "failure",
    "legs_joule_loss_j",
    "legs_power_w",
    "least_power_w",
    "least_with_gears_w",
    "largest_shift_deg",
    "settled_s",
    "left_leg_rise_k",
    "right_leg_rise_k",
    "shut_down_s",
    "sim_s",
    "physics_s",
    "wall_s",
)
"""Fields of `ArmResult` that are columns."""
JOINT_OUTCOMES = ("end_degc", "rise_k", "joule_loss_j")
"""Fields of `JointResult` that are columns, as `end_degc.LAnklePitch`."""
_TEXTS = ("failure", "error", "hottest_joint", "commit", "trial")


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """A sweep that has run, wholly or in part."""

    frame: "pd.DataFrame"
    """A row a trial: parameters, then outcomes; NaN and None where there is none."""
    spec: str
    """The text of the sweep file."""
    meta: Mapping[str, Any]
    """Name, seed, number of robots, names of the grid's and of the drawn columns,
    versions of all packages, commit, time of the start."""


def row_of(record: TrialRecord) -> dict[str, Any]:
    """Return a trial's row of the table, column by column."""
    row: dict[str, Any] = {
        "trial": record.key,
        "robot": record.robot,
        **record.parameters,
        "noise_seed": record.seed,
        "error": record.error,
    }
    result = record.result or {}
    row.update({name: result.get(name) for name in OUTCOMES})
    joints: Mapping[str, Mapping[str, Any]] = result.get("joints", {})
    if joints:
        hottest = max(joints, key=lambda name: joints[name]["end_degc"])
        row |= {
            "hottest_joint": hottest,
            "hottest_degc": joints[hottest]["end_degc"],
        }
    row["trial_s"] = record.wall_s
    row["commit"] = record.commit
    for field in JOINT_OUTCOMES:
        row |= {f"{field}.{name}": joint[field] for name, joint in joints.items()}
    return row


def frame_of(
    rows: Sequence[Mapping[str, Any]], columns: Iterable[str]
) -> "pd.DataFrame":
    """Return rows as a frame with fitting types, also where all outcomes are missing.

    Args:
        rows: from `row_of`.
        columns: of the parameters, which the frame has even without a row.
    """
    import pandas as pd  # noqa: PLC0415  # heavy

    names = ["trial", "robot", *columns, "noise_seed", "error", *OUTCOMES]
    for row in rows:
        names += [name for name in row if name not in names]
    names = list(dict.fromkeys(names))
    frame = pd.DataFrame([dict(row) for row in rows], columns=names)
    for name in OUTCOMES:
        if name == "fell":
            frame[name] = frame[name].astype("boolean")
        elif name not in _TEXTS:
            frame[name] = frame[name].astype("float64")
    for name in _TEXTS:
        if name in frame:
            frame[name] = frame[name].astype("string")
    return frame


def write_table(folder: Path, frame: "pd.DataFrame", meta: Mapping[str, Any]) -> Path:
    """Write a sweep's table in one move and return its path.

    Raises:
        NotWritten: the operating system refuses.
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    table = pa.Table.from_pandas(frame, preserve_index=False)
    text = json.dumps(meta, ensure_ascii=False, allow_nan=False)
    known = table.schema.metadata or {}
    table = table.replace_schema_metadata({**known, METADATA_KEY: text.encode()})
    path = folder / TABLE_FILE
    unfinished = path.with_name(f"{path.name}.tmp")
    with told_if_not_written(path):
        pq.write_table(table, unfinished)
        unfinished.replace(path)
    return path


def read_sweep(path: Path | str) -> Sweep:
    """Read a sweep's table.

    Args:
        path: of the folder, or of the table in it.

    Raises:
        BadInput: there is none, or it is no table of a sweep.
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    path = Path(path)
    file = path / TABLE_FILE if path.is_dir() else path
    if not file.is_file():
        raise BadInput(
            f"there is no table {file}; give the folder of a sweep that has run: "
            "nao-testbed sweep SPEC writes it, also after Ctrl-C."
        )
    try:
        table = pq.read_table(file)
        text = (table.schema.metadata or {})[METADATA_KEY]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read: {error}.") from error
    except KeyError:
        raise BadInput(
            f"{file} is no table of a sweep: its metadata have no "
            f"{METADATA_KEY.decode()!r}."
        ) from None
    meta = sweep_meta(file, text)
    spec = str(meta.pop("spec"))
    frame = table.to_pandas()
    _check_columns(file, frame)
    for name in OUTCOMES:  # what an older version did not know yet
        if name not in frame:
            frame[name] = float("nan")
    return Sweep(frame=frame, spec=spec, meta=meta)


def _check_columns(file: Path, frame: "pd.DataFrame") -> None:
    """Refuse a table that no sweep has written.

    Raises:
        BadInput: a column is missing, or holds something else.
    """
    for name in ("trial", "robot", "controller", "error"):
        if name not in frame:
            raise BadInput(f"{file} is damaged: it has no column {name}.")
    fields = tuple(f"{field}." for field in JOINT_OUTCOMES)
    for name in map(str, frame.columns):
        values = frame[name]
        is_outcome = name in {"robot", *OUTCOMES} or name.startswith(fields)
        if name in _TEXTS or not is_outcome:
            continue
        is_number = values.dtype.kind in "fiub" or bool(values.isna().all())
        if not is_number:
            raise BadInput(f"{file} is damaged: its column {name} holds no numbers.")
