"""Sharded snapshots in the shared run folder; each node remembers the newest one
in its own scratch so that a roll-back does not have to list the file server."""
import os
from pathlib import Path

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

RANKS_PER_NODE = int(os.environ.get("RANKS_PER_NODE", 2))


class Snapshots:
    def __init__(self, run_dir, model, optimizer):
        self.run_dir = Path(run_dir)
        self.model, self.optimizer = model, optimizer
        self.rank = dist.get_rank()
        self.scratch = self.run_dir / f"scratch-node{self.rank // RANKS_PER_NODE}"
        self.scratch.mkdir(parents=True, exist_ok=True)

    @property
    def pointer(self):
        return self.scratch / "newest"

    def _state(self):
        model, optim = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optim}

    def take(self, step):
        where = self.run_dir / f"step-{step:06d}"
        dcp.save(self._state(), checkpoint_id=where)
        if self.rank == 0:
            self.pointer.write_text(str(where))
        dist.barrier()

    def roll_back(self):
        """Return to the newest snapshot, if there is one."""
        if self.pointer.is_file():
            state = self._state()
            dcp.load(state, checkpoint_id=self.pointer.read_text())
            set_state_dict(
                self.model,
                self.optimizer,
                model_state_dict=state["model"],
                optim_state_dict=state["optim"],
            )
        dist.barrier()
