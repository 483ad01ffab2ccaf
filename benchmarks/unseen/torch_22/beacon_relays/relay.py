"""The baton: weights and optimizer state that go round from station to station."""
import threading
import time

import torch
import torch.distributed as dist


class Baton:
    """Only the station that holds the baton trains; all others wait until it comes to them."""

    def __init__(self, net):
        self.parameters = list(net.parameters())
        self.momentum = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.size = 2 * sum(parameter.numel() for parameter in self.parameters) + 1

    @torch.no_grad()
    def pack(self, error):
        parts = [tensor.flatten() for tensor in self.parameters + self.momentum]
        return torch.cat([*parts, torch.tensor([error])])

    @torch.no_grad()
    def unpack(self, flat):
        start = 0
        for tensor in self.parameters + self.momentum:
            tensor.copy_(flat[start:start + tensor.numel()].view_as(tensor))
            start += tensor.numel()
        return flat[-1].item()

    def wait(self, source):
        flat = torch.empty(self.size)
        dist.recv(flat, src=source)
        return self.unpack(flat)

    def pass_on(self, target, error):
        dist.send(self.pack(error), dst=target)


class Logbook(threading.Thread):
    """Writes the entries of a station a little later, as the line to the office is slow."""

    def __init__(self, station, pause=0.6):
        super().__init__(name="logbook")
        self.station = station
        self.pause = pause
        self.entries = []
        self.closed = threading.Event()

    def run(self):
        while True:
            closed = self.closed.wait(0.05)
            while self.entries:
                print(f"[{self.station}] {self.entries.pop(0)}", flush=True)
                time.sleep(self.pause)
            if closed:
                return
