"""Who exchanges weights with whom in a round."""


def hypercube(rank, world, number):
    return rank ^ (1 << (number % (world.bit_length() - 1)))


def ring(rank, world, number):
    return (rank + 1 + number % (world - 1)) % world


TOPOLOGIES = {"hypercube": hypercube, "ring": ring}


class Schedule:
    """`hypercube:20,ring` means twenty rounds on the cube, then the ring."""

    def __init__(self, text):
        self.phases = []
        for part in text.split(","):
            name, _, rounds = part.partition(":")
            self.phases.append((TOPOLOGIES[name], int(rounds) if rounds else None))

    def partner(self, rank, world, number):
        for topology, rounds in self.phases:
            if rounds is None or number < rounds:
                return topology(rank, world, number)
            number -= rounds
        raise IndexError(number)
