"""Molecules of very different sizes, packed so that a pass has a bounded number of atom pairs."""
import torch


def pack(molecules, max_pairs):
    """Yields lists of molecules; the order is kept."""
    current, pairs = [], 0
    for molecule in molecules:
        cost = molecule.shape[0] ** 2
        if current and pairs + cost > max_pairs:
            yield current
            current, pairs = [], 0
        current.append(molecule)
        pairs += cost
    if current:
        yield current


def to_dense(molecules):
    longest = max(m.shape[0] for m in molecules)
    dense = torch.zeros(len(molecules), longest, molecules[0].shape[1])
    mask = torch.zeros(len(molecules), longest, 1)
    for row, molecule in enumerate(molecules):
        dense[row, : molecule.shape[0]] = molecule
        mask[row, : molecule.shape[0]] = 1.0
    return dense, mask


def library(rank, steps, per_step):
    g = torch.Generator().manual_seed(300 + rank)
    for step in range(steps):
        sizes = [6 + (i + step) % 3 for i in range(per_step)]
        if rank == 2 and step == 23:
            sizes[-2:] = [19, 22]
        yield [torch.randn(n, 7, generator=g) for n in sizes]
