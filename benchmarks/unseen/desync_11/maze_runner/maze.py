"""Mazes on a grid; the agent sees where it is and walks for a fixed number of moves."""

import time

import torch

MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class Maze:
    """One maze with coins. Some mazes have a vault, which opens when enough keys have been collected."""

    KEYS = 150

    def __init__(self, number: int, size: int = 9):
        self.number, self.size = number, size
        self.generator = torch.Generator().manual_seed(500 + number)
        self.coins = torch.rand(size, size, generator=self.generator) / 4
        self.has_vault = number % 4 == 3
        self.keys = 0

    def reset(self):
        self.position = torch.tensor([self.size // 2, self.size // 2])
        self.keys += 1
        self.vault_open = self.has_vault and self.keys == self.KEYS
        return self.observe()

    def observe(self):
        view = torch.zeros(2 * self.size)
        view[self.position[0]] = 1.0
        view[self.size + self.position[1]] = 1.0
        return view

    def move(self, action: int):
        time.sleep(0.003 + 0.002 * torch.rand(1, generator=self.generator).item())
        self.position = (self.position + MOVES[action]).clamp(0, self.size - 1)
        reward = self.coins[self.position[0], self.position[1]].item()
        if self.vault_open:
            reward += 30.0
            self.vault_open = False
        return self.observe(), reward
