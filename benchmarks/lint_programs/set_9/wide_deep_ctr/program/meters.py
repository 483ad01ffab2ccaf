import torch
import torch.distributed as dist


class MetricBook:
    """Weighted running means, averaged over all ranks at the end of an epoch.

    `show` limits what is reported; other recorded values are only kept locally.
    """

    def __init__(self, show, device):
        self.show = tuple(show)
        self.device = device
        self.reset()

    def reset(self):
        self.totals = {}
        self.weights = {}

    def add(self, n, **values):
        for name, value in values.items():
            value = value.detach() if torch.is_tensor(value) else torch.tensor(float(value))
            value = value.to(self.device, torch.float64)
            self.totals[name] = self.totals.get(name, 0.0) + value * n
            self.weights[name] = self.weights.get(name, 0) + n

    def reduced(self):
        out = {}
        for name in self.totals.keys() & set(self.show):
            pair = torch.stack(
                [self.totals[name], torch.tensor(float(self.weights[name]), dtype=torch.float64, device=self.device)]
            )
            dist.all_reduce(pair)
            out[name] = (pair[0] / pair[1].clamp(min=1)).item()
        return out


def format_line(prefix, values):
    return prefix + " " + " ".join(f"{k}={values[k]:.4f}" for k in sorted(values))
