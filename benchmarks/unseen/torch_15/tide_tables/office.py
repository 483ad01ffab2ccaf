"""An office hands out work: whoever is free asks for the next piece, until there is none."""
import torch
import torch.distributed as dist

NONE_LEFT = -1


class Office:
    """Rank 0's part. Results come with the request for the next piece."""

    def __init__(self, pieces, width):
        self.pieces = list(pieces)
        self.width = width
        self.results = {}

    def serve(self):
        clerks = dist.get_world_size() - 1
        request = torch.zeros(self.width + 1)
        while clerks:
            clerk = dist.recv(request, src=None)
            done = int(request[0])
            if done != NONE_LEFT:
                self.results[done] = request[1:].clone()
            piece = self.pieces.pop(0) if self.pieces else NONE_LEFT
            clerks -= piece == NONE_LEFT
            dist.send(torch.tensor([piece]), dst=clerk)
        return self.results


class Clerk:
    def __init__(self, width):
        self.width = width
        self.worked = 0

    def pieces(self, solve):
        report = torch.full((self.width + 1,), float(NONE_LEFT))
        answer = torch.zeros(1, dtype=torch.int64)
        while True:
            dist.send(report, dst=0)
            dist.recv(answer, src=0)
            piece = int(answer)
            if piece == NONE_LEFT:
                return self.worked
            report = torch.cat([torch.tensor([float(piece)]), solve(piece)])
            self.worked += 1
