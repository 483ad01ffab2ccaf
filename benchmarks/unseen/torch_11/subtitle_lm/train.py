"""Language model over subtitle lines, batched by tokens instead of lines."""

import argparse
import logging
import math

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

from batching import TokenBudgetSampler, pad

log = logging.getLogger("subtitles")


class Subtitles(Dataset):
    def __init__(self, lines, vocab, seed):
        g = torch.Generator().manual_seed(seed)
        lengths = (torch.randn(lines, generator=g) * 0.6 + 2.2).exp().clamp(3, 60).long()
        self.lengths = lengths.tolist()
        self.lines = [torch.randint(1, vocab, (n,), generator=g) for n in self.lengths]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return self.lines[index]


class LineModel(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=0)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embed(tokens[:, :-1]))
        logits = self.head(hidden)
        return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        data = Subtitles(args.lines, args.vocab, seed=args.seed)
        self.sampler = TokenBudgetSampler(data.lengths, args.tokens, self.rank, self.world, seed=args.seed)
        self.loader = DataLoader(data, batch_sampler=self.sampler, collate_fn=pad, num_workers=1)
        torch.manual_seed(args.seed)
        self.model = DDP(LineModel(args.vocab, args.width))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)

    def train_epoch(self):
        total, steps = 0.0, 0
        for tokens in self.loader:
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.model(tokens)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            total += loss.item()
            steps += 1
        return total / max(steps, 1)

    def perplexities(self, loss):
        mine = torch.tensor([loss])
        everyone = [torch.zeros(1) for _ in range(self.world)]
        dist.all_gather(everyone, mine)
        return [math.exp(min(x.item(), 20.0)) for x in everyone]

    def fit(self):
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            loss = self.train_epoch()
            table = self.perplexities(loss)
            if self.rank == 0:
                log.info("epoch %d perplexity by rank %s", epoch, [round(x, 1) for x in table])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--vocab", type=int, default=400)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dist.init_process_group("gloo")
    Trainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
