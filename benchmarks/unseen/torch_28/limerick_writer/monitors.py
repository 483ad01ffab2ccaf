"""What we like to see of the weights every now and then."""
import time

import torch
import torch.distributed as dist


def local_weight(model):
    return model.body.up.weight.to_local().detach()


def scale(model):
    """Largest weight of all shards."""
    top = local_weight(model).abs().max().reshape(1)
    dist.all_reduce(top, op=dist.ReduceOp.MAX)
    return top.item()


def spread(model):
    """Ratio of the largest to the smallest norm of a shard."""
    own = local_weight(model).norm().reshape(1)
    norms = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(norms, own)
    return (max(norms) / min(norms)).item()


class Timed:
    def __init__(self, probe):
        self.probe, self.spent = probe, 0.0

    def __call__(self, model):
        start = time.perf_counter()
        value = self.probe(model)
        self.spent += time.perf_counter() - start
        return value


class Monitors:
    def __init__(self):
        self.probes = {"scale": scale, "spread": spread}

    def time(self, name):
        """Measures from now on how long this probe takes."""
        self.probes[name] = Timed(self.probes.pop(name))

    def look(self, model):
        seen = {}
        for name, probe in self.probes.items():
            seen[name] = probe(model)
        return seen
