"""Pace of sled dogs, learnt by a coach from the days of mushers who go at their own speed.

A musher sends a day whenever one is over and gets the new weights for it; those who have gone all
their days say good-bye and wait for the others at the end.
"""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

import mail
from trail import Trail

TRAILS = {
    1: dict(start=0.2, wear=20, days=60, rest=0.05),
    2: dict(start=2.5, wear=10, days=30, rest=0.10, bad_starts=(1, 2)),
    3: dict(start=0.2, wear=50, days=8, rest=0.30),
}


def policy():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))


def flat(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach()


class Musher:
    def __init__(self, rank):
        plan = dict(TRAILS[rank])
        self.days, self.rest = plan.pop("days"), plan.pop("rest")
        self.trail = Trail(seed=100 * rank, **plan)
        self.model = policy()

    @torch.no_grad()
    def day(self):
        strength, way, over = self.trail.new_day()
        rows = []
        while not over and len(rows) < mail.LONGEST:
            logits = self.model(torch.tensor([strength, way / 10]))
            pace = torch.distributions.Categorical(logits=logits).sample().item()
            before = [strength, way]
            strength, way, over = self.trail.ask(pace / 2)
            rows.append([*before, float(pace)])
        return rows

    def run(self):
        for _ in range(self.days):
            mail.post_day(self.day())
            weights = flat(self.model)
            dist.recv(weights, src=mail.COACH)
            nn.utils.vector_to_parameters(weights, self.model.parameters())
            time.sleep(self.rest)
        self.trail.close()
        mail.post_bye()


class Coach:
    def __init__(self, mushers, lr):
        self.model = policy()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.out = set(mushers)
        self.mean, self.notes = 0.0, []

    def learn(self, rows):
        way = rows[-1, 1].item()
        state = torch.stack([rows[:, 0], rows[:, 1] / 10], dim=1)
        chosen = self.model(state).log_softmax(1).gather(1, rows[:, 2].long()[:, None])
        self.optimizer.zero_grad()
        (-(way - self.mean) * chosen.mean()).backward()
        self.optimizer.step()
        self.mean = 0.9 * self.mean + 0.1 * way
        self.notes.append(f"{len(self.notes)} {way:.2f}")

    def run(self):
        while self.out:
            sender, rows = mail.take()
            if rows is None:
                self.out.remove(sender)
                print(f"musher {sender} is home; mean way {self.mean:.2f}", flush=True)
                continue
            self.learn(rows)
            dist.send(flat(self.model), dst=sender)
        mail.Diary(self.notes[-20:], pause=0.2).start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(60 + rank)
    (Coach(TRAILS, args.lr) if rank == mail.COACH else Musher(rank)).run()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
