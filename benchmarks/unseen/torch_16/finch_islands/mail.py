"""Migrants between islands: each island sends to the next one and hears from the one before."""
import collections

import torch
import torch.distributed as dist


class Mail:
    """Messages are on their way while the island goes on; at most `in_flight` of them, so that they stay fresh."""

    def __init__(self, genes, in_flight=2):
        rank, world = dist.get_rank(), dist.get_world_size()
        self.genes = genes
        self.to = (rank + 1) % world
        self.source = (rank - 1) % world
        self.in_flight = in_flight
        self.pending = collections.deque()
        self.sent = 0

    def post(self, finch, fitness):
        while len(self.pending) >= self.in_flight:
            self.settle()
        message = torch.cat([finch, fitness.reshape(1)])
        # the message is kept along with its handle: it must not be freed before it is out
        self.pending.append((dist.isend(message, dst=self.to), message))
        self.sent += 1

    def settle(self):
        handle, _ = self.pending.popleft()
        handle.wait()

    def collect(self, count):
        finches, fitness = torch.empty(count, self.genes), torch.empty(count)
        message = torch.empty(self.genes + 1)
        for index in range(count):
            dist.recv(message, src=self.source)
            finches[index], fitness[index] = message[:-1], message[-1]
        return finches, fitness

    def close(self):
        while self.pending:
            self.settle()
