"""Design office: proposes the mean of a generation, collects what the benches have measured (evolution strategies)."""
import pickle

import torch


class Board:
    """Notes between the office and the benches, in a store."""

    def __init__(self, store):
        self.store = store

    def pin(self, key, value):
        self.store.set(key, pickle.dumps(value))

    def take(self, key):
        return pickle.loads(self.store.get(key))


def perturbations(generation, worker, count, members):
    """Both sides know the seeds, so only strengths are sent."""
    g = torch.Generator().manual_seed(1_000_003 * generation + worker)
    half = torch.randn(count // 2, members, generator=g)
    return torch.cat([half, -half])


class Office:
    def __init__(self, board, workers, members, settings):
        self.board = board
        self.workers = workers
        self.settings = settings
        self.members = members
        self.mean = torch.zeros(members)
        self.speed = torch.zeros(members)

    def generation(self, number):
        self.board.pin(f"mean/{number}", self.mean)
        noise, strengths = [], []
        for worker in self.workers:
            strengths.append(self.board.take(f"strength/{number}/{worker}"))
            noise.append(perturbations(number, worker, self.settings.candidates, self.members))
        strength, noise = torch.cat(strengths), torch.cat(noise)
        rank = strength.argsort().argsort().float() / (len(strength) - 1) - 0.5
        gradient = rank @ noise / (len(strength) * self.settings.sigma)
        self.speed = 0.8 * self.speed + self.settings.lr * gradient
        self.mean = self.mean + self.speed
        return strength.mean().item()

    def close(self, number):
        self.board.pin(f"mean/{number}", None)
