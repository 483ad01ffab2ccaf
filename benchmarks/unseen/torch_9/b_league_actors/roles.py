import queue
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

OBS, ACTIONS = 8, 4
ROW = OBS + 2


def make_policy():
    torch.manual_seed(21)
    return nn.Sequential(nn.Linear(OBS, 40), nn.ReLU(), nn.Linear(40, ACTIONS))


class Mixer:
    """Blends fresh transitions with old ones in a thread of its own."""

    def __init__(self, capacity=600):
        self.capacity = capacity
        self.fresh, self.mixed = queue.Queue(), queue.Queue()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        old = torch.empty(0, ROW)
        gen = torch.Generator().manual_seed(0)
        while True:
            rows = self.fresh.get()
            if rows is None:
                return
            old = torch.cat([old, rows])[-self.capacity :]
            pick = torch.randint(0, len(old), (32,), generator=gen)
            self.mixed.put(torch.cat([rows, old[pick]]))

    def __call__(self, rows):
        self.fresh.put(rows)
        return self.mixed.get()

    def close(self):
        self.fresh.put(None)
        self.thread.join()


class Actor:
    def __init__(self, rank, games):
        self.rank, self.games = rank, games
        self.policy = make_policy()
        self.gen = torch.Generator().manual_seed(rank)

    @torch.no_grad()
    def _game(self, n):
        time.sleep(0.02)
        length = 6 + (n * self.rank) % 9
        obs = torch.randn(length, OBS, generator=self.gen)
        action = torch.multinomial(self.policy(obs).softmax(-1), 1, generator=self.gen)
        reward = obs.gather(1, action)
        return torch.cat([obs, action.float(), reward], 1)

    def run(self):
        size = sum(p.numel() for p in self.policy.parameters())
        for n in range(self.games):
            rows = self._game(n)
            dist.send(torch.tensor([len(rows)]), 0)
            dist.send(rows, 0)
            flat = torch.empty(size)
            dist.recv(flat, 0)
            vector_to_parameters(flat, self.policy.parameters())
        dist.send(torch.tensor([0]), 0)  # has played all its games


class Learner:
    def __init__(self, actors):
        self.active = list(actors)
        self.policy = make_policy()
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.mixer = Mixer()
        self.updates = 0

    def _learn(self, rows):
        obs, action, reward = rows[:, :OBS], rows[:, OBS].long(), rows[:, OBS + 1]
        logp = self.policy(obs).log_softmax(-1).gather(1, action[:, None]).squeeze(1)
        loss = -(logp * (reward - reward.mean())).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1

    def _serve(self, actor):
        count = torch.empty(1, dtype=torch.long)
        dist.recv(count, actor)
        if count.item() == 0:
            return False
        rows = torch.empty(count.item(), ROW)
        dist.recv(rows, actor)
        self._learn(self.mixer(rows))
        dist.send(parameters_to_vector(self.policy.parameters()).detach(), actor)
        return True

    def run(self):
        while self.active:
            self.active = [a for a in self.active if self._serve(a)]
        self.mixer.close()

    @torch.no_grad()
    def evaluate(self, rounds):
        score = 0.0
        for r in range(rounds):
            time.sleep(0.05)
            obs = torch.randn(64, OBS, generator=torch.Generator().manual_seed(r))
            score += obs.gather(1, self.policy(obs).argmax(1, keepdim=True)).mean().item()
        return score / rounds
