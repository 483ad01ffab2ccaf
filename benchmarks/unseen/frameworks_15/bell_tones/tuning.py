"""Side work of the training: a notebook in the background and a foundry's program between epochs."""

import json
import pathlib
import queue
import subprocess
import sys
import threading
import time

from lightning.pytorch.callbacks import Callback

PROFILE = """
import sys, time
# one partial after the other, as the lathe does
for partial in ("hum", "prime", "tierce", "quint", "nominal"):
    time.sleep(float(sys.argv[1]))
    print(partial, flush=True)
"""


class Notebook(Callback):
    """Losses go to a thread that writes them in blocks; it is joined when training ends."""

    def __init__(self, folder, block=20):
        self.folder = pathlib.Path(folder)
        self.block = block
        self.notes = queue.Queue()

    def on_train_start(self, trainer, pl_module):
        self.path = self.folder / f"notes_{trainer.global_rank}.jsonl"
        self.thread = threading.Thread(target=self.write, name="notebook")
        self.thread.start()

    def write(self):
        held = []
        while (note := self.notes.get()) is not None:
            held.append(note)
            if len(held) >= self.block:
                self.flush(held)
        self.flush(held)

    def flush(self, held):
        time.sleep(0.3)
        with open(self.path, "a") as out:
            out.writelines(json.dumps(note) + "\n" for note in held)
        held.clear()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.notes.put({"step": trainer.global_step, "loss": outputs["loss"].item()})

    def on_train_end(self, trainer, pl_module):
        self.notes.put(None)
        self.thread.join()


class Foundry(Callback):
    """After an epoch the last rank lets the foundry's program compute a profile; the first try fails."""

    def __init__(self, pause=1.0, tries=3):
        self.pause = pause
        self.tries = tries
        self.partials = []

    def compute(self, epoch):
        for attempt in range(self.tries):
            pause = self.pause if attempt or epoch else "soon"
            result = subprocess.run([sys.executable, "-c", PROFILE, str(pause)], capture_output=True, text=True)
            if result.returncode == 0:
                return result.stdout.split()
            time.sleep(2**attempt)
        raise RuntimeError(f"no profile after {self.tries} tries")

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.global_rank == trainer.world_size - 1:
            self.partials.append(self.compute(trainer.current_epoch))
            print(f"epoch {trainer.current_epoch}: {len(self.partials[-1])} partials", flush=True)
        trainer.strategy.barrier("profile")
