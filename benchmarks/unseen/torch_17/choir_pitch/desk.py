"""The conductor's desk: takes phrases from singers as they come, and sends back the weights."""
import torch
import torch.distributed as dist

PHRASE, DONE = 1.0, 0.0


class Desk:
    def __init__(self, singers, width):
        self.open = set(singers)
        self.width = width
        self.received = dict.fromkeys(singers, 0)

    def take(self):
        """The next phrase of any singer, or None for one who has finished."""
        message = torch.empty(self.width + 1)
        singer = dist.recv(message)
        if message[0].item() == DONE:
            self.open.discard(singer)
            return singer, None
        self.received[singer] += 1
        return singer, message[1:]

    def answer(self, singer, weights):
        dist.send(weights, singer)


class Singer:
    def __init__(self, width, conductor=0):
        self.width = width
        self.conductor = conductor

    def sing(self, phrase):
        """Sends a phrase and returns the weights after it was learnt."""
        dist.send(torch.cat([torch.tensor([PHRASE]), phrase]), self.conductor)
        weights = torch.empty(self.width)
        dist.recv(weights, self.conductor)
        return weights

    def finish(self):
        dist.send(torch.cat([torch.tensor([DONE]), torch.zeros(self.width)]), self.conductor)
