import json
import pathlib

import torch


class BestCheckpointer:
    """Keeps the weights with the lowest monitored value."""

    def __init__(self, accelerator, directory, min_delta=0.0):
        self.accelerator = accelerator
        self.dir = pathlib.Path(directory)
        self.min_delta = min_delta
        self.best = float("inf")

    def update(self, value, model, epoch):
        if value >= self.best - self.min_delta:
            return False
        self.best = value
        self._write(model, epoch)
        return True

    def _write(self, model, epoch):
        acc = self.accelerator
        acc.wait_for_everyone()
        if acc.is_main_process:
            self.dir.mkdir(parents=True, exist_ok=True)
            torch.save(acc.unwrap_model(model).state_dict(), self.dir / "best.pt")
            (self.dir / "best.json").write_text(json.dumps({"epoch": epoch, "value": self.best}))
        acc.wait_for_everyone()
