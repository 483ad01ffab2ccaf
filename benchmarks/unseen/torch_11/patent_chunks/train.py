"""Language model over patents. Each rank reads the patents of one office from a stream."""

import argparse
import itertools
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from accumulate import TokenAccumulator
from stream import PatentStream


class ClaimModel(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.Conv1d(width, width, 3)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        x = torch.relu(self.mix(nn.functional.pad(x, (2, 0))))
        return self.head(x.transpose(1, 2))


def build_optimizer(model, args):
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.lr)


def train_round(chunks, model, optimizer, accumulator):
    total, count, updates = 0.0, 0, 0
    for tokens in chunks:
        with accumulator.chunk(tokens.numel()):
            logits = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum")
            (loss / accumulator.budget).backward()
        total += loss.item()
        count += tokens.numel() - 1
        if accumulator.complete:
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
        time.sleep(0.005)
    return total / count, updates


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=300)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--budget", type=int, default=512)
    parser.add_argument("--chunks", type=int, default=240, help="chunks of one round on each rank")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(ClaimModel(args.vocab, args.width))
    optimizer = build_optimizer(model, args)
    stream = iter(DataLoader(PatentStream(rank, args.vocab, args.length), batch_size=1))
    accumulator = TokenAccumulator(model, args.budget)
    for number in range(args.rounds):
        loss, updates = train_round(itertools.islice(stream, args.chunks), model, optimizer, accumulator)
        losses = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(losses, torch.tensor([loss]))
        if rank == 0:
            logging.info("round %d: %d updates, loss by office %s", number, updates, [x.item() for x in losses])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
