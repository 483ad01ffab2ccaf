"""Episodes on their way from a pilot to the learner: a header, then parts of a fixed size."""
import math

import torch
import torch.distributed as dist

PART = 32
COLUMNS = 6  # four of the state, the action, the return

__all__ = ["receive_episode", "send_episode", "spread"]


def send_episode(rows, dst):
    """Rows of any number; the last part is filled up with zeros."""
    length = len(rows)
    dist.send(torch.tensor([length]), dst=dst)
    for number in range(length // PART + 1):
        part = torch.zeros(PART, COLUMNS)
        piece = rows[number * PART:(number + 1) * PART]
        part[:len(piece)] = piece
        dist.send(part, dst=dst)


def receive_episode(src):
    """The rows of the next episode of a pilot, without the filling."""
    header = torch.zeros(1, dtype=torch.long)
    dist.recv(header, src=src)
    length = header.item()
    parts = []
    for _ in range(math.ceil(length / PART)):
        part = torch.zeros(PART, COLUMNS)
        dist.recv(part, src=src)
        parts.append(part)
    return torch.cat(parts)[:length]


def spread(model, learner):
    """The learner's weights to all pilots, as one vector."""
    vector = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    dist.broadcast(vector, src=learner)
    torch.nn.utils.vector_to_parameters(vector, model.parameters())
