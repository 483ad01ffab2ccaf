"""Write the memory map of a training process while it stands still, for the leak hunt.

Usage: freeze.py PID FOLDER AGE...; the ages are those of the batch at hand and go into the header.
"""

import os
import pathlib
import signal
import sys


def header(ages):
    """Mean and span of the ages, as they appear in the reports."""
    years = sorted(float(age) for age in ages)
    span = years[-1] - years[0]
    mean = sum(years) / len(years)
    spread = (sum((year - mean) ** 2 for year in years) / len(years)) ** 0.5
    return f"mean {mean:.0f} a, span {span:.0f} a, relative spread {spread / span:.3f}\n"


def resident(pid):
    """Lines of the memory map that are larger than a megabyte."""
    lines = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if end - start > 1 << 20:
            lines.append(f"{(end - start) >> 10:10d} kB  {line.split(maxsplit=5)[-1]}\n")
    return lines


def main():
    pid = int(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    ages = sys.argv[3:]
    # the map must not change while it is read
    os.kill(pid, signal.SIGSTOP)
    with open(folder / f"map_{pid}.txt", "w") as out:
        out.write(header(ages))
        out.writelines(resident(pid))
    os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    main()
