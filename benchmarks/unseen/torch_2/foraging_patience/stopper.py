import torch
import torch.distributed as dist


class Patience:
    """Early stopping on the mean validation return of rank 0, the same verdict for everybody."""

    def __init__(self, patience, margin=1e-3):
        self.patience, self.margin = patience, margin
        self.best, self.bad = float("-inf"), 0

    def verdict(self, score):
        flag = torch.zeros(1, dtype=torch.int64)
        if dist.get_rank() == 0:
            if score > self.best + self.margin:
                self.best, self.bad = score, 0
            else:
                self.bad += 1
            flag += int(self.bad >= self.patience)
        dist.broadcast(flag, src=0)
        return bool(flag.item())
