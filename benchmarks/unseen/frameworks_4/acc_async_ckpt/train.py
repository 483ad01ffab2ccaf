import faulthandler
import io
import signal
import threading
import time

import torch
from accelerate import Accelerator
from torch import nn

from uploader import FlakyBucket, Uploader

status = {"step": 0, "asked": 0}


def on_usr1(signum, frame):
    status["asked"] += 1
    print(f"[status] step={status['step']} threads={[t.name for t in threading.enumerate()]}", flush=True)


def wave_batch(step, rank, n=8):
    g = torch.Generator().manual_seed(step * 31 + rank)
    phase = torch.rand(n, 1, generator=g) * 6.28
    t = torch.linspace(0, 6.28, 64)
    return torch.sin(t + phase) + 0.1 * torch.randn(n, 64, generator=g)


def main(steps=160, every=70, owner=1):
    faulthandler.enable()
    signal.signal(signal.SIGUSR1, on_usr1)
    signal.signal(signal.SIGALRM, lambda *_: on_usr1(None, None))
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = nn.Sequential(nn.Linear(64, 24), nn.Tanh(), nn.Linear(24, 64))
    opt = torch.optim.SGD(net.parameters(), 0.05)
    net, opt = acc.prepare(net, opt)
    up = None
    if acc.process_index == owner:
        up = Uploader(FlakyBucket(seed=3))
        up.start()
        signal.setitimer(signal.ITIMER_REAL, 2.0, 5.0)

    for step in range(steps):
        status["step"] = step
        x = wave_batch(step, acc.process_index)
        with acc.accumulate(net):
            loss = nn.functional.mse_loss(net(x), x)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
        if up is not None and step % every == every - 1:
            buf = io.BytesIO()
            torch.save({"net": acc.unwrap_model(net).state_dict(), "step": step}, buf)
            up.submit(f"wave/{step}", buf)
        time.sleep(0.05)

    mean = acc.gather(loss.detach().reshape(1)).mean().item()
    acc.print(f"final loss {mean:.4f}")
    if up is not None:
        up.close()
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(f"uploaded {sorted(up.bucket.objects)} with {up.retries} retries", flush=True)
        time.sleep(8)  # the store lists new objects with a delay
    acc.wait_for_everyone()
    acc.end_training()


if __name__ == "__main__":
    main()
