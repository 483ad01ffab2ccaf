"""Days from the mushers to the coach (rank 0), and weights back, point to point."""
import threading
import time

import torch
import torch.distributed as dist

COACH, LONGEST = 0, 40
DAY, BYE = 1, 2


def post_day(rows):
    """One day: a header with the kind and the length, then the rows."""
    dist.send(torch.tensor([DAY, len(rows)]), dst=COACH)
    dist.send(torch.tensor(rows), dst=COACH)


def post_bye():
    dist.send(torch.tensor([BYE, 0]), dst=COACH)


def take():
    """The next message of whoever has one; the coach waits as long as it takes."""
    header = torch.zeros(2, dtype=torch.long)
    sender = dist.recv(header)
    if header[0] == BYE:
        return sender, None
    rows = torch.zeros(int(header[1]), 3)
    dist.recv(rows, src=sender)
    return sender, rows


class Diary(threading.Thread):
    """Copies the coach's notes line by line to a slow disk; the program ends when it has finished."""

    def __init__(self, lines, pause):
        super().__init__(name="diary")
        self.lines = lines
        self.pause = pause
        self.copied = 0

    def run(self):
        for _ in self.lines:
            time.sleep(self.pause)
            self.copied += 1
        print(f"diary: {self.copied} lines", flush=True)
