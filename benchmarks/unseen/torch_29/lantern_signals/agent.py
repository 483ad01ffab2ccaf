import torch
import torch.distributed as dist
from torch import nn


class Keeper(nn.Module):
    """Moves a boat and, now and then, lights a lantern for the other boats."""

    def __init__(self, seen=10, moves=5, colours=3):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(seen, 32), nn.Tanh())
        self.move = nn.Linear(32, moves)
        self.value = nn.Linear(32, 1)
        self.lantern = nn.Linear(32, colours)

    def forward(self, x):
        h = self.torso(x)
        return h, torch.distributions.Categorical(logits=self.move(h)), self.value(h).squeeze(-1)


def policy_loss(agent, roll):
    h, moves, value = agent(roll.seen)
    advantage = roll.returns - value
    loss = -(moves.log_prob(roll.moves) * advantage.detach()).mean() + 0.5 * advantage.pow(2).mean()
    if len(roll.lit):
        # only the moments in which a lantern was lit say something about colours
        colours = torch.distributions.Categorical(logits=agent.lantern(h[roll.lit]))
        loss = loss - 0.3 * (colours.log_prob(roll.colours) * advantage.detach()[roll.lit]).mean()
    return loss


def average_gradients(agent):
    size = dist.get_world_size()
    for p in agent.parameters():
        if p.grad is None:
            continue
        dist.all_reduce(p.grad)
        p.grad /= size
