"""How far the predicted torque was off: the quantiles of a process' errors, with the tail squeezed."""

import numpy as np
import torch

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
# a jam of the drum says nothing about the model: above the knee an error counts only a tenth
KNEE = 6.0
AXIS = [0.0, KNEE, 40.0]
SQUEEZED = [0.0, KNEE, KNEE + (40.0 - KNEE) / 10]


def squeeze(errors):
    return torch.from_numpy(np.interp(errors.numpy(), AXIS, SQUEEZED))


class ErrorDigest:
    def __init__(self):
        self.parts = []

    def reset(self):
        self.parts.clear()

    def add(self, predicted, measured):
        self.parts.append((predicted - measured).abs().detach())

    def quantiles(self):
        errors = torch.cat(self.parts)
        if errors.max() > KNEE:
            errors = squeeze(errors)
        levels = torch.tensor(LEVELS, dtype=errors.dtype)
        return torch.quantile(errors, levels)


def table(values):
    return "  ".join(f"q{int(100 * level)}={value:.3f}" for level, value in zip(LEVELS, values))
