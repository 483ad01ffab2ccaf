"""A policy that writes lines of verse, rewarded for their metre (REINFORCE with a baseline).

Every process has its own metre and the syllables that occur in it.
"""
import argparse
import dataclasses
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel as DDP

from scansion import Scansion

SYLLABLES = {"iambic": 10, "dactylic": 14, "trochaic": 12}


@dataclasses.dataclass
class Settings:
    updates: int = 600
    lines: int = 6
    length: int = 8
    width: int = 48
    lr: float = 2e-3
    entropy: float = 0.02
    report_every: int = 20


class Poet(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed = nn.Embedding(vocabulary + 1, width)
        self.cell = nn.GRUCell(width, width)
        self.out = nn.Linear(width, vocabulary)
        self.width = width
        self.start = vocabulary

    def forward(self, lines, length, allowed):
        state = torch.zeros(lines, self.width)
        token = torch.full((lines,), self.start)
        tokens, log_probs, entropy = [], [], 0.0
        for _ in range(length):
            state = self.cell(self.embed(token), state)
            logits = self.out(state)
            logits = logits.masked_fill(torch.arange(logits.shape[1]) >= allowed, -1e9)
            choice = Categorical(logits=logits)
            token = choice.sample()
            tokens.append(token)
            log_probs.append(choice.log_prob(token))
            entropy = entropy + choice.entropy().mean()
        return torch.stack(tokens, 1), torch.stack(log_probs, 1).sum(1), entropy / length


class Workshop:
    def __init__(self, settings, metre):
        self.settings = settings
        self.allowed = SYLLABLES[metre]
        self.judge = Scansion()
        torch.manual_seed(4)
        self.poet = DDP(Poet(max(SYLLABLES.values()), settings.width))
        self.optimizer = torch.optim.Adam(self.poet.parameters(), lr=settings.lr)
        self.baseline = 0.0
        torch.manual_seed(100 + dist.get_rank())

    def rewards(self, lines):
        return torch.tensor([self.judge.score(line) for line in lines.tolist()])

    def update(self):
        s = self.settings
        lines, log_prob, entropy = self.poet(s.lines, s.length, self.allowed)
        reward = self.rewards(lines)
        loss = -((reward - self.baseline) * log_prob).mean() - s.entropy * entropy
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.baseline = 0.95 * self.baseline + 0.05 * reward.mean().item()
        time.sleep(0.02)
        return reward.mean()

    def run(self):
        for update in range(self.settings.updates):
            reward = self.update()
            if update % self.settings.report_every == 0:
                dist.all_reduce(reward)
                if dist.get_rank() == 0:
                    print(f"update {update} reward {reward.item() / dist.get_world_size():.3f}", flush=True)
        print(f"{self.judge.close()} messages of the scansion program", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=Settings.updates)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    metre = list(SYLLABLES)[dist.get_rank() % len(SYLLABLES)]
    Workshop(Settings(updates=args.updates), metre).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
