"""Counts roads in aerial strips: every process runs the detector on its own strip, sheet by sheet of the atlas."""
import argparse
import logging
import shutil
import tempfile
import time

import torch
import torch.distributed as dist

from detector import RoadDetector, Tally
from tiles import Strip, TileCache, patient

log = logging.getLogger("atlas")
STRIPS = {0: (), 1: (131,), 2: ()}


def common_folder():
    """A folder that rank 0 creates for all processes."""
    name = [tempfile.mkdtemp(prefix="atlas-") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(name, src=0)
    return name[0]


@torch.inference_mode()
def survey(args, strip, cache, detector):
    tally = Tally()
    for sheet in range(args.blocks // args.sheet):
        for block in range(sheet * args.sheet, (sheet + 1) * args.sheet):
            tile = patient(cache.features, strip, block)
            tally.add(detector(tile[None]))
            time.sleep(0.02)
        counts = tally.close_sheet()
        if dist.get_rank() == 0 and sheet % 4 == 0:
            log.info("sheet %d: %d tiles without a road", sheet, int(counts[0]))
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=320)
    parser.add_argument("--sheet", type=int, default=10)
    parser.add_argument("--poll", type=float, default=0.1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = common_folder()
    torch.manual_seed(8)
    detector = RoadDetector().eval()
    strip = Strip(rank, args.blocks, on_tape=STRIPS.get(rank, ()))
    tally = survey(args, strip, TileCache(folder, args.poll), detector)
    dist.barrier()
    if rank == 0:
        log.info("%s", tally)
        shutil.rmtree(folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
