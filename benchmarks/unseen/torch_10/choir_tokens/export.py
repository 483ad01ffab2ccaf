import logging
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

log = logging.getLogger("choir")


class BestExport:
    """Keeps half-precision weights of the best validation so far, for the listening tests."""

    def __init__(self, folder, rank):
        self.path = Path(folder) / "best.pt"
        self.rank = rank
        self.best = float("inf")

    def offer(self, model, loss):
        if loss >= self.best:
            return False
        self.best = loss
        if self.rank == 0:
            self._write(model)
        dist.barrier()
        return True

    def _write(self, model):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        weights = get_model_state_dict(model, options=options)
        torch.save({name: w.half() for name, w in weights.items()}, self.path)
        log.info("exported %d tensors, loss %.4f", len(weights), self.best)
