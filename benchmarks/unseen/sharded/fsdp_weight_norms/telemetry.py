"""Run telemetry: one JSON line per logging interval."""
import json
import time
from pathlib import Path

import torch.distributed as dist


class RunTelemetry:
    def __init__(self, directory: Path, every: int):
        self.every = every
        self.started = time.monotonic()
        self._watched = None
        self._sink = None
        if dist.get_rank() == 0:
            directory.mkdir(parents=True, exist_ok=True)
            self._sink = (directory / "telemetry.jsonl").open("w")

    def watch(self, model):
        """Follow the weight norms of ``model`` from now on."""
        self._watched = model
        return self

    def _weight_norms(self):
        norms = {}
        for name, p in self._watched.named_parameters():
            if p.ndim > 1:
                norms[name] = p.detach().norm().full_tensor().item()
        return norms

    def log(self, step: int, **scalars):
        if self._sink is None or step % self.every:
            return
        row = {"step": step, "t": round(time.monotonic() - self.started, 2), **scalars}
        row["weight_norm"] = self._weight_norms()
        self._sink.write(json.dumps(row) + "\n")
        self._sink.flush()
        print(f"step {step:4d}  loss {scalars['loss']:.4f}", flush=True)

    def close(self):
        if self._sink is not None:
            self._sink.close()
