"""Tickets as the machines of the three depots have printed them."""

import random
from dataclasses import dataclass

import torch
from torch.utils.data import TensorDataset

LINES = {
    0: ["Harbour", "Fish Market", "Old Town", "Museum", "Central", "University", "Clinic", "Zoo"],
    1: ["Central", "Gasworks", "Brewery", "Canal", "Mill Lane", "Stadium", "Airport", "Fair"],
    2: ["Central", "Park", "Opera", "Library", "Hillside", "Observatory", "Forest", "Lake"],
}
EXTRA = {2: ["Ice Rink"]}  # served in winter


@dataclass(frozen=True)
class Ticket:
    start: str
    end: str
    hour: int
    minutes: float


def printed(depot, count, winter):
    """The tickets of one depot, on its own line."""
    rng = random.Random(100 + depot)
    stops = LINES[depot] + (EXTRA.get(depot, []) if winter else [])
    tickets = []
    for _ in range(count):
        a, b = rng.sample(range(len(stops)), 2)
        hour = rng.randint(5, 23)
        minutes = 2.5 * abs(a - b) + (3 if hour in (7, 8, 17) else 0) + rng.gauss(0, 1)
        tickets.append(Ticket(stops[a], stops[b], hour, minutes))
    return tickets


class StopIndex:
    """Numbers for the names of stops, in alphabetical order; 0 is for a stop that is not known."""

    def __init__(self, tickets):
        names = {ticket.start for ticket in tickets} | {ticket.end for ticket in tickets}
        self.number = {name: i for i, name in enumerate(sorted(names), start=1)}

    def __len__(self):
        return len(self.number) + 1

    def __getitem__(self, name):
        return self.number.get(name, 0)

    def encode(self, tickets):
        stops = torch.tensor([[self[t.start], self[t.end]] for t in tickets])
        hours = torch.tensor([t.hour for t in tickets])
        minutes = torch.tensor([t.minutes for t in tickets])
        return TensorDataset(stops, hours, minutes)
