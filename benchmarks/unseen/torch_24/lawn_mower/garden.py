"""Gardens for a mowing robot: a grid of grass with some trees."""
import torch

SIZE = 6
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Garden:
    """Reward for each field that is cut for the first time; trees and fences bump the robot back."""

    def __init__(self, trees, seed):
        g = torch.Generator().manual_seed(seed)
        self.trees = torch.zeros(SIZE, SIZE, dtype=torch.bool)
        for spot in torch.randperm(SIZE * SIZE - 1, generator=g)[:trees].tolist():
            self.trees[(spot + 1) // SIZE, (spot + 1) % SIZE] = True

    def reset(self):
        self.cut = self.trees.clone()
        self.place = (0, 0)
        self.cut[0, 0] = True
        return self.view()

    def view(self):
        row, column = self.place
        around = []
        for down, right in MOVES:
            r, c = row + down, column + right
            inside = 0 <= r < SIZE and 0 <= c < SIZE
            around += [float(inside and not self.trees[r, c]), float(inside and not self.cut[r, c])]
        return torch.tensor(around + [row / SIZE, column / SIZE])

    def move(self, action):
        """The new view, the reward, and whether the robot was bumped back."""
        row, column = self.place[0] + MOVES[action][0], self.place[1] + MOVES[action][1]
        if not (0 <= row < SIZE and 0 <= column < SIZE) or self.trees[row, column]:
            return self.view(), -0.2, True
        fresh = not self.cut[row, column]
        self.place = (row, column)
        self.cut[row, column] = True
        return self.view(), 1.0 if fresh else -0.1, False


# trees in the garden of each process: a lawn, an orchard and a park
TREES = (0, 15, 1, 2)
