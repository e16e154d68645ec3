"""Record a run, and open it in pandas with one line.

    frame = read_run("runs/heat/fixed").frame

opens any run folder, even that of a killed process. The index is the simulated time in
s; columns are named `channel.member`, such as `q.LKneePitch`.

Rows are not evenly spaced: one every 20 ms, but one a second in fast-forward, without
physics. A mean over rows is therefore not a mean over time; weight each row with the
time since the previous row. The argument is a run folder; without it, the lesson
records a short run.
"""

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nao_testbed import HeatCfg, read_run, run_heat


def record(base: Path) -> Path:
    """Record a robot with a misaligned ankle for two minutes; return its run folder."""
    cfg = HeatCfg(
        minutes=2.0, controllers=("fixed",), misalignment_deg={"LAnklePitch": 2.0}
    )
    result = run_heat(cfg, base / "lesson")
    return Path(result.trials["fixed"].folder or "")


def show(folder: Path) -> None:
    """Print the contents of a run folder."""
    frame = read_run(folder).frame  # the one line

    run = read_run(folder)  # the same folder, with its further contents
    meta = run.meta
    print(f"{meta.experiment} of {meta.robot}, seed {meta.seed}: {run.state}")
    print(f"{len(frame)} rows, {frame.shape[1]} columns, to {frame.index[-1]:.0f} s")
    channels = dict.fromkeys(column.partition(".")[0] for column in frame.columns)
    print(f"channels: {', '.join(channels)}")
    kinds = Counter(event.kind for event in run.events)
    print(
        f"events: {', '.join(f'{n} {kind}' for kind, n in kinds.items()) or 'none'}\n"
    )

    temperature = run.channel("true_temperature")
    hottest = temperature.iloc[-1].nlargest(5).index
    minute = np.ceil(temperature.index.to_numpy() / 60.0).astype(int)
    print("the five hottest motors at the end of each minute, °C")
    by_minute = temperature[hottest].groupby(minute).last().rename_axis("minute")
    print(by_minute.to_string(float_format="{:.1f}".format))

    squares = run.channel("motor_torque")[hottest] ** 2
    step_s = frame.index.to_series().diff().fillna(0.0)
    mean = squares.mul(step_s, axis=0).sum() / step_s.sum()
    print("\nmean squared motor torque (heating), in N²m²")
    print(f"{'':<12}{'over time':>11}{'over rows':>11}")
    for name in hottest:
        print(f"{name:<12}{mean[name]:11.3f}{squares[name].mean():11.3f}")


def main() -> None:
    if len(sys.argv) > 1:
        show(Path(sys.argv[1]))
        return
    with TemporaryDirectory() as base:
        show(record(Path(base)))


if __name__ == "__main__":
    main()
