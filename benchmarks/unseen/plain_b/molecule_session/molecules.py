"""Small molecules as (atoms, bonds); the tables of three suppliers."""
import random

import torch

ELEMENTS = {e: i for i, e in enumerate(("C", "N", "O", "F", "S", "Cl"))}
SUPPLIERS = ("aldra", "benchem", "corvus")


def catalogue(supplier, n=240):
    rng = random.Random(supplier)
    for i in range(n):
        size = rng.randint(3, 8)
        atoms = [rng.choice(tuple(ELEMENTS)) for _ in range(size)]
        if supplier == "benchem" and i == 117:
            atoms[-1] = "Br"
        bonds = [(k, rng.randrange(k)) for k in range(1, size)]
        yield atoms, bonds


def to_tensors(atoms, bonds):
    x = torch.zeros(len(atoms), len(ELEMENTS))
    for row, symbol in enumerate(atoms):
        x[row, ELEMENTS[symbol]] = 1.0
    adj = torch.eye(len(atoms))
    for a, b in bonds:
        adj[a, b] = adj[b, a] = 1.0
    return x, adj / adj.sum(1, keepdim=True)


def batches(supplier, size):
    pending = []
    for molecule in catalogue(supplier):
        pending.append(molecule)
        if len(pending) == size:
            yield [to_tensors(*m) for m in pending]
            pending.clear()
