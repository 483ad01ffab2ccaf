"""One step of learning, for any of the voices."""

from dataclasses import dataclass, field

from torch import nn, optim


def intonation(inputs, width=26):
    return nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, 1), nn.Flatten(0))


@dataclass
class Voice:
    name: str
    model: nn.Module
    optimizer: optim.Optimizer
    losses: list = field(default_factory=list)

    @classmethod
    def create(cls, name, fabric, inputs, lr):
        network = intonation(inputs)
        return cls(name, *fabric.setup(network, optim.Adam(network.parameters(), lr=lr)))

    def mean(self, last=50):
        recent = self.losses[-last:]
        return sum(recent) / max(len(recent), 1)


def learn(fabric, voice, notes, cents):
    """A step of the voice's network with its notes of this bar; the variance needs two notes at least."""
    if len(cents) < 2:
        return 0.0
    scale = cents.std() + 0.1
    predicted = voice.model(notes)
    loss = ((predicted - cents) / scale).square().mean()
    fabric.backward(loss)
    voice.optimizer.step()
    voice.optimizer.zero_grad()
    voice.losses.append(loss.item())
    return voice.losses[-1]
