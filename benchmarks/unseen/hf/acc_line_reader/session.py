"""Start and end of a training run, so that every script does it in the same way."""
import json
import time
from pathlib import Path


class TrainingSession:
    def __init__(self, accelerator, folder):
        self.accelerator = accelerator
        self.folder = Path(folder)
        self.steps = 0

    def __enter__(self):
        self.started = time.time()
        self.accelerator.print("run folder:", self.folder)
        return self

    def tick(self):
        self.steps += 1

    def __exit__(self, kind, error, trace):
        # all processes have to be done before the summary is written
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            summary = {"steps": self.steps, "seconds": round(time.time() - self.started, 1)}
            (self.folder / "summary.json").write_text(json.dumps(summary))
        self.accelerator.end_training()
