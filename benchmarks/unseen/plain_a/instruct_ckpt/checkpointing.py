import re

import torch
import torch.distributed as dist


class CheckpointManager:
    """Numbered checkpoints in one folder, of which the newest `keep` stay."""

    def __init__(self, folder, keep):
        self.folder, self.keep = folder, keep

    def existing(self):
        found = []
        for p in self.folder.glob("step_*.pt"):
            found.append((int(re.findall(r"\d+", p.name)[0]), p))
        return sorted(found)

    def write(self, step, payload):
        target = self.folder / f"step_{step}.pt"
        tmp = target.with_suffix(".tmp")
        torch.save(payload, tmp)
        tmp.rename(target)
        for _, old in self.existing()[:-self.keep]:
            old.unlink()
        # nobody runs ahead of a checkpoint that is not yet on disk
        dist.barrier()
        return target

    def latest(self):
        found = self.existing()
        return torch.load(found[-1][1]) if found else None
