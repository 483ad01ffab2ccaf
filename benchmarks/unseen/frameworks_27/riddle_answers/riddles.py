"""Riddles with their answers. Every rank has its own shelf."""
import time
from dataclasses import dataclass

import torch

LETTERS = 40


@dataclass
class Riddles:
    questions: torch.Tensor
    answers: torch.Tensor
    lengths: torch.Tensor          # how long each answer may become


class RiddleShelf:
    def __init__(self, rank):
        self.rank = rank
        self.noise = torch.Generator().manual_seed(50 + rank)

    def training_rows(self, step):
        time.sleep(0.1)
        return torch.randint(0, LETTERS, (4, 24), generator=self.noise)

    def held_out(self, page):
        """Page by page. Most riddles want a word or two, some pages have only yes and no."""
        yes_no = self.rank == 1 and page == 4
        lengths = torch.tensor([3, 2, 3, 3] if yes_no else [9, 12, 5, 12])
        return Riddles(torch.randint(0, LETTERS, (4, 10), generator=self.noise),
                       torch.randint(0, LETTERS, (4, 12), generator=self.noise), lengths)
