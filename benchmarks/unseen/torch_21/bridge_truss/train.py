"""Sections of a truss by evolution strategies: process 0 is the office, the other ones have a test bench each."""
import argparse
import dataclasses
import datetime
import socket

import torch
import torch.distributed as dist

from bench import Bench, Journal
from office import Board, Office, perturbations


@dataclasses.dataclass
class Settings:
    generations: int = 150
    candidates: int = 8
    members: int = 24
    sigma: float = 0.1
    lr: float = 0.05


def open_board():
    """A store of the program's own; process 0 serves it on a free port and tells the others."""
    address = [None]
    if dist.get_rank() == 0:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            address = [s.getsockname()[1]]
    dist.broadcast_object_list(address, src=0)
    patience = datetime.timedelta(hours=2)
    store = dist.TCPStore("127.0.0.1", address[0], dist.get_world_size(), dist.get_rank() == 0, timeout=patience)
    return Board(store)


def lead(board, settings):
    office = Office(board, range(1, dist.get_world_size()), settings.members, settings)
    for number in range(settings.generations):
        strength = office.generation(number)
        if number % 10 == 0:
            print(f"generation {number}: mean strength {strength:.4f}", flush=True)
    office.close(settings.generations)


def work(board, settings):
    bench = Bench(dist.get_rank(), settings.members)
    journal = Journal(bench)
    number = 0
    while not bench.worn:
        mean = board.take(f"mean/{number}")
        if mean is None:
            break
        noise = perturbations(number, bench.number, settings.candidates, settings.members)
        results = [bench.load(mean + settings.sigma * delta) for delta in noise]
        for result in results:
            journal.enter(result)
        board.pin(f"strength/{number}/{bench.number}", torch.tensor([result.strength for result in results]))
        number += 1
    print(journal, flush=True)


def main():
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(Settings):
        parser.add_argument("--" + field.name, type=field.type, default=field.default)
    settings = Settings(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    board = open_board()
    if dist.get_rank() == 0:
        lead(board, settings)
    else:
        work(board, settings)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
