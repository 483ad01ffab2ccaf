"""Which room does a text of the audio guide belong to? Two readings of all guides (DDP, torchdata)."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from bookmark import Bookmark, Pace
from guides import ROOMS, VOCABULARY, guide_loader


class RoomModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.EmbeddingBag(VOCABULARY, width, mode="sum", padding_idx=0)
        self.out = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, ROOMS))

    def forward(self, text, lengths):
        return self.out(self.embed(text) / lengths[:, None])


class Reader:
    def __init__(self, args):
        self.loader = guide_loader(args.stops, args.batch)
        self.model = DistributedDataParallel(RoomModel())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.pace = Pace(self.optimizer, args.lr, rise=20)
        self.bookmark = Bookmark(args.words)
        self.log = logging.getLogger("reader")

    def reading(self, name, loader, mark=False):
        total, batches = 0.0, 0
        for text, lengths, room in loader:
            loss = nn.functional.cross_entropy(self.model(text, lengths), room)
            loss.backward()
            self.pace.step()
            self.optimizer.step()
            self.optimizer.zero_grad()
            total, batches = total + loss.item(), batches + 1
            if mark:
                self.bookmark.pass_over(loader, lengths)
            time.sleep(0.03)
        dist.barrier()
        if dist.get_rank() == 0:
            self.log.info("%s: %d batches, loss %.4f", name, batches, total / max(batches, 1))

    def run(self):
        self.reading("first reading", self.loader, mark=True)
        self.reading("second reading", self.bookmark.open(self.loader))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stops", type=int, default=480)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--words", type=int, default=3400)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(2)
    dist.init_process_group("gloo")
    Reader(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
