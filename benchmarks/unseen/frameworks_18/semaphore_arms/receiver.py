"""A source node for torchdata: a thread receives and decodes a log, the node hands its samples out."""

import math
import queue
import random
import threading

import torch
from torchdata.nodes import BaseNode

from station import ANGLE

END = object()


class ReceiverNode(BaseNode):
    """Samples of one log, in its order. The thread runs ahead by at most `ahead` samples."""

    SAMPLES = "samples"

    def __init__(self, log, ahead=64, jitter=6.0):
        super().__init__()
        self.log = log
        self.ahead = ahead
        self.jitter = jitter
        self.samples = None
        self.handed_out = 0

    def reset(self, initial_state=None):
        super().reset(initial_state)
        self.handed_out = 0
        self.samples = queue.Queue(self.ahead)
        threading.Thread(target=self.receive, args=(self.samples,), name="receiver", daemon=True).start()

    def receive(self, samples):
        rng = random.Random(0)
        for entry in self.log:
            samples.put(self.decode(entry, rng))
        samples.put(END)

    def decode(self, entry, rng):
        left, right, letter = entry.split(",")
        view = []
        for arm in (left, right):
            angle = math.radians(ANGLE[arm] + rng.gauss(0.0, self.jitter))
            view += [math.sin(angle), math.cos(angle)]
        return torch.tensor(view), int(letter)

    def next(self):
        sample = self.samples.get()
        if sample is END:
            raise StopIteration
        self.handed_out += 1
        return sample

    def get_state(self):
        return {self.SAMPLES: self.handed_out}
