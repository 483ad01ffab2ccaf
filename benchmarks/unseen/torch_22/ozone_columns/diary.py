"""The diary of a run: a line of JSON for each report, written by the first process."""
import json
import pathlib
import tempfile
import time

import torch
import torch.distributed as dist


class Diary:
    """Keeps the curves that are looked at after a run.

    Beside loss and rate, a line has the size of Adam's steps in each layer, which shows layers that have come to rest.
    """

    def __init__(self, model, optimizer, folder=None):
        self.names = {parameter: name for name, parameter in model.named_parameters()}
        self.optimizer = optimizer
        self.begun = time.monotonic()
        self.file = None
        if dist.get_rank() == 0:
            folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="ozone-"))
            self.file = open(folder / "diary.jsonl", "a")

    def step_sizes(self):
        sizes = {}
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                state = self.optimizer.state.get(parameter)
                if not state or not self.names[parameter].endswith("weight"):
                    continue
                first = state["exp_avg"].full_tensor()
                second = state["exp_avg_sq"].full_tensor()
                update = first / (second.sqrt() + group["eps"])
                sizes[self.names[parameter]] = group["lr"] * update.abs().mean().item()
        return sizes

    def write(self, step, detailed=False, **values):
        if self.file is None:
            return
        line = {"step": step, "seconds": round(time.monotonic() - self.begun, 2), **values}
        if detailed:
            line["step_sizes"] = self.step_sizes()
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def close(self):
        if self.file is not None:
            self.file.close()
        torch.set_printoptions(profile="default")
