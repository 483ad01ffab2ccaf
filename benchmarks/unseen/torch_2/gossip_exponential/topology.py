"""Time-varying peers for decentralised averaging."""


def ring_pairs(rank, world, step):
    """Neighbours two by two: (0,1)(2,3), then (1,2)(3,0)."""
    shift = step % 2
    k = (rank - shift) % world
    return ((k ^ 1) + shift) % world


def hypercube(rank, world, step):
    """Peer differs in one bit; needs a power of two."""
    bits = world.bit_length() - 1
    return rank ^ (1 << (step % bits))


SCHEDULES = {"pairs": ring_pairs, "hypercube": hypercube}
