"""The policy of a crane and its value, used by the thread that plays and by the one that learns."""
import copy
import threading

import torch
import torch.distributed as dist
from torch import nn

SLOTS, MOVES = 12, 6


class CranePolicy:
    def __init__(self, width, lr):
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(SLOTS, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.move = nn.Linear(width, MOVES)
        self.worth = nn.Linear(width, 1)
        self.modules = nn.ModuleList([self.body, self.move, self.worth])
        self.optimizer = torch.optim.Adam(self.modules.parameters(), lr=lr)
        self.weights_lock = threading.Lock()

    def player(self):
        """The policy as it is now, for a whole ship."""
        with self.weights_lock:
            layers = copy.deepcopy((self.body, self.move))

        @torch.no_grad()
        def choose(state):
            body, move = layers
            return torch.distributions.Categorical(logits=move(body(state))).sample()

        return choose

    @torch.no_grad()
    def surprise(self, states, returns):
        """How far the value is off: the episodes that it predicts well have nothing left to teach."""
        with self.weights_lock:  # not in the middle of a step of the optimizer
            value = self.worth(self.body(states)).squeeze(-1)
        return (returns - value).abs().mean().item()

    def step(self, states, moves, returns):
        hidden = self.body(states)
        value = self.worth(hidden).squeeze(-1)
        choice = torch.distributions.Categorical(logits=self.move(hidden))
        advantage = (returns - value).detach()
        loss = (value - returns).square().mean() - (advantage * choice.log_prob(moves)).mean()
        loss = loss - 0.01 * choice.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        gradients = [parameter.grad for parameter in self.modules.parameters()]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        for gradient, mean in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(mean.view_as(gradient) / dist.get_world_size())
        self.optimizer.step()
        return loss.item()

    def improve(self, replay, rounds, size):
        """Some steps in a row, between which nobody shall play with weights that are half way."""
        with self.weights_lock:
            return sum(self.step(*replay.draw(size)) for _ in range(rounds)) / rounds
