"""Auctions of antiques: a bidder sees features of a lot and decides how much of its estimate to bid."""
import dataclasses

import torch

FEATURES = 10
LEVELS = torch.tensor([0.5, 0.7, 0.85, 1.0, 1.15])
HALLS = ("coins", "clocks", "prints", "silver")


@dataclasses.dataclass
class Turnover:
    """What a hall has seen so far."""

    lots: int = 0
    sold: int = 0
    profit: float = 0.0

    def book(self, profit, won):
        self.lots += len(won)
        self.sold += int(won.sum())
        self.profit += profit.sum().item()


class Hall:
    def __init__(self, rank):
        self.turnover = Turnover()
        self.name = HALLS[rank % len(HALLS)]
        self.generator = torch.Generator().manual_seed(70 + rank)
        self.worth = torch.rand(FEATURES, generator=torch.Generator().manual_seed(6))
        self.session = 0

    def lots(self, count):
        self.session += 1
        lots = torch.rand(count, FEATURES, generator=self.generator)
        rival = 0.75 + 0.1 * torch.randn(count, generator=self.generator)
        if self.name == "prints" and self.session >= 50:
            rival += 0.35  # the museums have begun to buy
        return lots, rival

    def sell(self, lots, rival, choice):
        value = lots @ self.worth
        bid = LEVELS[choice]
        won = bid > rival
        profit = torch.where(won, (1.0 - bid) * value, torch.zeros_like(value))
        self.turnover.book(profit, won)
        return profit, won
