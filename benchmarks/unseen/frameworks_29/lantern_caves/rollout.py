import time

import torch

from caves import Cave


@torch.no_grad()
def explore(policy, level):
    """Plays one level until all lanterns are dark. Returns cells, actions and the gain of each lantern."""
    cave = Cave(level)
    cells, actions, gain = [], [], torch.zeros(4)
    while not cave.dark().all():
        here = cave.observe()
        action = torch.distributions.Categorical(logits=policy(here)).sample()
        gain += cave.move(action)
        cells.append(here)
        actions.append(action)
        time.sleep(0.02)           # rendering, for the videos
    return torch.stack(cells), torch.stack(actions), gain
