"""Recordings, turned into spectra by a child process that now and then has to tune its filters."""
import multiprocessing
import time

import torch


def analyse(number, strings, batch, orders, spectra):
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(number)
    tension = torch.rand(strings, generator=g)
    for epoch in iter(orders.get, None):
        if epoch > 0 and number == 1:
            time.sleep(5.0)  # the filters of this workshop are tuned before every pass but the first
        for rows in torch.randperm(strings, generator=g).split(batch):
            bins = torch.arange(40) / 40
            spectrum = torch.exp(-((bins - tension[rows, None]) ** 2) / 0.02)
            spectrum = spectrum + 0.1 * torch.randn(spectrum.shape, generator=g)
            time.sleep(0.12 if number == 2 else 0.03)
            spectra.put((spectrum.numpy(), tension[rows].numpy()))
        spectra.put(None)


class Workshop:
    def __init__(self, number, strings, batch):
        context = multiprocessing.get_context("spawn")
        self.orders = context.Queue()
        self.spectra = context.Queue(maxsize=4)
        self.child = context.Process(
            target=analyse, args=(number, strings, batch, self.orders, self.spectra), daemon=True
        )
        self.child.start()

    def batches(self, epoch):
        self.orders.put(epoch)
        for spectrum, tension in iter(self.spectra.get, None):
            yield torch.from_numpy(spectrum), torch.from_numpy(tension)

    def close(self):
        self.orders.put(None)
        self.child.join()
