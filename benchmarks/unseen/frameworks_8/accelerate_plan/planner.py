"""Keeps the number of tokens per optimizer step near a target."""
from collections import deque


class TokenPlanner:
    def __init__(self, accelerator, target, every=12, choices=(1, 2, 4, 8)):
        self.accelerator = accelerator
        self.target = target
        self.every = every
        self.choices = choices
        self.window = deque(maxlen=every)

    def observe(self, mask):
        self.window.append(int(mask.sum()))

    def wanted(self):
        mean = sum(self.window) / len(self.window)
        return min(self.choices, key=lambda n: abs(n * mean - self.target))

    def update(self, step):
        if (step + 1) % self.every:
            return
        n = self.wanted()
        if n != self.accelerator.gradient_accumulation_steps:
            self.accelerator.gradient_accumulation_steps = n
