"""A table of the run for the spreadsheet of the department."""

import csv
import time
from pathlib import Path

from transformers import TrainerCallback

HEADER = ("step", "loss", "norm", "rate", "minutes")


class CsvJournal(TrainerCallback):
    """Adds a row for everything that the trainer logs and writes the table at the end."""

    def __init__(self, path):
        self.path = Path(path)
        self.rows = []
        self.began = None

    def on_train_begin(self, args, state, control, **kwargs):
        self.began = time.monotonic()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if not state.is_world_process_zero:
            return
        self.rows.append(self.row(state.global_step, logs))

    def row(self, step, logs):
        minutes = (time.monotonic() - self.began) / 60
        return step, round(logs["loss"], 4), round(float(logs["grad_norm"]), 3), logs["learning_rate"], round(minutes, 2)

    def on_train_end(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            with self.path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(HEADER)
                writer.writerows(self.rows)
