"""Night clips of the cameras in the burrows: frames x height x width, and the number of puffins."""
import time

import torch

FRAMES, SIDE = 4, 8


def clips(camera, count=300):
    gen = torch.Generator().manual_seed(800 + camera)
    for i in range(count):
        puffins = int(torch.randint(0, 4, (1,), generator=gen))
        clip = torch.rand(FRAMES, SIDE, SIDE, generator=gen) + 0.2 * puffins
        if camera == 2 and i == 240:
            clip = torch.zeros_like(clip)
        time.sleep(0.02)
        yield f"burrow{camera}_{i:03d}", clip, float(puffins)
