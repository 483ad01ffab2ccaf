"""A player of a draughts ending (who takes the last of a row of men) with a table learnt by a network."""
import http.client
import json

import torch
from torch import nn

MEN, TAKE = 15, 3


class LadderClient:
    """Reports results; the connection is made with the first report and kept for the others."""

    def __init__(self, port, name):
        self.address = ("127.0.0.1", port)
        self.name = name
        self.connection = None

    def report(self, score, against):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(*self.address)
        body = json.dumps({"name": self.name, "score": score, "against": against})
        self.connection.request("POST", "/result", body, {"Content-Type": "application/json"})
        return json.loads(self.connection.getresponse().read())

    def close(self):
        if self.connection is not None:
            self.connection.close()


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(MEN + 1, width), nn.ReLU(), nn.Linear(width, TAKE))

    def forward(self, men):
        return self.net(nn.functional.one_hot(men, MEN + 1).float())


def play(net, skill, g):
    """One game against an opponent who plays right with probability `skill`; own moves and the result."""
    men, moves = MEN, []
    while True:
        with torch.no_grad():
            chances = net(torch.tensor([men])).softmax(1)[0, : min(TAKE, men)]
        move = torch.multinomial(chances, 1, generator=g).item()
        moves.append((men, move))
        men -= move + 1
        if men <= 0:
            return moves, 1.0
        right = men % (TAKE + 1)
        lucky = torch.rand(1, generator=g).item() < skill
        men -= right if lucky and right else min(men, 1 + torch.randint(0, TAKE, (1,), generator=g).item())
        if men <= 0:
            return moves, 0.0
