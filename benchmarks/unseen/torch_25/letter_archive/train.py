"""Hands of an archive of letters: a short training together, then each process reads boxes at its own speed."""
import argparse
import datetime
import logging
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from reader import HANDS, STROKES, HandReader, read_box
from store_queue import BoxQueue

log = logging.getLogger("letters")


class Heartbeat(threading.Thread):
    """Says every few seconds how many boxes this process has read."""

    def __init__(self, seconds):
        super().__init__(name="heartbeat")
        self.seconds = seconds
        self.boxes = 0
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(self.seconds):
            log.info("process %d has read %d boxes", dist.get_rank(), self.boxes)

    def stop(self):
        self.stopped.set()
        self.join()


def train(args):
    torch.manual_seed(0)
    model = DDP(HandReader())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    centres = torch.randn(HANDS, STROKES, generator=torch.Generator().manual_seed(1))
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(args.steps):
        hand = torch.randint(0, HANDS, (32,), generator=g)
        strokes = centres[hand] + torch.randn(32, STROKES, generator=g)
        loss = nn.functional.nll_loss(model(strokes), hand)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.01)
    return model.module.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--boxes", type=int, default=36)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=5))
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO)
    reader = train(args)
    store = dist.PrefixStore("letters", dist.distributed_c10d._get_default_store())
    boxes = BoxQueue(store, args.boxes)
    heartbeat = Heartbeat(seconds=3.0)
    heartbeat.start()
    if rank == 1:
        # the reading room of this process opens later
        time.sleep(4.0)
    for box in boxes.claims():
        boxes.done(box, read_box(reader, box))
        heartbeat.boxes += 1
    results = boxes.wait_for_all()
    heartbeat.stop()
    totals = torch.tensor(results).sum(0)
    shares = torch.tensor([float(heartbeat.boxes)])
    everybody = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(everybody, shares)
    if rank == 0:
        log.info("letters by hand %s, boxes by process %s", totals.tolist(), [int(n) for n in everybody])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
