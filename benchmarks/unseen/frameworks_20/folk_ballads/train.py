"""The next word of a folk ballad: a small recurrent network, with torchdata's nodes and DDP."""

import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler
from torchdata.nodes import Loader

from ballads import VOCABULARY, Corpus, pipeline

log = logging.getLogger("ballads")


class Singer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, words):
        hidden, _ = self.rnn(self.embed(words))
        return self.out(hidden)


class Trainer:
    def __init__(self, args):
        self.args = args
        corpus = Corpus(args.ballads)
        # a region's ballads stay together, so that a rank may keep its dictionary in memory
        self.sampler = DistributedSampler(corpus, shuffle=False)
        self.loader = Loader(pipeline(corpus, self.sampler, args.window, args.batch))
        self.model = DistributedDataParallel(Singer(args.width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    def step(self, words, following):
        logits = self.model(words)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def epoch(self, number):
        losses = []
        for words, following in self.loader:
            losses.append(self.step(words, following))
        return sum(losses) / len(losses)

    def fit(self):
        for number in range(self.args.epochs):
            mean = torch.tensor([self.epoch(number)])
            results = [torch.empty(1) for _ in range(dist.get_world_size())]
            dist.all_gather(results, mean)
            if dist.get_rank() == 0:
                log.info("epoch %d: %s", number, ", ".join(f"{r.item():.3f}" for r in results))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ballads", type=int, default=400, help="ballads per region")
    parser.add_argument("--window", type=int, default=32)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(int(os.environ.get("SEED", "2")))
    dist.init_process_group("gloo")
    Trainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
