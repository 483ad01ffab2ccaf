import time

import torch

POINTS = 26


class Table:
    """Plays positions and has the engine judge them."""

    def __init__(self, engine, seed):
        self.engine = engine
        self.random = torch.Generator().manual_seed(seed)

    def positions(self, count):
        boards, equities = [], []
        for _ in range(count):
            board = torch.randn(POINTS, generator=self.random) * 0.3
            time.sleep(0.004)                       # rolling, moving
            boards.append(board)
            equities.append(self.engine.equity(board.tolist()))
        return torch.stack(boards), torch.tensor(equities)
