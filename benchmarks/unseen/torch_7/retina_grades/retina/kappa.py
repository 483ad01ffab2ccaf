"""Agreement between the graders and the network."""
import torch
import torch.distributed as dist


class Agreement:
    def __init__(self, grades=4, pool=None):
        self.table = torch.zeros(grades, grades)
        self.pool = pool

    def update(self, predicted, graded):
        for p, g in zip(predicted.tolist(), graded.tolist()):
            self.table[g, p] += 1

    def _pooled(self):
        tables = [torch.zeros_like(self.table) for _ in range(dist.get_world_size(self.pool))]
        dist.all_gather(tables, self.table, group=self.pool)
        return torch.stack(tables).sum(0)

    def kappa(self):
        t = self._pooled()
        n = t.sum()
        observed = t.diag().sum() / n
        expected = (t.sum(0) * t.sum(1)).sum() / n**2
        return float((observed - expected) / (1 - expected + 1e-9))

    def __str__(self):
        return f"kappa={self.kappa():+.3f}"
