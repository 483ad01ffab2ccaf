import csv
import logging
import time

from distutil import gather_rows

log = logging.getLogger("tram")


class Callback:
    def on_step_end(self, trainer, loss):
        pass

    def on_epoch_end(self, trainer, epoch):
        pass


class Throughput(Callback):
    def __init__(self):
        self.seen = 0
        self.since = time.perf_counter()

    def on_step_end(self, trainer, loss):
        self.seen += trainer.cfg.batch

    def on_epoch_end(self, trainer, epoch):
        rate = self.seen / (time.perf_counter() - self.since)
        log.info("epoch %d: %.0f stops/s", epoch, rate)
        self.seen, self.since = 0, time.perf_counter()


class CosineDecay(Callback):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def on_step_end(self, trainer, loss):
        self.scheduler.step()


class DelayTable(Callback):
    """Writes the error of each line and hour to a CSV file, every few epochs."""

    def __init__(self, path, every=4):
        self.path = path
        self.every = every

    def on_epoch_end(self, trainer, epoch):
        if (epoch + 1) % self.every:
            return
        rows = gather_rows(trainer.residuals())
        with open(self.path, "a", newline="") as file:
            writer = csv.writer(file)
            for line, hour, residual in rows:
                writer.writerow([epoch, line, hour, f"{residual:.3f}"])
