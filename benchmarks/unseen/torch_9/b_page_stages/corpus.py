import math
from dataclasses import dataclass

import torch

FEATURES = 20
CLASSES = 5


@dataclass
class Page:
    ink: float
    pixels: torch.Tensor
    label: int


class Archive:
    """Scanned volumes one after the other; 85 batches of pages in each."""

    VOLUMES = [("ledger", 0.03), ("letters", 0.06), ("field notebooks", 0.36), ("minutes", 0.03)]

    def __init__(self, per_batch=32, micro=8, seed=3):
        self.per_batch = per_batch
        self.micro = micro
        self.seed = seed
        self.proj = torch.randn(FEATURES, CLASSES, generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return 85 * len(self.VOLUMES)

    def n_micro(self):
        return math.ceil(self.per_batch / self.micro)

    def pages(self, step):
        _, blank_share = self.VOLUMES[step // 85]
        g = torch.Generator().manual_seed(self.seed * 7919 + step)
        blank = int(self.per_batch * blank_share)
        pixels = torch.randn(self.per_batch, FEATURES, generator=g)
        labels = (pixels @ self.proj).argmax(1).tolist()
        return [
            Page(0.0 if i < blank else pixels[i].abs().mean().item(), pixels[i], labels[i])
            for i in range(self.per_batch)
        ]

    def microbatches(self, step):
        written = [p for p in self.pages(step) if p.ink > 0]
        for at in range(0, len(written), self.micro):
            part = written[at : at + self.micro]
            part += part[:1] * (self.micro - len(part))
            yield torch.stack([p.pixels for p in part]), torch.tensor([p.label for p in part])
