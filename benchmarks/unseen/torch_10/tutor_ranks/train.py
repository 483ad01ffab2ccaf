"""Distillation of a small student; one rank judges samples, the others learn in a group of their own."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from layout import as_ids, make_layout, share_vocabulary

WORDS = "a root of the sum is less than its square or equal to one half".split()


class Student(nn.Module):
    def __init__(self, words, dim=24):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, words)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


def sentences(rank, vocabulary, count, length=10):
    rng = random.Random(rank)
    for _ in range(count):
        yield torch.stack([as_ids(rng.choices(sorted(vocabulary), k=length), vocabulary) for _ in range(8)])


class Learner:
    def __init__(self, vocabulary, layout, args):
        self.vocabulary, self.layout, self.args = vocabulary, layout, args
        torch.manual_seed(2)
        self.teacher = Student(len(vocabulary), 48).eval()
        self.student = DistributedDataParallel(Student(len(vocabulary)), process_group=layout.group)
        self.optimizer = torch.optim.Adam(self.student.parameters(), lr=args.lr)

    def run_phase(self):
        for ids in sentences(dist.get_rank(), self.vocabulary, self.args.steps):
            with torch.no_grad():
                target = self.teacher(ids).softmax(-1)
            loss = nn.functional.cross_entropy(self.student(ids).flatten(0, 1), target.flatten(0, 1))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.01)
        return {"loss": loss.item()}


class Judge:
    def __init__(self, vocabulary, args):
        self.vocabulary, self.args = vocabulary, args

    def run_phase(self):
        scores = [len(set(row.tolist())) for ids in sentences(-1, self.vocabulary, self.args.steps) for row in ids]
        return {"distinct": sum(scores) / len(scores)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", type=int, default=3)
    parser.add_argument("--phases", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    layout = make_layout(args.judge)
    vocabulary = share_vocabulary(sorted(set(WORDS)) if dist.get_rank() == 0 else None)
    role = Learner(vocabulary, layout, args) if layout.learns else Judge(vocabulary, args)
    for phase in range(args.phases):
        report = role.run_phase()
        reports = [None] * dist.get_world_size()
        dist.all_gather_object(reports, report, group=layout.reports)
        if dist.get_rank() == 0:
            print(f"phase {phase}: {reports}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
