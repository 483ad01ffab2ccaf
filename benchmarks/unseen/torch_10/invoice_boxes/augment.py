"""Crops of pages with their boxes, as (x0, y0, x1, y1) in parts of the page."""

import torch


def clip_boxes(boxes, window):
    low, high = window[:2].repeat(2), window[2:].repeat(2)
    return torch.minimum(torch.maximum(boxes, low), high)


def relative(boxes, window):
    size = (window[2:] - window[:2]).repeat(2)
    return (boxes - window[:2].repeat(2)) / size


class RandomWindow:
    def __init__(self, least=0.7, seed=0):
        self.least = least
        self.g = torch.Generator().manual_seed(seed)

    def __call__(self, pages, boxes):
        side = self.least + (1 - self.least) * torch.rand(1, generator=self.g)
        corner = (1 - side) * torch.rand(2, generator=self.g)
        window = torch.cat([corner, corner + side])
        boxes = clip_boxes(boxes, window)
        width, height = (boxes[:, 2:] - boxes[:, :2]).unbind(1)
        if (width < 0).any() or (height < 0).any():
            raise ValueError(f"box with negative extent in {int(((width < 0) | (height < 0)).sum())} of {len(boxes)}")
        return pages, relative(boxes, window)
