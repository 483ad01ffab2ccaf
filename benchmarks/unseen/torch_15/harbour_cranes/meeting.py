"""Where the processes of a job meet.

Several jobs share a host, and two of them must not meet at one port. The port follows from the name and the revision of
the job, so that nobody has to hand out numbers.
"""
import dataclasses
import datetime
import logging
import os

import torch.distributed as dist

logger = logging.getLogger("meeting")


@dataclasses.dataclass(frozen=True)
class JobAddress:
    job: str
    revision: str
    host: str = "127.0.0.1"
    first_port: int = 20000
    ports: int = 10000

    def port(self):
        return self.first_port + hash((self.job, self.revision)) % self.ports


def meet(address, patience=datetime.timedelta(minutes=20)):
    """The default group over a store of the job's own, and that store."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    port = address.port()
    logger.info("process %d of job %s", rank, address.job)
    store = dist.TCPStore(address.host, port, world, rank == 0, patience)
    dist.init_process_group("gloo", store=dist.PrefixStore("world", store), rank=rank, world_size=world)
    return dist.PrefixStore("notes", store)


def note(store, key, value):
    """A note for operators, who read the store with a script."""
    store.set(key, str(value))


def leave():
    dist.barrier()
    dist.destroy_process_group()
