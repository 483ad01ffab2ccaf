"""A second look at single pieces, by averaging over crops."""
import time

import torch

from cabinet import MATERIALS, photo_of


@torch.no_grad()
def second_look(model, cases, crops=12):
    """Opinions about the cases as (number, material, confidence)."""
    if not cases:
        return None
    model.eval()
    opinions = []
    for number in cases:
        photo = photo_of(number, side=40)
        scores = []
        for crop in range(crops):
            top, left = crop % 4 * 2, crop // 4 * 2
            scores.append(model(photo[None, :, top:top + 32, left:left + 32]).softmax(-1))
            time.sleep(0.02)               # the raw files are large
        mean = torch.cat(scores).mean(0)
        opinions.append((number, MATERIALS[int(mean.argmax())], round(mean.max().item(), 3)))
    return opinions
