import torch.nn.functional as F

from .dist import sum_over_ranks
from .registry import METRICS


class Metric:
    """Holds a numerator and a denominator for one pass over the validation set."""

    name = "metric"

    def __init__(self, device):
        self.device = device
        self.reset()

    def reset(self):
        self._num = 0.0
        self._den = 0.0

    def process(self, logits, target):
        raise NotImplementedError

    @property
    def value(self):
        num, den = self._collect()
        return num / max(den, 1.0)

    def _collect(self):
        return sum_over_ranks([self._num, self._den], self.device)


@METRICS.register
class TopK(Metric):
    def __init__(self, device, k=1):
        super().__init__(device)
        self.k = k
        self.name = f"top{k}"

    def process(self, logits, target):
        hit = logits.topk(self.k, dim=1).indices.eq(target[:, None]).any(dim=1)
        self._num += hit.sum().item()
        self._den += target.numel()


@METRICS.register
class MeanLoss(Metric):
    name = "loss"

    def process(self, logits, target):
        self._num += F.cross_entropy(logits, target, reduction="sum").item()
        self._den += target.numel()
