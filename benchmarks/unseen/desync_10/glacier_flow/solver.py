"""The surface that balances a flow law, by fixed-point iteration."""

import torch


class NotConverged(ArithmeticError):
    pass


class Balance:
    def __init__(self, tolerance=1e-4, iterations=200):
        self.tolerance, self.iterations = tolerance, iterations
        self.used = 0

    def iterate(self, height, forcing, slip):
        return forcing + slip[:, None] * torch.tanh(height)

    @torch.no_grad()
    def fixed_point(self, forcing, slip):
        height = torch.zeros_like(forcing)
        for self.used in range(1, self.iterations + 1):
            following = self.iterate(height, forcing, slip)
            change = (following - height).abs().max().item()
            height = following
            if change < self.tolerance:
                return height
        raise NotConverged(f"residual {change:.2g} after {self.iterations} iterations")

    def __call__(self, forcing, slip):
        """One more iteration at the fixed point carries the gradient."""
        height = self.fixed_point(forcing, slip)
        return self.iterate(height, forcing, slip)

    def __repr__(self):
        return f"Balance(tolerance={self.tolerance}, iterations={self.iterations}, used={self.used})"

    def residual(self, height, forcing, slip):
        """How far a surface is from the balance, cell by cell."""
        return (self.iterate(height, forcing, slip) - height).abs()
