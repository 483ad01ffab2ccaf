"""Scores that are collected over a window of steps and then agreed on between the branches."""
import torch
import torch.distributed as dist


class Scoreboard:
    def __init__(self):
        self.kinds = {}
        self.window = {}

    def declare(self, name, kind):
        """kind: "mean" over all branches, or "each" for one value per branch."""
        self.kinds[name] = kind

    def add(self, name, values):
        if values.numel():
            total, count = self.window.get(name, (0.0, 0))
            self.window[name] = (total + values.sum().item(), count + values.numel())

    def mean(self, total, count):
        pair = torch.tensor([total, float(count)])
        dist.all_reduce(pair)
        return (pair[0] / pair[1]).item()

    def each(self, total, count):
        mine = torch.tensor([total / count])
        everyone = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(everyone, mine)
        return [round(v.item(), 3) for v in everyone]

    def flush(self):
        agreed = {}
        for name, (total, count) in self.window.items():
            agreed[name] = getattr(self, self.kinds[name])(total, count)
        self.window = {}
        return agreed
