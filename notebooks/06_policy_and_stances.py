# %% [markdown]
# # 6 · Measure a policy, and search for a cooler stance
#
# You need: this checkout with Jupyter, and about a minute of a core.
#
# A Unitree G1 stands in the Gymnasium environment of the testbed. One hip is misaligned, so its legs press against each other.
#
# 1. What does a policy cost: how many watts, and how many of them are useless?
# 2. Does the smallest learner, a random search over constant stances, find a cooler one?

# %% tags=["parameters"]
robot = "g1"  # any robot with legs
error_deg = 2.0  # calibration error of the first hip roll joint
seconds = 1.6  # of each episode; the second half counts
tries = 60  # stances of the search
seed = 0  # of the robot's noise and of the search

# %%
import gymnasium
import numpy as np
import pandas as pd
from IPython.display import Markdown

import nao_testbed as nt
import nao_testbed.gym  # registers the environment
from nao_testbed.experiments.common.drawing.style import (
    FigureView,
    new_figure,
    panel_title,
    plain_frame,
)
from nao_testbed.experiments.report.notebook_parameters import StanceStory
from nao_testbed.models.folders import find_robot_folder

story = StanceStory(
    robot=robot, error_deg=error_deg, seconds=seconds, tries=tries, seed=seed
)
body = nt.load_robot(find_robot_folder(story.robot))
hip = next(name for name in body.leg_joints if "roll" in name.lower())
env = gymnasium.make(
    "nao_testbed/Stand-v0",
    robot=story.robot,
    misalignment_deg={hip: story.error_deg},
    weights={"upright": 1.0, "heat": -0.02, "useless": -0.02},
    max_episode_steps=round(story.seconds / 0.02),
)

# %% [markdown]
# ## Policies
#
# A policy maps the observation to an action: here the leg joints, in units of 0.25 rad around the posture. Observation 3 is the direction of
# gravity along x, positive if the robot leans forwards. Put your own policy here.


# %%
def hold(observation: np.ndarray) -> np.ndarray:
    """Keep the posture."""
    del observation
    return np.zeros(env.action_space.shape, np.float32)


def stiff_ankles(observation: np.ndarray) -> np.ndarray:
    """Turn the ankles against the lean of the body."""
    action = hold(observation)
    for place, name in enumerate(body.leg_joints):
        if "ankle_pitch" in name.lower().replace("anklepitch", "ankle_pitch"):
            action[place] = 2.0 * observation[3]
    return action


def episode(policy) -> pd.DataFrame:
    """Return time, reward, heat and useless heat of each step."""
    observation, _ = env.reset(seed=story.seed)
    rows, is_over = [], False
    while not is_over:
        observation, reward, ended, cut, info = env.step(policy(observation))
        numbers = {name: info[name] for name in ("time_s", "heat_w", "useless_w")}
        rows.append({**numbers, "reward": reward, "ended": ended})
        is_over = ended or cut
    return pd.DataFrame(rows)


def second_half(rows: pd.DataFrame) -> pd.Series:
    """Return the means of the second half; a fall costs 10."""
    means = rows[rows.time_s > 0.5 * story.seconds].mean(numeric_only=True)
    fell = bool(rows.ended.any())
    means["reward"] = -10.0 if fell else means["reward"]
    return means[["reward", "heat_w", "useless_w"]]


runs = {policy.__name__: episode(policy) for policy in (hold, stiff_ankles)}
table = pd.DataFrame({name: second_half(rows) for name, rows in runs.items()}).T
table["useless share"] = table.useless_w / table.heat_w
table.round(3)

# %% [markdown]
# The motor constants of this robot are guesses, so compare ratios, not watts.
#
# ## A random search
#
# The learner keeps the best stance so far, adds a random change, and keeps the change if the reward rises.

# %%
draw = np.random.default_rng(story.seed)
best, best_reward, rewards = hold(None), table.reward["hold"], []
for number in range(story.tries):
    change = 0.1 * 0.5 ** (number / story.tries) * draw.normal(size=best.shape)
    stance = np.clip(best + change, -1.0, 1.0).astype(np.float32)
    found = second_half(episode(lambda _, stance=stance: stance)).reward
    if found > best_reward:
        best, best_reward = stance, found
    rewards.append(best_reward)

runs["found"] = episode(lambda _: best)
table.loc["found"] = second_half(runs["found"])
table["useless share"] = table.useless_w / table.heat_w
table.round(3)

# %% [markdown]
# ## The figure
#
# Each curve is one episode; the heat of `hold` in its second half is 1.

# %%
figure = new_figure(6.4, 2.4)
left, right = figure.subplots(1, 2)
for name, rows in runs.items():
    left.plot(
        rows.time_s / 60.0, rows.heat_w / table.heat_w["hold"], label=name, lw=1.2
    )
left.set_ylim(0.0, 2.0)
left.set_xlabel("Step of 20 ms")
left.set_ylabel("Heat relative to hold")
left.legend(frameon=False, fontsize=8)
right.plot(rewards, lw=1.2)
right.set_xlabel("Stances tried")
right.set_ylabel("Mean reward")
for axes, title in ((left, "Power of all motors"), (right, "Best stance so far")):
    plain_frame(axes)
    panel_title(axes, title)
FigureView(figure)

# %%
moved = np.rad2deg(0.25 * best)
most = int(np.abs(moved).argmax())
Markdown(
    "The search found a stance with "
    f"{table.heat_w['found'] / table.heat_w['hold']:.2f} of the heat of `hold`; "
    f"{table['useless share']['found']:.0%} of it is useless, "
    f"before {table['useless share']['hold']:.0%}. The largest change is "
    f"{moved[most]:+.1f}° at `{body.leg_joints[most]}`."
)

# %% [markdown]
# ## Your turn
#
# - Replace `stiff_ankles` by your policy. A network has the same interface; `layout=` of the environment changes observation and action.
# - Is the stance cooler on another robot? `env.reset(seed=1)` changes only the noise: change the error, or draw robots with `sweep=`.
# - Raise the weight of `useless`. Which term finds the cooler stance?
