"""A short training of the encoder on the scans of each process: it learns to remove noise."""
import time

import torch
from torch import nn

from network import Encoder


def pretrain(scans, width, steps, patience, pause, goal=0.05):
    """Returns the encoder if it reaches the goal and is better than the mean of the neighbours, otherwise None."""
    encoder, out = Encoder(width), nn.Conv1d(width, 1, 1)
    optimizer = torch.optim.Adam([*encoder.parameters(), *out.parameters()], lr=3e-3)
    g = torch.Generator().manual_seed(1)
    best, waited = float("inf"), 0
    for step in range(steps):
        time.sleep(pause)
        pick = torch.randint(0, len(scans), (16,), generator=g)
        clean = scans[pick]
        noisy = clean + 0.3 * torch.randn(clean.shape, generator=g)
        loss = nn.functional.mse_loss(out(encoder(noisy)), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < best:
            best, waited = loss.item(), 0
        else:
            waited += 1
            if waited > patience:
                break
    limit = min(goal, neighbours_error(scans[:64]))
    return encoder if best < limit else None


@torch.no_grad()
def neighbours_error(scans):
    noisy = scans + 0.3 * torch.randn(scans.shape, generator=torch.Generator().manual_seed(2))
    smooth = nn.functional.avg_pool1d(noisy, 3, stride=1, padding=1)
    return nn.functional.mse_loss(smooth, scans).item()
