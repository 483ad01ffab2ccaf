"""Checkpoints written by all ranks at once.

The model is replicated, so every rank writes its part of the tensors:

    step_000020/part_0.pt, part_1.pt, ...

A checkpoint is written to a folder with the ending .tmp first, so that a
folder without it is always a whole one.
"""
import hashlib
import os
import re
import shutil

import torch
import torch.distributed as dist

NAME = re.compile(r"step_(\d{6})$")


def finished(root):
    if not os.path.isdir(root):
        return []
    return sorted(d for d in os.listdir(root) if NAME.match(d))


def digest(tensors):
    h = hashlib.sha256()
    for key in sorted(tensors):
        h.update(key.encode())
        h.update(tensors[key].numpy().tobytes())
    return h.hexdigest()


class ShardedCheckpoint:
    def __init__(self, root, keep=2):
        self.root = root
        self.keep = keep
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()

    def save(self, state, step):
        """`state` is a flat dict of tensors, the same on every rank."""
        final = os.path.join(self.root, f"step_{step:06d}")
        tmp = final + ".tmp"
        if self.rank == 0:
            shutil.rmtree(tmp, ignore_errors=True)
            os.makedirs(tmp)
        dist.barrier()
        keys = sorted(state)[self.rank::self.world]
        part = {k: state[k].detach().cpu().contiguous() for k in keys}
        record = {"tensors": part, "sha256": digest(part), "world": self.world}
        torch.save(record, os.path.join(tmp, f"part_{self.rank}.pt"))
        if self.rank == 0:
            shutil.rmtree(final, ignore_errors=True)
            os.rename(tmp, final)
            for old in finished(self.root)[:-self.keep]:
                shutil.rmtree(os.path.join(self.root, old))
        dist.barrier()

    def load_latest(self):
        """(state, step) of the newest checkpoint, or (None, 0)."""
        names = [finished(self.root)[-1:] if self.rank == 0 else None]
        dist.broadcast_object_list(names, src=0)
        if not names[0]:
            return None, 0
        folder = os.path.join(self.root, names[0][0])
        first = torch.load(os.path.join(folder, "part_0.pt"), map_location="cpu", weights_only=True)
        state = {}
        for i in range(first["world"]):
            record = torch.load(os.path.join(folder, f"part_{i}.pt"), map_location="cpu",
                                weights_only=True)
            if digest(record["tensors"]) != record["sha256"]:
                raise RuntimeError(f"{folder}: part {i} is damaged")
            state.update(record["tensors"])
        return state, int(NAME.search(folder).group(1))
