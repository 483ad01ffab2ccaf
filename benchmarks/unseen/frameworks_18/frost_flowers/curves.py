"""Growth curves of a run, written to a file while the run goes on."""

import json
import logging
import queue
import threading
from pathlib import Path

from lightning.pytorch.callbacks import Callback

log = logging.getLogger("curves")


class CurveFile(Callback):
    """Appends the logged metrics to a JSON-lines file. A thread writes them, so that a slow disk holds nobody up."""

    def __init__(self, folder, every=10):
        self.path = Path(folder) / "curves.jsonl"
        self.every = every
        self.rows = None
        self.writer = None

    def setup(self, trainer, pl_module, stage):
        if not trainer.is_global_zero:
            return
        self.rows = queue.Queue()
        self.writer = threading.Thread(target=self.write, args=(self.rows,), name=f"curves-{stage}")
        self.writer.start()

    def write(self, rows):
        with self.path.open("a") as out:
            while (row := rows.get()) is not None:
                out.write(json.dumps(row) + "\n")
                out.flush()

    def put(self, trainer, **more):
        if self.rows is not None:
            values = {name: round(float(value), 5) for name, value in trainer.callback_metrics.items()}
            self.rows.put({"step": trainer.global_step, **values, **more})

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step % self.every == 0:
            self.put(trainer)

    def on_validation_end(self, trainer, pl_module):
        self.put(trainer, part="validation")

    def on_test_end(self, trainer, pl_module):
        self.put(trainer, part="test")

    def on_train_end(self, trainer, pl_module):
        if self.rows is not None:
            self.rows.put(None)
            self.writer.join()
            log.info("curves are in %s", self.path)
