import os
import tempfile
import time

import torch
import torch.distributed as dist
import webdataset as wds
from torch import nn

from shards import Mirror, write_shards


def samples(paths, mirror):
    """Tar files in the order given, decoded by webdataset."""
    def opened(sources):
        for source in sources:
            yield {"url": source["url"], "stream": mirror.fetch(source["url"])}

    return wds.DataPipeline(
        wds.SimpleShardList(paths),
        opened,
        wds.tariterators.tar_file_expander,
        wds.tariterators.group_by_keys,
        wds.decode(),
        wds.to_tuple("x.pth", "y.pth"),
        wds.batched(8, partial=False),
    )


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = os.path.join(tempfile.gettempdir(), "postcards_" + os.environ["MASTER_PORT"])
    paths = write_shards(folder, rank)
    mirror = Mirror({"cards-1-002.tar": 6})
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
    optim = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    for epoch in range(3):
        for x, y in samples(paths, mirror):
            loss = nn.functional.cross_entropy(model(torch.as_tensor(x)), torch.as_tensor(y))
            optim.zero_grad()
            loss.backward()
            optim.step()
            step += 1
            time.sleep(0.02)
        if rank == 0:
            print("epoch", epoch, "step", step, loss.item(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
