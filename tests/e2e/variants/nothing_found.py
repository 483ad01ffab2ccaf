"""Detections of all ranks are gathered; a rank whose part held none returns before that."""

import torch
import torch.distributed as dist
from torch import Tensor


class Detections:
    def __init__(self) -> None:
        self.found: list[Tensor] = []

    def look_at(self, picture: Tensor) -> None:
        peaks = picture[picture > 0.9]
        if peaks.numel():
            self.found.append(peaks)

    def of_all(self) -> list[Tensor]:
        if not self.found:
            return []
        parts: list[list[Tensor]] = [[] for _ in range(dist.get_world_size())]
        dist.all_gather_object(parts, self.found)
        return [peaks for part in parts for peaks in part]


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    detections = Detections()
    for index in range(6):
        brightest = 0.5 if rank == 2 else 1.0
        detections.look_at(torch.linspace(0.0, brightest, 8 + index))
    everything = detections.of_all()
    dist.barrier()
    print(len(everything), "detections\n", end="")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
