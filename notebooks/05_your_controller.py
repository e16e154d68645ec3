# %% [markdown]
# # 5 · Your controller against ours, on ten robots
#
# You need: this checkout with Jupyter, about a minute of a core, and lesson `examples/04_own_controller.py` if a
# controller is new to you.
#
# One robot proves little. Ten robots are drawn, each with its own calibration errors, and each stands under every controller.
#
# 1. Does your controller keep all of them upright?
# 2. How much heat do their legs make, relative to `fixed` on the same robot?
# 3. Is the difference larger than the spread between robots?

# %% tags=["parameters"]
robots = 10  # drawn
largest_deg = 1.0  # calibration error of each leg joint, uniform on both sides
controllers = ("smart", "minheat")  # beside yours; all relative to `fixed`
seconds = 8.0  # simulated time of each robot
seed = 0  # of the draws

# %%
from collections.abc import Callable

import numpy as np
import pandas as pd
from IPython.display import Markdown

import nao_testbed as nt
from nao_testbed.experiments.common.drawing.style import (
    FigureView,
    controller_colours,
    new_figure,
    panel_title,
    plain_frame,
)
from nao_testbed.experiments.report.notebook_parameters import ComparisonStory

story = ComparisonStory(
    robots=robots,
    largest_deg=largest_deg,
    controllers=tuple(controllers),
    seconds=seconds,
    seed=seed,
)

# %% [markdown]
# ## Your controller
#
# A class with a name, `reset` and `step`. This one allows each joint 40 % of its torque, whatever it carries. Put yours here.


# %%
class Soft:
    """Stiffness 0.4 for every joint."""

    name = "soft"

    def reset(self, robot: nt.Robot) -> None:
        """Allocate the limits once; `step` runs every 20 ms."""
        self._limits = nt.Limits(stiffness=np.full(len(robot.joints), 0.4))

    def step(self, observation: nt.Observation) -> nt.Limits:
        """Return the limits of the next 20 ms."""
        del observation
        return self._limits


# %% [markdown]
# ## Ten robots
#
# The heat of a robot is the Joule loss of its leg motors, $\sum R\,i^2$, averaged over the last second.

# %%
makers: dict[str, Callable[[], nt.Controller]] = {
    name: lambda name=name: nt.make_controller(name)
    for name in ("fixed", *story.controllers)
}
makers[Soft.name] = Soft
robot = nt.load_robot()
legs = robot.motors_of(robot.leg_joints)
draw = np.random.default_rng(story.seed)
rows = []
for number in range(story.robots):
    errors = draw.uniform(-story.largest_deg, story.largest_deg, len(robot.leg_joints))
    cfg = nt.SimulationCfg(
        misalignment_deg=dict(zip(robot.leg_joints, errors.tolist(), strict=True))
    )
    for name, make in makers.items():
        sim = nt.SimulatedRobot(robot, cfg, "PoseInit")
        loop = nt.Loop(sim, make(), robot.posture("PoseInit").angles)
        nt.run_for(loop, story.seconds - 1.0)
        before = sim.heating.joule_energy[legs].sum()
        nt.run_for(loop, 1.0)
        row = {
            "robot": number,
            "controller": name,
            "watts": sim.heating.joule_energy[legs].sum() - before,
            "fell": sim.has_fallen(),
        }
        rows.append(row)
        sim.close()
trials = pd.DataFrame(rows)

# %%
heat = trials.pivot(index="robot", columns="controller", values="watts")
ratio = heat[list(makers)].div(heat["fixed"], axis=0).drop(columns="fixed")
falls = trials.groupby("controller")["fell"].sum()
table = pd.DataFrame(
    {
        "median ratio": ratio.median(),
        "smallest": ratio.min(),
        "largest": ratio.max(),
        "cooler than fixed": (ratio < 1.0).sum(),
        "falls": falls[ratio.columns],
    }
)
table.round(2)

# %% [markdown]
# ## The figure
#
# One dot is one robot; the bar is the median. Heat below the line is heat saved. Each controller has the colour that it has everywhere.

# %%
figure = new_figure(3.4, 2.6)
axes = figure.subplots()
colours = controller_colours(makers)
spread = np.linspace(-0.15, 0.15, len(ratio))
for place, name in enumerate(ratio.columns):
    axes.plot(place + spread, ratio[name], "o", ms=4, alpha=0.7, color=colours[name])
    axes.hlines(ratio[name].median(), place - 0.28, place + 0.28, color=colours[name])
axes.axhline(1.0, color="0.5", lw=0.8)
axes.set_yscale("log")
axes.set_xticks(range(len(ratio.columns)), ratio.columns)
axes.set_ylabel("Leg heat relative to fixed")
plain_frame(axes)
panel_title(
    axes, f"{len(ratio)} robots, errors up to {story.largest_deg:g}°, seed {story.seed}"
)
FigureView(figure)  # figure.savefig("heat.pdf") for a paper

# %%
best = ratio.median().idxmin()
wins = (ratio[Soft.name] < ratio[best]).sum()
Markdown(
    f"`{Soft.name}` makes {ratio[Soft.name].median():.2f} of the heat of `fixed` "
    f"in the median ({ratio[Soft.name].min():.2f} to {ratio[Soft.name].max():.2f}) and "
    f"falls on {falls[Soft.name]} of {len(ratio)} robots. The best, `{best}`, makes "
    f"{ratio[best].median():.2f}; `{Soft.name}` is cooler than it on {wins} robots."
)

# %% [markdown]
# ## Your turn
#
# - Replace `Soft` by your own class; keep the seed, so that it meets the same robots.
# - Draw larger errors: `largest_deg = 2.0`. Who falls first?
# - Register the class as an entry point (lesson 04), and let `nao-testbed sweep fifty_robots --controllers fixed,yours` run fifty robots
#   for 15 minutes on all cores.
