"""What the studio does beside the training: cards of swatches and a protocol."""

import subprocess
import sys
import threading
import time
from pathlib import Path

from lightning.pytorch.callbacks import Callback


class Protocol(threading.Thread):
    """Writes lines at the pace of a slow share; what is left when it is closed is still written."""

    def __init__(self, path, pause):
        super().__init__(name="protocol")
        self.path = path
        self.pause = pause
        self.lines = []
        self.closed = False
        self.changed = threading.Condition()

    def write(self, line):
        with self.changed:
            self.lines.append(line)
            self.changed.notify()

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify()

    def run(self):
        with self.path.open("w") as out:
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self.lines or self.closed)
                    if not self.lines:
                        return
                    line = self.lines.pop(0)
                time.sleep(self.pause)
                out.write(line + "\n")
                out.flush()


class Studio(Callback):
    """After each validation the main process prints a card; the looms are not run meanwhile."""

    def __init__(self, folder, attempts=3):
        self.folder = Path(folder)
        self.attempts = attempts
        self.protocol = None

    def on_fit_start(self, trainer, pl_module):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.protocol = Protocol(self.folder / f"protocol{trainer.global_rank}.txt", pause=1.3)
        self.protocol.start()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if batch_idx % (8 if trainer.global_rank == 2 else 40) == 0:
            self.protocol.write(f"{trainer.global_step}: {outputs['loss'].item():.4f}")

    def print_card(self, number):
        script = Path(__file__).with_name("swatch.py")
        for attempt in range(self.attempts):
            card = self.folder / f"card{number}.txt"
            done = subprocess.run([sys.executable, str(script), str(card), str(attempt)], capture_output=True)
            if done.returncode == 0:
                return card
            time.sleep(1.0)
        raise RuntimeError(f"card {number} was not printed: {done.stderr.decode()}")

    def on_validation_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            self.print_card(trainer.current_epoch)
        trainer.strategy.barrier("card")

    def on_fit_end(self, trainer, pl_module):
        self.protocol.close()
