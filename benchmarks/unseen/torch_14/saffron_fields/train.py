"""Number of saffron flowers in tiles of drone images; fields differ in size, and with them the tiles of a step."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from store_reader import ImageStore, SignsOfLife, read

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("saffron")
TILES = (24, 56, 40)


def chunks(tiles, flowers, size):
    return list(zip(tiles.split(size), flowers.split(size)))


class Grower:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(10)
        self.model = DDP(nn.Sequential(nn.Linear(18, 40), nn.ReLU(), nn.LayerNorm(40), nn.Linear(40, 1)))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        busy = {12: 3, 31: 4} if self.rank == 2 else {}
        self.images = ImageStore(self.rank, busy)

    def all_tiles(self, count):
        total = torch.tensor(float(count))
        dist.all_reduce(total)
        return total.item()

    def step(self, number):
        """Loss per tile over all fields: chunks add up locally, the last one of each process reduces."""
        tiles, flowers = read(self.images, number, TILES[self.rank % len(TILES)])
        scale = self.world / self.all_tiles(len(tiles))
        *most, last = chunks(tiles, flowers, self.args.chunk)
        self.optimizer.zero_grad()
        total = 0.0
        with self.model.no_sync():
            for part, target in most:
                loss = nn.functional.mse_loss(self.model(part).squeeze(1), target, reduction="sum") * scale
                loss.backward()
                total += loss.item()
        part, target = last
        loss = nn.functional.mse_loss(self.model(part).squeeze(1), target, reduction="sum") * scale
        loss.backward()
        self.optimizer.step()
        return total + loss.item()

    def pictures(self, seconds):
        """Maps of the fields; the larger a field, the longer they take."""
        until = time.monotonic() + seconds * TILES[self.rank % len(TILES)] / max(TILES)
        drawn = 0
        while time.monotonic() < until:
            torch.randn(64, 64).softmax(1).argsort(1)
            drawn += 1
            time.sleep(0.05)
        return drawn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--chunk", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    grower = Grower(args)
    alive = SignsOfLife(dist.distributed_c10d._get_default_store(), grower.rank)
    alive.start()
    for number in range(args.images):
        loss = grower.step(number)
        alive.step = number
        time.sleep(0.02)
        if (number + 1) % 16 == 0:
            if grower.rank == 0:
                log.info("image %d: %.4f", number, loss)
            drawn = grower.pictures(3.0)
            log.info("%d maps of field %d", drawn, grower.rank)
    dist.barrier()
    alive.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
