import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel


class Agent:
    """A policy with REINFORCE, and with imitation of the agent's own best walks."""

    def __init__(self, inputs, actions=4, lr=3e-3, margin=8.0):
        torch.manual_seed(0)
        policy = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, actions))
        self.policy = DistributedDataParallel(policy)
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.margin = margin
        self.mean, self.best = 0.0, None

    @torch.no_grad()
    def act(self, view):
        return int(Categorical(logits=self.policy.module(view)).sample())

    def reinforce(self, views, actions, rewards):
        to_go = rewards.flip(0).cumsum(0).flip(0).clamp(max=10)
        advantage = to_go - to_go.mean()
        logp = Categorical(logits=self.policy(views)).log_prob(actions)
        self._apply(-(advantage * logp).mean())

    def imitate(self, views, actions):
        """Makes the moves of a walk more likely, all of them alike."""
        logp = Categorical(logits=self.policy(views)).log_prob(actions)
        self._apply(-logp.mean())

    def is_record(self, total):
        """Whether a walk is better than the best one before by a clear margin."""
        if self.best is None:
            self.best = total
            return False
        record = total > self.best + self.margin
        self.best = max(self.best, total)
        return record

    def _apply(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
