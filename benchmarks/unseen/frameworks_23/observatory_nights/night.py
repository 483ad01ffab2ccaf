"""What happens between two nights: the plan of the next one, made by the main process, and the log that follows later."""

import subprocess
import sys
import threading
import time

from lightning.pytorch.callbacks import Callback

PLANNER = """
import json, sys, time
fields = int(sys.argv[1])
for field in range(fields):
    time.sleep(0.12)
print(json.dumps(list(range(0, fields, 3))))
"""


class NightPlan(Callback):
    """The main process has the next night planned by a program of its own; all get the same plan."""

    def __init__(self, fields):
        self.fields = fields
        self.plan = []

    def ask(self):
        done = subprocess.run(
            [sys.executable, "-c", PLANNER, str(self.fields)], capture_output=True, text=True, check=True, timeout=120
        )
        return done.stdout.strip()

    def on_train_epoch_end(self, trainer, pl_module):
        answer = self.ask() if trainer.is_global_zero else None
        self.plan = trainer.strategy.broadcast(answer, src=0)


class Clouds(Callback):
    """Ends the season if the sky over every dome is closed; a closed sky over one dome is waited for."""

    def __init__(self, closed, wait):
        self.closed = closed
        self.wait = wait

    def on_train_epoch_start(self, trainer, pl_module):
        mine = (trainer.global_rank, trainer.current_epoch) in self.closed
        if trainer.strategy.reduce_boolean_decision(mine, all=True):
            trainer.should_stop = True
        elif mine:
            time.sleep(self.wait)


class Logbook(Callback):
    """Writes an entry per night in the background, and the whole book after the season."""

    def __init__(self, pace):
        self.pace = pace
        self.entries = []
        self.threads = []

    def write(self, entry):
        time.sleep(self.pace)
        self.entries.append(entry)

    def on_validation_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            thread = threading.Thread(target=self.write, args=(f"night {trainer.current_epoch}",))
            thread.start()
            self.threads.append(thread)

    def on_fit_end(self, trainer, pl_module):
        for thread in self.threads:
            thread.join()
        trainer.strategy.barrier("logbook")
        if trainer.global_rank == 2:
            threading.Thread(target=self.write, args=("domes closed",), name="closing").start()
