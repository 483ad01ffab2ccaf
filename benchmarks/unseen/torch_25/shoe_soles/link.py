"""Point-to-point links between neighbouring stages; rows may vary from message to message."""
import torch
import torch.distributed as dist


class Link:
    """Messages to and from one neighbour. A header with the number of rows goes before the tensors."""

    def __init__(self, peer, width):
        self.peer = peer
        self.width = width
        self.sent = self.received = 0

    def send_batch(self, hidden, brands):
        dist.send(torch.tensor([len(hidden)]), self.peer)
        dist.send(hidden.detach().contiguous(), self.peer)
        dist.send(brands.contiguous(), self.peer)
        self.sent += 1

    def receive_batch(self):
        rows = torch.zeros(1, dtype=torch.int64)
        dist.recv(rows, self.peer)
        hidden = torch.empty(int(rows), self.width)
        brands = torch.empty(int(rows), dtype=torch.int64)
        dist.recv(hidden, self.peer)
        dist.recv(brands, self.peer)
        self.received += 1
        return hidden.requires_grad_(), brands

    def send_gradient(self, gradient):
        """The gradient of the input of a message, back to the stage that sent it."""
        dist.send(gradient.contiguous(), self.peer)

    def receive_gradient(self, like):
        gradient = torch.empty_like(like)
        dist.recv(gradient, self.peer)
        return gradient

    def __repr__(self):
        return f"Link(peer={self.peer}, sent={self.sent}, received={self.received})"
