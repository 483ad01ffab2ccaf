import json
import pathlib

from utils import main_process


class RunTracker:
    """Metric log and snapshots of one run."""

    def __init__(self, out, keep_every):
        self.out = pathlib.Path(out)
        self.keep_every = keep_every
        self._make_dirs()

    @main_process
    def _make_dirs(self):
        self.out.mkdir(parents=True, exist_ok=True)

    @main_process
    def metrics(self, step, **values):
        with (self.out / "metrics.jsonl").open("a") as f:
            f.write(json.dumps({"step": step, **values}) + "\n")

    @main_process
    def snapshot(self, engine, step, epoch):
        engine.save_checkpoint(str(self.out), tag=f"step{step}", client_state={"step": step, "epoch": epoch})

    def maybe_snapshot(self, engine, step, epoch):
        if step % self.keep_every == 0:
            self.snapshot(engine, step, epoch)
