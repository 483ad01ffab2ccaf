import torch

STATE = 10
ACTION = 4


class Arm:
    """A simulated arm; answers actions with the next states of a batch of episodes."""

    def __init__(self, bay, episodes=24, parked=None):
        self.generator = torch.Generator().manual_seed(900 + bay)
        shared = torch.Generator().manual_seed(1)
        self.effect = torch.randn(ACTION, STATE, generator=shared) * 0.5
        self.episodes = episodes
        self.parked = parked

    def collect(self, index):
        g = self.generator
        state = torch.randn(self.episodes, STATE, generator=g)
        action = torch.randn(self.episodes, ACTION, generator=g)
        noise = 0.3 * torch.randn(self.episodes, STATE, generator=g)
        moved = torch.rand(self.episodes, generator=g) > 0.2
        if self.parked is not None and index == self.parked:
            moved = torch.zeros(self.episodes, dtype=torch.bool)
        delta = torch.tanh(action @ self.effect) + noise
        delta = delta * moved.unsqueeze(1)
        return {"state": state, "action": action, "delta": delta, "moved": moved}
