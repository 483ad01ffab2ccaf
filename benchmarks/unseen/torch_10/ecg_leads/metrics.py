import torch
import torch.distributed as dist


class Metric:
    """State is kept on each rank; the result is that of all ranks."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.state = torch.zeros(2)

    def gathered(self):
        parts = [torch.empty_like(self.state) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, self.state)
        return torch.stack(parts).sum(0)

    @property
    def value(self):
        top, bottom = self.gathered().tolist()
        return top / bottom if bottom else float("nan")


class Mean(Metric):
    def update(self, value, weight=1):
        self.state += torch.tensor([value * weight, weight])


class Accuracy(Metric):
    def update(self, logits, target):
        hits = (logits.argmax(-1) == target).sum().item()
        self.state += torch.tensor([hits, target.numel()], dtype=torch.float32)


class Collection(dict):
    def describe(self):
        return " ".join(f"{name}={metric.value:.4f}" for name, metric in self.items())

    def reset(self):
        for metric in self.values():
            metric.reset()
