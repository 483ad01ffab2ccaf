"""Pursuit in a meadow: foxes choose a course, hares a dodge."""
import torch


class Meadow:
    """One meadow for each process. In tall grass hares are seen late; it grows when the summer comes."""

    def __init__(self, length, cover, seed):
        self.length = length
        self.cover = cover
        self.g = torch.Generator().manual_seed(seed)
        self.day = 0

    def grass(self):
        return self.cover[min(self.day, len(self.cover) - 1)]

    def next_day(self):
        self.day += 1

    @torch.no_grad()
    def chases(self, fox, hare, count):
        """Observations, courses and dodges of `count` chases, and whether the hare was caught."""
        gap = torch.rand(count, generator=self.g) + 0.5
        side = torch.randn(count, generator=self.g)
        grass = self.grass()
        seen_by_fox, seen_by_hare, courses, dodges = [], [], [], []
        for _ in range(self.length):
            fox_view = torch.stack([gap, side, torch.full_like(gap, grass)], 1)
            hare_view = torch.stack([gap, -side, torch.full_like(gap, grass)], 1)
            course = torch.multinomial(fox(fox_view).softmax(1), 1, generator=self.g)[:, 0]
            dodge = torch.multinomial(hare(hare_view).softmax(1), 1, generator=self.g)[:, 0]
            seen_by_fox.append(fox_view)
            seen_by_hare.append(hare_view)
            courses.append(course)
            dodges.append(dodge)
            side = 0.8 * side + 0.15 * (dodge - 1).float() - 0.1 * (course - 1).float()
            gap = gap - 0.22 + 0.3 * grass + 0.02 * side.abs()
        caught = (gap < 0).float()
        return {
            "fox": (torch.cat(seen_by_fox), torch.cat(courses), caught.repeat(self.length)),
            "hare": (torch.cat(seen_by_hare), torch.cat(dodges), 1 - caught.repeat(self.length)),
        }
