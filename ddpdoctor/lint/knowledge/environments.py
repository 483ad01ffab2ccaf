"""Environments that a rank acts in, of reinforcement learning: how the calls that make them begin, and what they give.

Read from gym 0.26, gymnasium 1.2, stable-baselines3 2.7, procgen 0.10 and envpool 0.8.
"""

from __future__ import annotations

MAKERS = (
    "gym.make", "gym.vector.", "gym.wrappers.", "gymnasium.make", "gymnasium.vector.", "gymnasium.wrappers.",
    "stable_baselines3.common.vec_env.", "stable_baselines3.common.env_util.make_", "procgen.ProcgenEnv",
    "envpool.make",
)  # fmt: skip
#: methods that give what the environment is like, and what an action in it has earned
OBSERVING = frozenset({"reset", "step"})
#: arguments and methods that give it a seed; without one, each process has its own from the system
SEEDING = frozenset({"seed", "seeds"})
