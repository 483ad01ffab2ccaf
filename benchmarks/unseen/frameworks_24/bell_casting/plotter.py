"""Draws cooling curves in a process of its own, a dozen to a sheet."""

import multiprocessing
from pathlib import Path

from lightning.pytorch.callbacks import Callback

PER_SHEET = 12
WIDTH, HEIGHT = 60, 16


def draw(queue, folder, rank):
    """Writes the sheets that arrive as portable greymaps."""
    number = 0
    for sheet in iter(queue.get, None):
        rows = [["0"] * WIDTH for _ in range(HEIGHT)]
        for curve in sheet:
            for x in range(WIDTH):
                value = curve[x * len(curve) // WIDTH]
                y = min(HEIGHT - 1, max(0, int((value + 2) / 4 * HEIGHT)))
                rows[y][x] = "1"
        path = Path(folder) / f"bells_{rank}_{number}.pbm"
        path.write_text(f"P1\n{WIDTH} {HEIGHT}\n" + "\n".join(" ".join(row) for row in rows))
        number += 1


class Plotter:
    def __init__(self, folder, rank):
        context = multiprocessing.get_context("fork")
        self.queue = context.Queue()
        self.process = context.Process(target=draw, args=(self.queue, folder, rank))
        self.curves = []

    def start(self):
        self.process.start()

    def add(self, curve):
        self.curves.append(curve)
        if len(self.curves) == PER_SHEET:
            self.queue.put(self.curves)
            self.curves = []

    def close(self):
        """Hand over the last sheet; the process ends when it has drawn it."""
        if self.curves:
            self.queue.put(self.curves)
            self.queue.put(None)


class DrawCracked(Callback):
    """Draws the curves of all cracked bells in the test."""

    def __init__(self, folder):
        self.folder = folder
        self.plotter = None

    def on_test_start(self, trainer, pl_module):
        self.plotter = Plotter(self.folder, trainer.global_rank)
        self.plotter.start()

    def on_test_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        curves, cracked = batch
        for curve in curves[cracked > 0.5].tolist():
            self.plotter.add(curve)

    def on_test_end(self, trainer, pl_module):
        self.plotter.close()
