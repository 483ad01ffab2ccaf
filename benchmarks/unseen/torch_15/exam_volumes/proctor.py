"""How the processes tell each other that they are done: through keys in the store, so that nobody holds up the others."""
import datetime
import json

import torch.distributed as dist

A_DAY = datetime.timedelta(days=1)


class Proctor:
    """Results go to the store under the volume and the process; process 0 adds them up and publishes the marks."""

    def __init__(self):
        self.store = dist.PrefixStore("exam", dist.distributed_c10d._get_default_store())
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def hand_in(self, volume, right, asked):
        self.store.set(f"{volume}/{self.rank}", json.dumps([right, asked]))

    def expect(self, key):
        self.store.wait([key], A_DAY)

    def collect(self, volume):
        right = asked = 0
        for rank in range(self.world):
            result = f"{volume}/{rank}"
            self.expect(result)
            mine = json.loads(self.store.get(result))
            right, asked = right + mine[0], asked + mine[1]
        self.store.set(f"{volume}/mark", json.dumps(right / asked))

    def mark(self, volume):
        """The share of right answers in the whole volume, on every process."""
        if self.rank == 0:
            self.collect(volume)
        key = f"{volume}/mark"
        self.expect(key)
        return json.loads(self.store.get(key))

    def close(self):
        dist.destroy_process_group()
