# %% [markdown]
# # 3 · Identifying the heating model
#
# You need: this checkout with Jupyter, and a minute of a core; to follow the fit, least squares.
#
# The testbed heats its motors with one node of heat capacity $C$, warmed by the winding and cooled by the air:
#
# $$C \frac{dT}{dt} = R\,i^2 - \lambda\,(T - T_e), \qquad i = \tau / K .$$
#
# Where do $R$, $C$, $\lambda$ and $T_e$ come from? From temperatures. This notebook takes them back out of a run, whose truth is known
# (`robot.motors`, from [xu2012]), and then out of a CSV file, as a real robot would give it. On the way:
#
# 1. What can temperatures say, and what can they never say?
# 2. Does a sensor that counts in whole degrees suffice?
# 3. A file as loggers write it: gaps, lost readings, rows out of order.
# 4. What are the numbers worth on data that the fit has not seen?

# %% tags=["parameters"]
joints = (
    "LHipPitch",
    "RHipPitch",
    "LKneePitch",
    "RKneePitch",
    "LAnklePitch",
    "RAnklePitch",
)  # motors of one kind; the first also stands alone
controller = "fixed"  # of the robot that is learnt from: the hotter, the more it says
minutes = 15.0  # simulated time of the run that is learnt from
learn_until_s = 2100.0  # rows of the file up to here are fitted, later ones predicted
ambient_degc = 25.0  # of the air around the motor of the file

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from IPython.display import Markdown

from nao_testbed.experiments import HeatCfg, run_heat
from nao_testbed.experiments.common.drawing.style import FigureView
from nao_testbed.experiments.heat.identification.figures import (
    FittedCurve,
    fit_figure,
    interval_figure,
)
from nao_testbed.experiments.heat.identification.heat_log import (
    heat_log_of_file,
    heat_log_of_run,
)
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.report.notebook_parameters import IdentificationStory
from nao_testbed.models import BadInput, load_robot
from nao_testbed.sim.thermal.identification import fit_one_node

story = IdentificationStory(
    joints=tuple(joints),
    controller=controller,
    minutes=minutes,
    learn_until_s=learn_until_s,
    ambient_degc=ambient_degc,
)
robot = load_robot()
motor = robot.motors[robot.motor_names.index(story.joints[0])]
table = motor.one_node

# %% [markdown]
# ## A run to learn from
#
# A robot with the calibration errors of the preset `document` stands under one controller (`fixed`: full stiffness), and its joints warm
# up, each at its own torque.
# A record is what was measured of one motor: times, temperatures, and the mean of $i^2$ from one row to the next.

# %%
with TemporaryDirectory() as temporary:
    cfg = HeatCfg(
        preset="document", controllers=(story.controller,), minutes=story.minutes
    )
    trial = run_heat(cfg, Path(temporary) / "run").trials[story.controller]
    run = read_log(trial.folder)
    records = {
        seen: [
            heat_log_of_run(run, joint, robot, seen=seen).records[0]
            for joint in story.joints
        ]
        for seen in ("truth", "sensor")
    }
pd.DataFrame(
    {
        joint: {
            "mean current, A": np.sqrt(record.mean_square_current.mean()),
            "first, °C": record.degc[0],
            "last, °C": record.degc[-1],
        }
        for joint, record in zip(story.joints, records["sensor"], strict=True)
    }
).round(2)

# %% [markdown]
# ## 1. What temperatures can say
#
# Divide the equation by $C$: only $R/C$ and $\lambda/C$ are left. A motor with ten times the capacity, resistance and conductance warms
# exactly alike, so **no temperature ever tells the three apart**; a known resistance (a multimeter's) does.
#
# There is a second trap. At a constant current, a strong heater in cool air and a weak one in warm air give the same curve: one joint
# of a robot that stands still cannot tell $R/C$ from $T_e$. Several motors of one kind in the same air, at different currents, can.

# %%
ways = {}
alone = records["sensor"][:1]
try:
    ways["one joint"] = fit_one_node(alone)
except BadInput as error:
    print(f"one joint: {error}")
ways["one joint, air known"] = fit_one_node(alone, ambient_degc=table.ambient_degc)
together = f"{len(story.joints)} joints together"
ways[together] = fit_one_node(records["sensor"])
ways["the same, exact temperatures"] = fit_one_node(records["truth"])

truth = {
    "R/C": table.resistance / table.heat_capacity,
    "λ/C": table.conductance / table.heat_capacity,
    "Tₑ": table.ambient_degc,
}
found = {
    way: {"R/C": fit.heating, "λ/C": fit.rate}
    | ({} if fit.is_ambient_given else {"Tₑ": fit.ambient})
    for way, fit in ways.items()
}
widths = {
    way: 50 * (e["R/C"].high - e["R/C"].low) / truth["R/C"] for way, e in found.items()
}
first = widths.get("one joint")
FigureView(
    interval_figure(
        found,
        truth,
        f"{together} give R/C to ±{widths[together]:.0f} %; one alone "
        + (f"to ±{first:.0f} %" if first and first < 100.0 else "says nothing of it"),
        widest=0.5,
    )
)

# %% [markdown]
# ## 2. A sensor in whole degrees
#
# The NAO's temperature sensors count in steps of 1 °C. Each reading errs by up to half a step, and errs *the same way* until the next
# step: hundreds of rows are worth a few. The intervals (95 %) count rows whose residuals are alike as one.

