# %% [markdown]
# # 2 · Where the heat comes from
#
# You need: this checkout with Jupyter, notebook 1, and a minute of a core.
#
# Notebook 1 ends with a robot whose legs make far more heat than its posture needs. Where does the rest come from, and what ends it?
#
# 1. One joint is misaligned. Why do joints of the *other* leg get hot?
# 2. How many ways are there to fight? Six.
# 3. The limit caps the fight. Set-points that give way end it: `nudge` and `minheat`.
# 4. How close to the least possible is that, and what does it cost in posture?

# %% tags=["parameters"]
joint = "LAnklePitch"  # the one that is misaligned
misalignment_deg = 2.0
controllers = ("fixed", "smart", "nudge", "minheat")  # held against the first
minutes = 0.35  # simulated time of each robot; they settle within it
seed = 0  # of the sensor noise

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from IPython.display import Markdown

from nao_testbed.experiments import HeatCfg, run_heat
from nao_testbed.experiments.closed_loop.leg_forces import find_internal_forces
from nao_testbed.experiments.common.drawing.style import FigureView
from nao_testbed.experiments.heat.figures.charts import (
    internal_figure,
    joint_shifts_figure,
    legs_power_of,
    power_figure,
)
from nao_testbed.experiments.report.notebook_parameters import ForceStory
from nao_testbed.models import load_robot
from nao_testbed.sim import read_run

story = ForceStory(
    joint=joint,
    misalignment_deg=misalignment_deg,
    controllers=tuple(controllers),
    minutes=minutes,
    seed=seed,
)
reference, *others = story.controllers
robot = load_robot()
names = list(robot.joint_names)

# %% [markdown]
# ## Four robots, one bad joint
#
# All alike but for the controller: `fixed` holds its set-points with all its torque; `smart` is the document's limit; `nudge` does what teams
# do, it moves the set-point of the joint with the highest current by a small step, again and again; `minheat` computes the contact
# forces that cost the least, and moves set-points until the legs have them.

# %%
with TemporaryDirectory() as temporary:
    result = run_heat(
        HeatCfg(
            minutes=story.minutes,
            controllers=story.controllers,
            misalignment_deg={story.joint: story.misalignment_deg},
            seed=story.seed,
        ),
        Path(temporary) / "bad-joint",
    )
    run = {name: read_run(trial.folder) for name, trial in result.trials.items()}
    rows_read = {name: len(one.frame) for name, one in run.items()}
assert not any(trial.fell for trial in result.trials.values())
pd.DataFrame(
    {
        name: {
            "stepped with physics, s": trial.physics_s,
            "settled after, s": trial.settled_s,
            "rows": rows_read[name],
        }
        for name, trial in result.trials.items()
    }
)

# %% [markdown]
# ## 1. Who works?
#
# The true angles are those of the encoders plus their errors. With them, the contact forces that cost the least heat are known, and so
# are the torques that carry the robot (dotted). What the motors give beyond that, they give for nothing.


# %%
def forces_at_the_end(name):
    """Return the torques of a run's last second, split."""
    last = run[name].frame.index[-1] - 1.0
    q, effort = (
        run[name].channel(channel)[names].loc[last:].astype(float).mean()
        for channel in ("q", "effort")
    )
    q[story.joint] += np.deg2rad(story.misalignment_deg)
    return find_internal_forces(robot, q.to_numpy(), effort.to_numpy())


split = {name: forces_at_the_end(name) for name in story.controllers}
first = split[reference]
beyond = pd.Series(first.measured - first.least, first.motors)
other = [name for name in first.motors if name[0] != story.joint[0]]
busiest = beyond[other].abs().idxmax()
FigureView(
    internal_figure(
        first,
        f"{story.joint} is {story.misalignment_deg:g}° off, and {busiest} opposes "
        f"it with {abs(beyond[busiest]):.2f} N·m",
    )
)

# %% [markdown]
# ## 2. Six ways to fight
#
# Both legs, the pelvis and the ground are one closed chain. From outside there is only the weight, so whatever more the ground does to
# one foot it does **equal and opposite** to the other. In the letters of `nao_testbed.controllers.heat_minimization.standing_problem`, contact forces $f$ obey
#
# $$B f = h, \qquad \tau = g - C f,$$
#
# and what is free in them is the null space of $B$. Eight corners of two soles have 24 force components, 18 of them free; but rigid
# soles pass on only a force and a moment. The rank of $C$ on that null space is the number of ways to fight.

