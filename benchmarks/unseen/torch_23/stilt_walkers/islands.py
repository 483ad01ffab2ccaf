"""Walkers with growing brains, and the visits of champions between islands, once in a generation."""
import torch
import torch.distributed as dist

BLOCK = 128
SENSES, MOTORS = 10, 4


class Brain:
    """A network of one hidden layer, stored as one vector of weights."""

    def __init__(self, hidden, weights=None, g=None):
        self.hidden = hidden
        self.weights = 0.3 * torch.randn(self.length(hidden), generator=g) if weights is None else weights

    @staticmethod
    def length(hidden):
        return hidden * (SENSES + 1) + MOTORS * (hidden + 1)

    def act(self, senses):
        split = self.hidden * (SENSES + 1)
        first = self.weights[:split].view(self.hidden, SENSES + 1)
        second = self.weights[split:].view(MOTORS, self.hidden + 1)
        inner = torch.tanh(senses @ first[:, :-1].T + first[:, -1])
        return torch.tanh(inner @ second[:, :-1].T + second[:, -1])

    def mutated(self, rate, g):
        return Brain(self.hidden, self.weights + rate * torch.randn(len(self.weights), generator=g))

    def grown(self, g):
        """The same walker with one hidden cell more, whose influence is small at first."""
        bigger = Brain(self.hidden + 1, g=g)
        bigger.weights *= 0.05
        split, old_split = bigger.hidden * (SENSES + 1), self.hidden * (SENSES + 1)
        bigger.weights[:old_split] = self.weights[:old_split]
        out = bigger.weights[split:].view(MOTORS, bigger.hidden + 1)
        old = self.weights[old_split:].view(MOTORS, self.hidden + 1)
        out[:, : self.hidden], out[:, -1] = old[:, :-1], old[:, -1]
        return bigger


class Ferry:
    """Champions go to the next island in blocks of a fixed size."""

    def __init__(self):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.following, self.previous = (self.rank + 1) % self.world, (self.rank - 1) % self.world

    def blocks(self, weights):
        count = -(-len(weights) // BLOCK)
        padded = torch.zeros(count * BLOCK)
        padded[: len(weights)] = weights
        return list(padded.view(count, BLOCK))

    def visit(self, champion):
        """Sends the own champion and returns the visitor, with as many cells as the residents have."""
        leaving = [dist.isend(block, self.following) for block in self.blocks(champion.weights)]
        arriving = [torch.empty_like(block) for block in self.blocks(champion.weights)]
        for block in arriving:
            dist.recv(block, self.previous)
        for work in leaving:
            work.wait()
        return Brain(champion.hidden, torch.cat(arriving)[: len(champion.weights)])
