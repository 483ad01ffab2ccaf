import copy
import time

import torch


class Arena:
    """Plays the current policy against the last one that was kept, on one process."""

    def __init__(self, policy, games=40):
        self.best = copy.deepcopy(policy)
        self.games = games
        self.score = []

    @torch.no_grad()
    def play(self, policy):
        current = copy.deepcopy(policy).eval()
        won = 0
        for game in range(self.games):
            board = torch.randn(1, 64, generator=torch.Generator().manual_seed(game))
            for _ in range(8):
                move = current(board).argmax() - self.best(board).argmax()
                board = board.roll(int(move), 1)
                time.sleep(0.004)
            won += int(board[0, 0] > 0)
        if won * 2 > self.games:
            self.best = current
        self.score.append(won / self.games)
        return self.score[-1]
