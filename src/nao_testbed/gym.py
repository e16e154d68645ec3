"""Gymnasium environment of a standing robot; importing this module registers it.

    import gymnasium
    import nao_testbed.gym

    env = gymnasium.make("nao_testbed/Stand-v0", robot="g1")

An episode has 1000 steps (20 s); `max_episode_steps` of `gymnasium.make` changes this.
"""

from nao_testbed.models.errors import ExtraMissing

try:
    import gymnasium
except ImportError as error:
    raise ExtraMissing("nao_testbed.gym", "gymnasium", "gym") from error

from nao_testbed.experiments.regression.stand_env import StandEnv

__all__ = ["StandEnv"]

gymnasium.register(
    "nao_testbed/Stand-v0",
    entry_point="nao_testbed.experiments.regression.stand_env:StandEnv",
    max_episode_steps=1000,
)
