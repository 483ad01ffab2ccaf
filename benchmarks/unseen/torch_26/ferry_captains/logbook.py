"""Messages between captains over the store of the job, and averages around the ring."""
import datetime
import time

import torch
import torch.distributed as dist


class Watch:
    """One captain after the other has the watch; the next one polls until it is handed over."""

    def __init__(self, store, rank, world):
        self.store, self.rank, self.world = store, rank, world
        if rank == 0:
            store.set("watch", "0")

    def stand(self, number, seconds):
        turn = number * self.world + self.rank
        while True:
            try:
                self.store.wait([f"over/{turn - 1}"] if turn else ["watch"], datetime.timedelta(seconds=1))
                break
            except dist.DistStoreError:
                time.sleep(0.2)
        time.sleep(seconds)
        self.store.set(f"over/{turn}", "1")


def ring_average(vector):
    """Each captain's vector goes once around; isend first, then recv, so that nobody waits for itself."""
    rank, world = dist.get_rank(), dist.get_world_size()
    total, parcel = vector.clone(), vector.clone()
    for _ in range(world - 1):
        incoming = torch.empty_like(parcel)
        sent = dist.isend(parcel, dst=(rank + 1) % world)
        dist.recv(incoming, src=(rank - 1) % world)
        sent.wait()
        total += incoming
        parcel = incoming
    return total / world
