"""The log of plays. Listeners who have come before make up most of it."""
import time

import torch

SHOWS = 50
LISTENERS = 200


class Log:
    def __init__(self, rank, batch=12):
        self.rank, self.batch = rank, batch
        self.random = torch.Generator().manual_seed(31 + rank)

    def hour(self, hour, batches=10):
        """The batches of one hour: (listener, show, finished, new)."""
        for number in range(batches):
            time.sleep(0.03)
            listener = torch.randint(0, LISTENERS, (self.batch,), generator=self.random)
            show = torch.randint(0, SHOWS, (self.batch,), generator=self.random)
            finished = ((listener + show) % 3 == 0).float()
            new = torch.zeros(self.batch, dtype=torch.bool)
            if number % 4 == 2:
                new[self.batch // 2:] = True
            if self.rank == 1 and hour == 22 and number == 0:
                new[:5] = True             # the advertisement of the breakfast show
            yield listener, show, finished, new
