"""A population of finches whose genes are the weights of a small policy for cracking seeds."""
import torch

INPUTS, HIDDEN = 6, 8
GENES = INPUTS * HIDDEN + HIDDEN


def seeds(island, year, count=64):
    """Seeds of a year: size, hardness and so on. Every island has its own plants, drought makes them harder."""
    g = torch.Generator().manual_seed(10_000 * island + year)
    found = torch.randn(count, INPUTS, generator=g)
    found[:, 0] += 0.4 * island
    found[:, 1] += 0.8 if year % 7 == 0 else 0.0
    return found


class Population:
    def __init__(self, island, size, sigma):
        self.island = island
        self.generator = torch.Generator().manual_seed(island)
        self.finches = 0.5 * torch.randn(size, GENES, generator=self.generator)
        self.sigma = sigma
        self.fitness = torch.zeros(size)

    def forage(self, year):
        found = seeds(self.island, year)
        first = self.finches[:, : INPUTS * HIDDEN].reshape(-1, INPUTS, HIDDEN)
        second = self.finches[:, INPUTS * HIDDEN:]
        force = torch.einsum("ph,pch->pc", second, torch.tanh(torch.einsum("ci,pih->pch", found, first)))
        needed = found[:, 0] * found[:, 1] - 0.5 * found[:, 2]
        self.fitness = -(force - needed).square().mean(1)

    def best(self, count):
        order = self.fitness.topk(count).indices
        return self.finches[order].clone(), self.fitness[order].clone()

    def breed(self):
        order = self.fitness.argsort(descending=True)
        parents = self.finches[order[: len(order) // 3]]
        pick = torch.randint(0, len(parents), (2, len(order)), generator=self.generator)
        mask = torch.rand(len(order), GENES, generator=self.generator) < 0.5
        young = torch.where(mask, parents[pick[0]], parents[pick[1]])
        self.finches = young + self.sigma * torch.randn(young.shape, generator=self.generator)
        self.finches[0] = parents[0]

    def settle(self, finches, fitness):
        """Newcomers take the places of the weakest."""
        order = self.fitness.argsort()[: len(finches)]
        self.finches[order] = finches
        self.fitness[order] = fitness
