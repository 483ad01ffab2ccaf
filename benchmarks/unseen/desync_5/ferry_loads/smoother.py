import threading
import time

import torch.distributed as dist
from torch.nn.utils import parameters_to_vector


class Smoother:
    """Averages slow copies of the weights over the harbours, at a pace of its own."""

    def __init__(self, model, group, rounds, pause, decay=0.9):
        self.model, self.group, self.rounds, self.pause, self.decay = model, group, rounds, pause, decay
        self.slow = self.weights()
        self.thread = threading.Thread(target=self.loop, name="smoother")

    def weights(self):
        return parameters_to_vector(self.model.parameters()).detach().clone()

    def round(self):
        self.slow = self.decay * self.slow + (1 - self.decay) * self.weights()
        mean = self.slow.clone()
        dist.all_reduce(mean, group=self.group)
        self.slow = mean / dist.get_world_size(self.group)

    def loop(self):
        for number in range(self.rounds):
            time.sleep(self.pause * (1 + number % 3))
            self.round()

    def start(self):
        self.thread.start()

    def finish(self):
        self.thread.join()
        return self.slow
