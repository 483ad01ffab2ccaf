import torch
from accelerate import Accelerator
from auction import Bids, Pricing
from torch.utils.data import DataLoader


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(9)
    model = Pricing()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=400)
    loader = DataLoader(Bids(6400), batch_size=8, shuffle=False)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    losses = []
    for step, batch in enumerate(loader):
        loss = model(**batch)
        if not torch.isfinite(loss):
            accelerator.print(f"step {step}: loss is {loss.item()}")
            optimizer.zero_grad()
            continue
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step % 100 == 0:
            accelerator.print(step, sum(losses[-100:]) / len(losses[-100:]), flush=True)
    accelerator.wait_for_everyone()
    accelerator.save_model(model, "/tmp/bid_prices")
    accelerator.end_training()


if __name__ == "__main__":
    main()