# %%
n_motors, n_patterns = first.patterns.shape
lines = [
    f"- `{name}`: at most {np.abs(s.measured - s.least).max():.2f} N·m beyond the "
    f"least, of which {np.abs(s.unexplained).max():.3f} N·m are no internal force"
    for name, s in split.items()
]
total = np.sum((first.measured - first.least) ** 2)
explained = 1.0 - np.sum(first.unexplained**2) / total
assert explained > 0.95 or total < 0.1, "this is no internal force"
Markdown(
    f"{n_motors} leg motors, **{n_patterns} patterns**. They explain {explained:.1%} "
    f"of the squared torques that `{reference}` gives beyond the least:\n\n"
    + "\n".join(lines)
)

# %% [markdown]
# So a hot joint need not be the bad one, and no misalignment, of whatever joints, adds a pattern outside these six.
#
# ## 3. What ends it
#
# A limit only caps the fight: it stands where each motor is allowed to push. A set-point that gives way ends it, since the fight is
# a spring: the position error times the servo's gain.

# %%
power = {name: trial.legs_power_w for name, trial in result.trials.items()}
coolest = result.trials[min(power, key=power.get)]
least = coolest.least_power_w  # no contact forces within the friction cones cost less
floor = coolest.least_with_gears_w  # nor with all the help that stuck gears can give
left = ", ".join(f"{n} {power[n] / power[reference]:.0%}" for n in others)
FigureView(
    power_figure(
        {name: legs_power_of(one, robot) for name, one in run.items()},
        {"minimum, no gear friction": least, "minimum, with gear friction": floor},
        f"Of the heat of {reference}: {left}" if others else f"The heat of {reference}",
    )
)

# %% [markdown]
# The same as numbers. A gear that sticks bears a part of the load without any current, up to its friction: *least with gears* is what
# even that cannot undercut. *Gears apart* is what the torques on the links would cost, without what the gears bear or add.

# %%
rows = {
    name: {
        "legs, W": trial.legs_power_w,
        f"× {reference}": trial.legs_power_w / power[reference],
        "× least": trial.legs_power_w / trial.least_power_w,
        "× least with gears": trial.legs_power_w / trial.least_with_gears_w,
        "without gear friction, W": split[name].measured_w,
        "without gear friction, × least": split[name].measured_w / split[name].least_w,
        "largest shift, °": trial.largest_shift_deg,
    }
    for name, trial in result.trials.items()
}
pd.DataFrame(rows).T.round(2)


# %%
def multiples(column):
    """Return a column of the table in words."""
    return ", ".join(f"`{name}` {row[column]:.2f}" for name, row in rows.items())


below = [f"`{name}`" for name in story.controllers if rows[name]["× least"] < 1.0]
reason = f" (below 1: {', '.join(below)}; their gears help)" if below else ""
Markdown(
    f"Carrying the robot in this posture costs {least:.2f} W. Multiples of it: "
    f"{multiples('× least')}{reason}. With all the help that stuck gears can give it "
    f"would cost {floor:.2f} W. Multiples of that: {multiples('× least with gears')}."
)

# %% [markdown]
# ## 4. What it costs
#
# How far do set-points move for that, and how far do the joints? A shift may take the error back where it is, or share it among all
# joints of the loop: for the heat that is the same.

# %%
shifts = {
    name: np.rad2deg(
        run[name].channel("target").iloc[-1] - robot.posture(result.posture).angles
    )
    for name, trial in result.trials.items()
    if trial.largest_shift_deg > 0.0
}
angles = {name: one.channel("q").iloc[-1] for name, one in run.items()}
ways = "; ".join(
    f"{name}: set-points by up to {shift.abs().max():.1f}°, joints by "
    f"{np.rad2deg((angles[name] - angles[reference]).abs().max()):.1f}°"
    for name, shift in shifts.items()
)
legs = list(robot.leg_joints)
(
    FigureView(
        joint_shifts_figure(
            {name: shift[legs] for name, shift in shifts.items()},
            {story.joint: story.misalignment_deg},
            ways,
        )
    )
    if shifts
    else Markdown("None of these controllers moves a set-point.")
)

# %% [markdown]
# ## Your turn
#
# - Another bad joint, or two: `misalignment_deg` of `HeatCfg` takes any number of them.
# - Over many robots, drawn at random: `nao-testbed sweep`.
# - The same problem with round friction cones, as a cone programme: `nao_testbed.controllers.heat_minimization.least_loss`.
