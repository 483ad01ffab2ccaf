"""A language model for pupils' essays, with grammar tags as a hint. FSDP2, a school per rank."""
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from essays import batches
from net import Writer, shard

STEPS = 600


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    init_device_mesh("cpu", (size,))
    torch.manual_seed(6)
    model = shard(Writer())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    running = torch.zeros(1)

    for step, (tokens, tags) in enumerate(batches(rank, STEPS), start=1):
        loss = model(tokens, tags)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        running += loss.detach()
        if step % 50 == 0:
            dist.all_reduce(running)
            if rank == 0:
                print(f"step {step}  loss {running.item() / (50 * size):.3f}", flush=True)
            running.zero_()

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
