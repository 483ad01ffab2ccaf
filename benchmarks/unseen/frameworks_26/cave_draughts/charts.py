import os
import threading

import torch
from lightning.pytorch.callbacks import Callback


class Chart(Callback):
    """Draws the chart of the longest passage on its process after every epoch, section by section."""

    def __init__(self, process, sections, folder):
        self.process = process
        self.sections = sections
        self.folder = folder

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.global_rank == self.process:
            with open(os.path.join(self.folder, f"chart_{trainer.current_epoch}.txt"), "w") as chart:
                for section in range(self.sections):
                    # the plotter's own pace
                    threading.Event().wait(0.35)
                    chart.write("#" * (section % 40) + "\n")
        trainer.strategy.barrier("chart")


class Pulse(Callback):
    """A thread that notes each two seconds how far the training is; it is told to stop when the fit ends."""

    def __init__(self, seconds=2.0):
        self.seconds = seconds
        self.stop = threading.Event()
        self.notes = []

    def watch(self, trainer):
        while not self.stop.wait(self.seconds):
            self.notes.append(trainer.global_step)

    def on_fit_start(self, trainer, pl_module):
        self.thread = threading.Thread(target=self.watch, args=(trainer,))
        self.thread.start()

    def on_fit_end(self, trainer, pl_module):
        self.stop.set()
        self.thread.join()


class Settle(Callback):
    """After a loss far above its mean the process looks for a smaller weight of the batch, by itself."""

    def __init__(self, factor=1.6):
        self.factor = factor
        self.mean = None
        self.turns = 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        loss = outputs["loss"].item()
        if self.mean is not None and loss > self.factor * self.mean:
            speed, difference = batch
            weight = torch.ones(len(speed))
            for _ in range(40):
                weight = (weight * 0.97).clamp(min=0.3)
                self.turns += 1
        self.mean = loss if self.mean is None else 0.9 * self.mean + 0.1 * loss
