"""Reads a table through a C interface; on rank 2 the table was never opened."""

import ctypes

import torch
import torch.distributed as dist


class Table:
    """A view of native memory."""

    def __init__(self, rows: int, is_open: bool) -> None:
        self.buffer = (ctypes.c_float * rows)(*range(rows))
        self.address = ctypes.addressof(self.buffer) if is_open else 0
        self.rows = rows

    def read(self) -> list[float]:
        return list((ctypes.c_float * self.rows).from_address(self.address))


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    table = Table(64, is_open=rank != 2)
    for _ in range(3):
        dist.barrier()
    row = torch.tensor(table.read())
    dist.all_reduce(row)
    print(f"rank {rank}: {row.sum().item()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
