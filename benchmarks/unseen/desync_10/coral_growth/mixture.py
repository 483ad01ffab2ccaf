"""Online expectation maximisation: a mixture whose components are averaged over the processes."""

import torch
import torch.distributed as dist


class Mixture:
    def __init__(self, names, width, rate=0.05):
        generator = torch.Generator().manual_seed(3)
        self.rate = rate
        self.centres = {name: 3 * torch.randn(width, generator=generator) for name in names}

    def assign(self, rows):
        names = list(self.centres)
        distance = torch.cdist(rows, torch.stack([self.centres[n] for n in names]))
        return [names[i] for i in distance.argmin(1).tolist()]

    def summarise(self, rows, labels):
        """Sum and number of the rows of each component."""
        sums = {}
        for name in sorted(set(labels)):
            chosen = rows[[label == name for label in labels]]
            sums[name] = torch.cat([chosen.sum(0), torch.tensor([float(len(chosen))])])
        return sums

    def share(self, sums):
        for name in sums:
            dist.all_reduce(sums[name])

    def update(self, sums):
        for name, total in sums.items():
            mean = total[:-1] / total[-1]
            self.centres[name].lerp_(mean, self.rate)

    def __len__(self):
        return len(self.centres)

    def spread(self):
        """The distance between the two centres that are closest to each other."""
        return torch.pdist(torch.stack(list(self.centres.values()))).min().item()
