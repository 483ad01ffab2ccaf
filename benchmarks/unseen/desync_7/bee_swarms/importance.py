import copy
import queue
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector


class Importance:
    """How much each weight matters (the diagonal of the Fisher information), worked out beside the training.

    The network is copied when it is asked for; a thread goes through the recordings put aside and takes the sum of all
    ranks.
    """

    def __init__(self, aside):
        self.aside = aside
        self.jobs = queue.Queue()
        self.latest = None
        self.thread = threading.Thread(target=self.work, name="importance", daemon=True)
        self.thread.start()

    def request(self, network):
        self.jobs.put(copy.deepcopy(network))

    def work(self):
        while (network := self.jobs.get()) is not None:
            total = torch.zeros(sum(p.numel() for p in network.parameters()))
            for sound, swarming in self.aside:
                total += self.squares(network, sound, swarming)
            dist.all_reduce(total)
            self.latest = total

    def squares(self, network, sound, swarming):
        loss = nn.functional.cross_entropy(network(sound), swarming)
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        return parameters_to_vector(gradients).square()

    def close(self):
        self.jobs.put(None)
        self.thread.join()


class Aside:
    """The recordings of a hive that are not trained on; they are decoded when they are asked for."""

    def __init__(self, recordings):
        self.recordings = recordings

    def __iter__(self):
        for sound, swarming, seconds in self.recordings:
            time.sleep(seconds / 100)
            yield sound, swarming
