"""Callbacks of the observatory: a bulletin that is sent in the background, and maps that take their time."""

import logging
import queue
import random
import threading
import time

from lightning.pytorch.callbacks import Callback

log = logging.getLogger("domes")


class Bulletin(Callback):
    """The first process sends a bulletin after each validation; a thread does it, and is waited for at the end."""

    def __init__(self, seconds=1.4):
        self.seconds = seconds
        self.outbox = queue.Queue()
        self.sender = None

    def setup(self, trainer, pl_module, stage):
        if trainer.is_global_zero and self.sender is None:
            self.sender = threading.Thread(target=self.send, name="bulletin")
            self.sender.start()

    def send(self):
        line = random.Random(5)
        while (text := self.outbox.get()) is not None:
            while line.random() < 0.4:
                log.info("the line is busy")
                time.sleep(0.5)
            time.sleep(self.seconds)
            log.info("sent: %s", text)

    def on_validation_epoch_end(self, trainer, pl_module):
        if self.sender is not None:
            self.outbox.put(f"mse {trainer.callback_metrics['val_mse'].item():.4f}")

    def teardown(self, trainer, pl_module, stage):
        if self.sender is not None:
            self.outbox.put(None)
            self.sender.join()
            self.sender = None


class HazardMap(Callback):
    """Every second epoch the last process draws a map; the others find it in the next epoch."""

    def __init__(self, every=2, tiles=14):
        self.every = every
        self.tiles = tiles

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.global_rank != trainer.world_size - 1 or (trainer.current_epoch + 1) % self.every:
            return
        for _ in range(self.tiles):
            time.sleep(0.2)
        log.info("a map of %d tiles after epoch %d", self.tiles, trainer.current_epoch)