# %%
fit = ways[together]
curves = [
    FittedCurve(
        name=joint,
        time_s=record.time_s,
        measured_degc=record.degc,
        fitted_degc=record.degc - residual,
    )
    for joint, record, residual in zip(
        story.joints, records["sensor"], fit.residuals, strict=True
    )
]
rise = max(np.ptp(record.degc) for record in records["sensor"])
FigureView(
    fit_figure(
        curves,
        f"Three numbers explain rises of up to {rise:.0f} K to {fit.rms_k:.2f} K rms; "
        f"the sensor's steps make {fit.resolution_k / np.sqrt(12.0):.2f} K",
        fit.resolution_k,
    )
)

# %%
steps_k = fit.resolution_k / np.sqrt(12.0)
n_rows = sum(int(record.is_known.sum()) for record in records["sensor"])
known = fit.with_resistance(table.resistance)
Markdown(
    f"{n_rows} rows are worth {n_rows / fit.rows_per_error:.0f}: residuals stay alike "
    f"over {fit.rows_per_error:.1f} rows. Their rms is {fit.rms_k:.2f} K; steps of "
    f"{fit.resolution_k:g} K alone make {steps_k:.2f} K."
)

# %% [markdown]
# With the table's resistance, $C$ and $\lambda$ come back too. The column `published` is what the simulator ran with: this is a closed
# loop, and shows that the method works, not that the published numbers are right.

# %%
rows = {
    "R/C, K/(s A²)": (fit.heating, truth["R/C"]),
    "λ/C, 1/s": (fit.rate, truth["λ/C"]),
    "C/λ, s": (fit.time_constant, 1.0 / truth["λ/C"]),
    "Tₑ, °C": (fit.ambient, truth["Tₑ"]),
    "C, J/K": (known.heat_capacity, table.heat_capacity),
    "λ, W/K": (known.conductance, table.conductance),
}
comparison = pd.DataFrame(
    {
        name: {
            "fitted": number.value,
            "from": number.low,
            "to": number.high,
            "published": own,
            "within": number.holds(own),
        }
        for name, (number, own) in rows.items()
    }
).T
off = abs(fit.heating.value - truth["R/C"])
assert off < 3.0 * (fit.heating.high - fit.heating.value), "R/C did not come back"
comparison

# %% [markdown]
# ## 3. A file of temperatures
#
# `data/knee_log.csv` looks like the log of a real knee. **It is made, not measured** (`studies/example_log.py`): no
# open record of a NAO's motor temperatures with currents is known to us. It comes from *another* model than the one we fit, with a winding inside a
# housing, so that here the fit cannot be exact; with noise, steps of 1 °C, and the faults of real logs. What can be repaired is, and
# is told; what could mean two things (degrees Fahrenheit, currents in mA) is refused.

# %%
log = heat_log_of_file(read_log(Path("data/knee_log.csv")))
for repair in log.repairs:
    print(f"{repair.kind:>9}: {repair.what}")

# %% [markdown]
# ## 4. Unseen data
#
# The first part is fitted, the rest predicted from its currents alone: the model starts at the end of the first part and never sees
# another temperature.

# %%
last = log.records[-1]
seen = [*log.records[:-1], last.part(end_s=story.learn_until_s)]
file_fit = fit_one_node(seen, ambient_degc=story.ambient_degc)
start = file_fit.start_degc[-1]
whole = file_fit.predict(last, start)
later = (last.time_s > story.learn_until_s) & last.is_known
error = last.degc[later] - whole[later]
curves = [
    FittedCurve(
        name="LKneePitch",
        time_s=record.time_s,
        measured_degc=record.degc,
        fitted_degc=file_fit.predict(record, begin),
        unseen_from_s=story.learn_until_s,
    )
    for record, begin in zip(log.records, file_fit.start_degc, strict=True)
]
FigureView(
    fit_figure(
        curves,
        f"Predicted {(last.time_s[-1] - story.learn_until_s) / 60:.0f} min ahead: "
        f"off by {np.sqrt(np.mean(error**2)):.2f} K rms, "
        f"{np.abs(error).max():.1f} K at most",
        file_fit.resolution_k,
    )
)

# %% [markdown]
# An interval is honest about noise, not about a model that is wrong. The truth of this file has two nodes; seen slowly, they are one
# with the sum of both capacities, and this is what the fit should find. Does it?

# %%
two = motor.two_node
winding = two.time_constant_winding / two.resistance_winding_housing  # J/K
housing = two.time_constant_housing / two.resistance_housing_ambient
resistance = two.joule_constant * motor.torque_constant**2  # R = k Kt²
learnt = file_fit.with_resistance(resistance)
truths = {
    "C, J/K": (learnt.heat_capacity, winding + housing),
    "C/λ, s": (
        file_fit.time_constant,
        (winding + housing) * two.resistance_housing_ambient,
    ),
}
lines = [
    f"- {name}: {n.value:.1f} (from {n.low:.1f} to {n.high:.1f}), slowly seen it is "
    f"{own:.1f}: {'inside' if n.holds(own) else f'{n.value / own - 1.0:+.0%}, outside'}"
    for name, (n, own) in truths.items()
]
Markdown(
    "\n".join(lines)
    + f"\n\nResiduals of {file_fit.rms_k:.2f} K rms hardly tell: noise of 0.3 K and "
    f"steps of 1 K alone make {np.hypot(0.3, np.sqrt(1 / 12)):.2f} K. What the model "
    f"is worth shows in the prediction above, not in the interval."
)

# %% [markdown]
# ## Your turn
#
# - Your own file: `nao-testbed identify LOG.csv --ambient 24`; a run: `nao-testbed identify runs/heat/fixed --joint LHipPitch --joint RHipPitch`.
# - Two joints, three joints: change `joints` above, and see when the interval of the air closes.
# - Your numbers in the robot: `models/nao/heating_one_node.csv`.
