import torch
import torch.distributed as dist

from corpus import Archive
from stages import Stage


def run(archive, stage, rank, last):
    loss = None
    for step in range(len(archive)):
        stage.opt.zero_grad()
        if rank == 0:
            stage.first(archive.microbatches(step))
        elif rank < last:
            stage.middle(archive.n_micro())
        else:
            loss = stage.final(archive.n_micro())
            if step % 20 == 0:
                print(f"page batch {step} loss {loss:.3f}", flush=True)
        stage.opt.step()
    return loss


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    archive = Archive()
    stage = Stage(rank, last, archive.micro)
    loss = run(archive, stage, rank, last)
    final = torch.tensor([loss if loss is not None else 0.0])
    dist.broadcast(final, src=last)
    if rank == 0:
        print(f"finished, last loss {final.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
