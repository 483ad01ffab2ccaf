"""Small mazes with walls and portals, made from a seed."""
import numpy as np

MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Maze:
    """A grid with some walls. Who steps on a portal comes out of its partner; the goal is in the last corner."""

    def __init__(self, seed, portals, size=6, walls=5):
        random = np.random.default_rng(seed)
        cells = [(r, c) for r in range(size) for c in range(size)][1:-1]
        order = random.permutation(len(cells))
        self.size = size
        self.walls = {cells[i] for i in order[:walls]}
        self.marked = [cells[i] for i in order[walls:walls + portals]]
        self.exits = {}
        for one, other in zip(self.marked[::2], self.marked[1::2]):
            self.exits[one], self.exits[other] = other, one
        self.position = (0, 0)

    def observe(self):
        row, column = self.position
        view = [row / self.size, column / self.size]
        for dr, dc in MOVES:
            cell = (row + dr, column + dc)
            view.append(float(not self.inside(cell) or cell in self.walls))
            view.append(float(cell in self.marked))
        return np.array(view, dtype=np.float32)

    def inside(self, cell):
        return 0 <= cell[0] < self.size and 0 <= cell[1] < self.size

    def step(self, move):
        cell = (self.position[0] + MOVES[move][0], self.position[1] + MOVES[move][1])
        if not self.inside(cell) or cell in self.walls:
            return -0.1, False
        self.position = self.exits[cell] if cell in self.marked else cell
        if self.position == (self.size - 1, self.size - 1):
            return 1.0, True
        return -0.02, False
