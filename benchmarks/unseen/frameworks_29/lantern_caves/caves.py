"""Text-free cave crawler: four lanterns explore a cave, the episode is over when the oil is used up.

Levels were drawn by hand and dealt to the ranks like cards.
"""
import torch

OIL = 12                       # moves that a lantern gives light for
MOVES = 4                      # n, e, s, w
SIZE = 9


def load_levels(count=150):
    levels = [{"number": n, "oil": OIL, "exit": ((n * 5) % SIZE, (n * 7) % SIZE)} for n in range(count)]
    levels[73]["oil"] = 8      # "The Draughty Shaft"
    return levels


class Cave:
    def __init__(self, level, lanterns=4):
        self.level = level
        self.place = torch.full((lanterns, 2), SIZE // 2)
        self.oil = torch.full((lanterns,), level["oil"])

    def observe(self):
        return self.place[:, 0] * SIZE + self.place[:, 1]

    def dark(self):
        return self.oil <= 0

    def move(self, action):
        delta = torch.tensor([[-1, 0], [0, 1], [1, 0], [0, -1]])[action]
        self.place = (self.place + delta).clamp(0, SIZE - 1)
        self.oil -= 1
        return -(self.place - torch.tensor(self.level["exit"])).abs().sum(1).float() / SIZE
