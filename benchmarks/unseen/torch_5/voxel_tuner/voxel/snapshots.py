"""Keeps the k best weights of a run on disk."""
import json
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


class SnapshotStore:
    def __init__(self, folder, keep=2, writer=0):
        self.folder = Path(folder)
        self.keep = keep
        self.writer = writer
        self.entries = []

    @property
    def writes(self):
        return dist.get_rank() == self.writer

    def offer(self, net, step, score):
        """Take a snapshot if the score is among the best; returns its path."""
        if len(self.entries) >= self.keep and score >= self.entries[-1][0]:
            return None
        path = self.folder / f"voxel-{step:05d}.pt"
        if self.writes:
            self._write(net, path, step, score)
        self.entries = sorted(self.entries + [(score, str(path))])[: self.keep]
        dist.barrier()
        return path

    def _write(self, net, path, step, score):
        weights = self._collect(net)
        torch.save({"weights": weights, "step": step}, path)
        path.with_suffix(".json").write_text(json.dumps({"step": step, "score": score}))

    def _collect(self, net):
        wanted = StateDictOptions(full_state_dict=True, cpu_offload=True)
        return get_model_state_dict(net, options=wanted)
