"""Write a page about two short runs that opens in any browser, without a network.

One HTML file holds tables, figures, settings and 3-D replays; readers need no further
software. All contents come from the run folders, now or a year later: `nao-testbed
report FOLDER FOLDER --out two_robots.html` does the same. With a folder as argument,
the lesson keeps the page there.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from nao_testbed import HeatCfg, read_run, run_heat, write_report
from nao_testbed.experiments import ReportCfg


def record(controller: str, folder: Path) -> Path:
    """Record a robot on a slope for six seconds; return its run folder."""
    cfg = HeatCfg(
        minutes=0.1,
        controllers=(controller,),
        misalignment_deg={"LAnklePitch": 2.0},
        slope_deg=3.0,
    )
    trial = run_heat(cfg, folder / f"lesson-{controller}").trials[controller]
    print(
        f"{controller}: {trial.sim_s:.0f} s, legs {trial.legs_power_w:.2f} W at the end"
    )
    return Path(trial.folder or "")


def main(folder: Path) -> None:
    runs = (record("fixed", folder), record("smart", folder))

    # The replay shows where the robots were: rows hold the true pose of the base.
    frame = read_run(runs[0]).frame
    x, z = (frame[f"base_position.{axis}"].iloc[-1] for axis in "xz")
    print(f"base of the first robot at x = {x:.3f} m, z = {z:.3f} m when the run ended")

    page = write_report(ReportCfg(runs=runs, out=folder / "two_robots.html"))
    print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB, for any browser")

    # The page makes no request: it forbids them itself.
    assert "default-src 'none'" in page.read_text(encoding="utf-8")


if len(sys.argv) > 1:
    main(Path(sys.argv[1]))
else:
    with TemporaryDirectory() as scratch:
        main(Path(scratch))
