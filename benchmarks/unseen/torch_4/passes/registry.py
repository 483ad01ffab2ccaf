"""Things the tuner does at a checkpoint of the search, each by name."""
import torch
import torch.distributed as dist

EXCHANGES = {}


def exchange(name):
    def register(function):
        EXCHANGES[name] = function
        return function
    return register


@exchange("schedule")
def adopt_schedule(state):
    """Rank 0's schedule is the reference for the next round."""
    dist.broadcast(state.schedule, src=0)


@exchange("cost")
def compare_costs(state):
    costs = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(costs, torch.tensor([state.cost]))
    state.best = min(c.item() for c in costs)


class Agenda:
    """Most useful exchange first, so a round that is cut short has done it."""

    def __init__(self):
        self.gain = {"schedule": 1.0, "cost": 0.5}

    def credit(self, name, value):
        self.gain[name] = 0.9 * self.gain[name] + 0.1 * value

    def run(self, state):
        for name in sorted(self.gain, key=self.gain.get, reverse=True):
            EXCHANGES[name](state)
