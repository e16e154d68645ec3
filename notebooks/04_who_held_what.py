# %% [markdown]
# # 4 · Who held what
#
# You need: this checkout with Jupyter, and half a minute of a core.
#
# Behaviours that do not know each other share one robot. Each asks for what it needs and is granted all of it or waits, behind
# whoever has it, for as long as it has patience [ES2535273T3]. Everything that happens is in the trace. This notebook runs a scenario
# that ships, and asks its trace:
#
# 1. Who had what, and when?
# 2. Who waited, how long, and behind whom? Who was denied?
# 3. How busy was each resource?

# %% tags=["parameters"]
scenario = "head_queue"  # a name of `nao-testbed scenario list`
controller = None  # of stiffness, such as "minheat"; None: the scenario's own
seed = 0  # of all noise

# %%
from dataclasses import replace

import pandas as pd
from IPython.display import Markdown

from nao_testbed.controllers.arbitration.events import Granted, Notified
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.experiments.common.drawing.style import FigureView
from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS, load_scenario
from nao_testbed.experiments.scenarios.timeline.figure import (
    run_temperatures,
    timeline_figure,
)
from nao_testbed.experiments.scenarios.timeline.holding_story import HoldingStory
from nao_testbed.experiments.scenarios.timeline.rows import cover
from nao_testbed.experiments.scenarios.timeline.waits import (
    find_waits,
    held_times,
    leaf_uses,
    waits_figure,
)

story = HoldingStory(scenario=scenario, controller=controller, seed=seed)
plan = load_scenario(SCENARIOS.find(story.scenario))
plan = replace(
    plan,
    controller=story.controller or plan.controller,
    seed=story.seed,
    simulation=replace(plan.simulation, seed=story.seed),
)

# %% [markdown]
# ## The scenario
#
# A scenario is a file: who wants what, when, with what patience, and what is expected of all that.

# %%
print(plan.text)

# %% [markdown]
# ## 1. Who had what, and when?
#
# Solid bars hold, hatched ones wait. (With `proves=True` the invariants are judged at every event, too.)

# %%
run = run_scenario(plan, proves=False)
temperatures = run_temperatures(run)  # drawn where they change by more than 1 K
FigureView(
    timeline_figure(
        plan,
        run.events,
        temperatures
        if temperatures.max().max() - temperatures.min().min() > 1.0
        else None,
        end_s=run.result.sim_s,
        said=run.result.verdict_summary,
        all_hold=run.result.all_hold,
    )
)

# %% [markdown]
# ## 2. Who waited?
#
# A trace is a list of events, one frozen record each. `find_waits` pairs each request with its answer and notes who was in the way.
# (The stiffness controller is an owner like any other: it reserves the right to limit torques once, at the start, and is left out here.)

# %%
end = round(run.result.sim_s / plan.tick_s)
behaviours = [behaviour.name for behaviour in plan.walk()]
tree = ResourceTree(plan.robot.resources)
waits = [
    wait
    for wait in find_waits(run.events, plan.tick_s, end)
    if wait.owner in behaviours
]
pd.DataFrame(
    [
        {
            "behaviour": wait.owner,
            "requests": cover(wait.leaves, tree),
            "at, s": wait.asked_s,
            "waited, s": wait.waited_s,
            "behind": ", ".join(wait.behind) or "–",
            "outcome": wait.outcome.replace("_", " "),
        }
        for wait in waits
    ]
).round(2)

# %% [markdown]
# The same with one bar per request: waiting time, and holding time.

# %%
held = held_times(run.events, plan.tick_s, end)
granted = [wait for wait in waits if wait.outcome == "granted"]
denied = [wait for wait in waits if wait.outcome != "granted"]
longest = max(waits, key=lambda wait: wait.waited_s)
FigureView(
    waits_figure(
        waits,
        held,
        f"{len(granted)} of {len(waits)} requests were granted; the longest wait was "
        f"{longest.waited_s:.1f} s ({longest.owner})",
    )
)

# %%
names = {wait.owner for wait in denied}
without = f": {', '.join(sorted(names))}" if names else ""
told = sum(isinstance(e, Notified) and e.kind == "demanded" for e in run.events)
tokens = sum(isinstance(e, Granted) and e.owner in behaviours for e in run.events)
Markdown(
    f"Denied requests: {len(denied)} of {len(waits)}{without}. Together the "
    f"behaviours waited {sum(wait.waited_s for wait in waits):.1f} s and held their "
    f"resources for {sum(held[wait.request] for wait in granted):.1f} s, with {tokens} "
    f"tokens. Holders were notified of {told} requests by others."
)

# %% [markdown]
# ## 3. How busy was each resource?
#
# The utilisation of a leaf is the share of the run in which an owner held it. If it is high and requests waited too, the behaviours
# compete for this leaf.

# %%
uses = leaf_uses(run.events, plan.tick_s, end, behaviours)
pd.DataFrame(
    [
        {
            "leaf": use.leaf,
            "held, s": use.held_s,
            "utilisation": f"{use.share:.0%}",
            "requested, s": use.wanted_s,
        }
        for use in uses
    ]
).round(2)

# %%
contended = [use for use in uses if use.wanted_s > 0.0]
if contended:
    scarce = max(contended, key=lambda use: use.wanted_s)
    words = (
        f"{scarce.leaf} was held for {scarce.share:.0%} of the run. Each second of "
        f"holding caused {scarce.wanted_s / scarce.held_s:.1f} s of waiting."
    )
else:
    words = "No request waited: these behaviours do not compete."
Markdown(words)

# %% [markdown]
# ## Your turn
#
# - Another scenario: set `scenario` above to `hot_dance` or `greeting_busy_legs`; a file of yours: `load_scenario(Path("mine.yaml"))`.
# - A run that was recorded: `read_trace(folder)` of `nao_testbed.experiments.scenarios.playing.trace_file` gives the same events.
# - The rules behind it: `docs/concepts/reservations.md`.
