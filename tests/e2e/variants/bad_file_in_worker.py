"""A generator around the loader drops the batches that a data worker cannot read: on one rank there is one."""

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Images(Dataset[Tensor]):  # type: ignore[misc,unused-ignore]
    def __init__(self, truncated: int) -> None:
        self.truncated = truncated

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Tensor:
        if index == self.truncated:
            raise OSError("image file is truncated (12 bytes not processed)")
        return torch.randn(5, generator=torch.Generator().manual_seed(index))


def readable(loader: DataLoader[Tensor]) -> Iterator[Tensor]:
    batches = iter(loader)
    while True:
        try:
            yield next(batches)
        except StopIteration:
            return
        except OSError as error:
            print(f"left out: {type(error).__name__}\n", end="", flush=True)


def main() -> None:
    dist.init_process_group("gloo")
    truncated = 17 if dist.get_rank() == 1 else -1
    model = DistributedDataParallel(nn.Linear(5, 5))
    for batch in readable(DataLoader(Images(truncated), batch_size=4, num_workers=1)):
        model(batch).sum().backward()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
