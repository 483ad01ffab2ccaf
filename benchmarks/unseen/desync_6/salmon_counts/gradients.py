"""A record of how much the gradients of the sites agree."""

import json
import logging
from pathlib import Path

import torch
import torch.distributed as dist

log = logging.getLogger("salmon")


class GradientRecord:
    """Compares the gradient of this site, every so many steps, with the mean over the sites.

    The model's own gradients are averaged by then, so the local ones are kept by a hook.
    """

    def __init__(self, network, every, path=None):
        self.network, self.every = network, every
        self.path = Path(path) if path else None
        self.local = {}
        self.rows = []
        for name, p in network.named_parameters():
            p.register_hook(lambda grad, name=name: self.keep(name, grad))

    def keep(self, name, grad):
        self.local[name] = grad.detach().clone()

    def flat(self):
        return torch.cat([self.local[name].flatten() for name, _ in self.network.named_parameters()])

    def update(self, step):
        if step % self.every:
            return
        own = self.flat()
        mean = own.clone()
        dist.all_reduce(mean)
        mean /= dist.get_world_size()
        agreement = torch.cosine_similarity(own, mean, dim=0).item()
        self.rows.append({"step": step, "agreement": round(agreement, 3)})
        log.info("step %d: agreement %.3f", step, agreement)

    def close(self):
        if self.path:
            self.path.write_text("\n".join(json.dumps(row) for row in self.rows))
