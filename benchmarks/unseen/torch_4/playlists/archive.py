"""Retention of checkpoints in a directory tree, newest `keep` of them."""
import collections
import pathlib
import shutil
import tempfile

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict


class Archive:
    def __init__(self, root=None, keep=2):
        self.root = pathlib.Path(root or tempfile.mkdtemp(prefix="playlists-"))
        self.kept = collections.deque()
        self.keep = keep

    @property
    def writable(self):
        return dist.get_rank() == 0

    def put(self, step, model, optimizer):
        weights, moments = get_state_dict(model, optimizer)
        if self.writable:
            target = self.root / f"step-{step:06d}"
            dcp.save({"model": weights, "optim": moments}, checkpoint_id=target)
            self.kept.append(target)
            while len(self.kept) > self.keep:
                shutil.rmtree(self.kept.popleft())
