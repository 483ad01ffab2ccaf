"""A file in shared memory with a row for every machine of the mill."""

import os
import tempfile

import torch
import torch.distributed as dist


class Board:
    """Every machine writes its row, and all read the whole table when everybody has written."""

    def __init__(self, columns):
        self.rank, self.machines = dist.get_rank(), dist.get_world_size()
        path = [None]
        if self.rank == 0:
            handle, path[0] = tempfile.mkstemp(prefix="mill_", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
            os.close(handle)
        dist.broadcast_object_list(path, src=0)
        self.path = path[0]
        size = self.machines * columns
        self.table = torch.from_file(self.path, shared=True, size=size).view(self.machines, columns)
        self.group = dist.group.WORLD
        self.written = None
        dist.barrier()
        if self.rank == 0:
            os.unlink(self.path)

    def publish(self, row):
        """Writes the row of this machine and waits until all rows are there."""
        if self.written is not None and torch.equal(row, self.written):
            return self.mean  # the table has this row already
        self.table[self.rank] = row
        self.written = row.clone()
        dist.barrier(group=self.group)
        self.mean = self.table.mean(0)
        return self.mean
