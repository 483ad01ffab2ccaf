"""What the harbours know of each other: a board of errors, and the correction that the best harbour hands out."""

import torch
from accelerate.utils import broadcast


class Board:
    """Errors of all harbours.

    Every harbour writes its own line as it goes; the lines of the others are brought up to date once per epoch.
    """

    def __init__(self, accelerator, decay=0.9):
        self.accelerator = accelerator
        self.decay = decay
        self.own = None
        self.errors = [0.0] * accelerator.num_processes

    def note(self, loss):
        """Takes the loss of one step into the running error of this harbour."""
        self.own = loss if self.own is None else self.decay * self.own + (1 - self.decay) * loss
        self.errors[self.accelerator.process_index] = self.own

    def refresh(self):
        mine = torch.tensor([self.own])
        self.errors = self.accelerator.gather(mine).tolist()

    def leader(self):
        """The harbour that forecasts best at present."""
        return min(range(len(self.errors)), key=self.errors.__getitem__)


class Correction:
    """A correction of the forecast hour by hour, which moves towards that of the leading harbour."""

    def __init__(self, board, hours, pull=0.5):
        self.board = board
        self.values = torch.zeros(hours)
        self.pull = pull

    def update(self, residual, rate=0.05):
        self.values += rate * residual.mean(0)

    def share(self):
        theirs = broadcast(self.values.clone(), from_process=self.board.leader())
        self.values.lerp_(theirs, self.pull)

    def __call__(self, forecast):
        return forecast + self.values
