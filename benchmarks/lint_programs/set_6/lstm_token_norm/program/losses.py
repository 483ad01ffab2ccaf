import torch
import torch.distributed as dist
import torch.nn.functional as F

from text import PAD


def token_nll(logits, targets):
    """Summed negative log likelihood and the number of real tokens."""
    nll = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, reduction="sum")
    return nll, (targets != PAD).sum()


def global_count(count):
    total = count.clone()
    dist.all_reduce(total)
    return total


class BatchLoss:
    """Loss per token of the batch over all ranks: long and short batches weigh by their tokens."""

    def __init__(self, device):
        self.device = device
        self.reset()

    def reset(self):
        self.running = torch.zeros(2, dtype=torch.float64, device=self.device)

    def __call__(self, logits, targets):
        nll, count = token_nll(logits, targets)
        self.running += torch.stack([nll.detach().double(), count.double()])
        return nll / global_count(count)

    def average(self):
        stats = self.running.clone()
        dist.all_reduce(stats)
        self.reset()
        return (stats[0] / stats[1]).item()
