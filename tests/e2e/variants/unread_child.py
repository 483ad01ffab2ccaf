"""The first rank converts a recording with a program of its own, and reads what that says only at its end."""

import subprocess
import sys

import torch.distributed as dist

CONVERTER = "for frame in range(20_000): print('frame', frame, 'of 20000 is converted')"


def convert() -> str:
    converter = subprocess.Popen([sys.executable, "-c", CONVERTER], stdout=subprocess.PIPE, text=True)
    converter.wait()
    return converter.stdout.read() if converter.stdout else ""


def main() -> None:
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        convert()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
