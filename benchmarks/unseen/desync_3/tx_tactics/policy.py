import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, features=10, moves=5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.pi = nn.Linear(48, moves)
        self.v = nn.Linear(48, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.pi(h), self.v(h).squeeze(-1)


def objective(logits, values, actions, old, returns):
    now = Categorical(logits=logits).log_prob(actions)
    ratio = (now - old).exp()
    advantage = returns - values.detach()
    clipped = ratio.clamp(0.8, 1.2)
    loss = -torch.min(ratio * advantage, clipped * advantage).mean() + 0.5 * (returns - values).square().mean()
    return loss, (old - now).mean().item()
