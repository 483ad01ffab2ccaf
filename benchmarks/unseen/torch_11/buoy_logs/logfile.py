import pathlib
import time

import torch


class LogReader:
    """Records of a buoy's log file. The receiver may still be appending: a line without its end is waited for."""

    def __init__(self, path, poll=0.05):
        self.path = pathlib.Path(path)
        self.poll = poll

    def _line(self, file):
        text = file.readline()
        while not text.endswith("\n"):
            time.sleep(self.poll)
            text += file.readline()
        return text

    def records(self, count):
        with open(self.path, encoding="ascii") as file:
            for _ in range(count):
                fields = self._line(file).split(",")
                yield torch.tensor([float(x) for x in fields])


def write_log(path, records, channels, seed, cut=None):
    """A log as the receiver leaves it; with `cut` the connection was lost in the middle of that record."""
    g = torch.Generator().manual_seed(seed)
    with open(path, "w", encoding="ascii") as file:
        for number in range(records):
            values = torch.randn(channels, generator=g).cumsum(0).tolist()
            line = ",".join(f"{x:.4f}" for x in values)
            if number == cut:
                file.write(line[: len(line) // 2])
                return
            file.write(line + "\n")
