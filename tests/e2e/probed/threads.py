"""One rank whose second thread communicates too."""

import threading

import torch
import torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
thread = threading.Thread(target=lambda: dist.all_reduce(torch.ones(2)))
thread.start()
thread.join()
dist.barrier()
dist.destroy_process_group()
