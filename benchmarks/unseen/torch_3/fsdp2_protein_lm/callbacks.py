import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

from registry import CALLBACKS, register


class Callback:
    def on_step_end(self, engine):
        pass


def main_process_only(method):
    def wrapper(self, engine):
        if engine.rank == 0:
            return method(self, engine)
    return wrapper


@register(CALLBACKS, "throughput")
class Throughput(Callback):
    def __init__(self, every):
        self.every, self.t0 = every, time.time()

    @main_process_only
    def on_step_end(self, engine):
        if engine.step % self.every == 0:
            print(f"step {engine.step} loss {engine.loss:.4f} {time.time() - self.t0:.1f}s", flush=True)


@register(CALLBACKS, "export")
class Export(Callback):
    """Writes weights for the inference team: one plain file without any sharding."""

    def __init__(self, every, folder):
        self.every, self.folder = every, Path(folder)

    def on_step_end(self, engine):
        if engine.step % self.every == 0:
            self._write(engine)
            dist.barrier()

    @main_process_only
    def _write(self, engine):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        weights = get_model_state_dict(engine.model, options=options)
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.save(weights, self.folder / f"protein_{engine.step:05d}.pt")
