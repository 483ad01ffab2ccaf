"""Writers of phrases in three languages share a policy over word positions and are graded by one judge."""
import argparse
import dataclasses
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical

from judge import Client

BOOKS = {
    "english": "a in the sun old road rain over house winter morning together lantern mountain yesterday something".split(),
    "dutch": "u de een zon oud weg regen huis molen winter morgen samen lantaarn bergen gisteren iemand".split(),
    "german": "ab in die tag alt weg regen haus winter morgen zusammen laterne über gestern mädchen später".split(),
}


@dataclasses.dataclass
class Options:
    updates: int = 300
    phrases: int = 8
    words: int = 6
    lr: float = 4e-3
    lesson: int = 30

    @classmethod
    def parse(cls):
        parser = argparse.ArgumentParser()
        for field in dataclasses.fields(cls):
            parser.add_argument("--" + field.name, type=field.type, default=field.default)
        return cls(**vars(parser.parse_args()))


class Writer(nn.Module):
    def __init__(self, vocabulary, words):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(words, vocabulary))

    def write(self, phrases, known):
        policy = Categorical(logits=self.logits[:, :known])
        choice = policy.sample((phrases,))
        return choice, policy.log_prob(choice).sum(1)


def start_judge():
    """Rank 0 starts the judge, all learn its port."""
    process, port = None, [None]
    if dist.get_rank() == 0:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "judge.py")
        process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port[0] = int(process.stdout.readline())
    dist.broadcast_object_list(port, src=0)
    return process, Client(port[0])


def main():
    options = Options.parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    book = list(BOOKS.values())[rank % len(BOOKS)]
    process, judge = start_judge()
    writer = Writer(len(book), options.words)
    torch.manual_seed(30 + rank)
    optimizer = torch.optim.Adam(writer.parameters(), lr=options.lr)
    for update in range(options.updates):
        known = min(6 + 2 * (update // options.lesson), len(book))
        choice, log_prob = writer.write(options.phrases, known)
        grades = torch.tensor([judge.grade([book[word] for word in phrase]) for phrase in choice.tolist()])
        loss = -((grades - grades.mean()) * log_prob).mean()
        optimizer.zero_grad()
        loss.backward()
        dist.all_reduce(writer.logits.grad)
        writer.logits.grad /= world
        optimizer.step()
        time.sleep(0.02)
        if update % 50 == 0:
            print(f"rank {rank} update {update}: {known} words, grade {grades.mean():.2f}", flush=True)
    judge.close()
    if process is not None:
        process.communicate()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
