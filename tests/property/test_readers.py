"""Damaged, torn and malicious input: a reader reads it or refuses it, within bounds of time and memory.

`make fuzz` gives each 20,000 inputs. An input is known by its number, the seed of its damage; to see one again,
`python -m tests.property.test_readers NAME NUMBER` writes it to standard output.
"""

from __future__ import annotations

import random
import resource
import sys
import time

import pytest

from tests.property.mutation import mutated
from tests.property.readers import READERS, Reader

#: seconds of processor time for one input of a megabyte at most, and bytes that all of them may add to the process
MOST_SECONDS, MOST_MEMORY = 10.0, 512 << 20
FEW, MANY = 150, 20_000


def damaged(reader: Reader, number: int) -> bytes:
    chance = random.Random(number)
    seeds = reader.seeds()
    return mutated(chance.choice(seeds), seeds, chance)


def _try(name: str, numbers: range) -> None:
    reader = READERS[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    for number in numbers:
        data = damaged(reader, number)
        begun = time.process_time()
        try:
            reader.read(data)
        except reader.refuses:
            pass
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            pytest.fail(f"{name}, input {number}: {type(error).__name__}: {error}")
        assert time.process_time() - begun < MOST_SECONDS, f"{name}, input {number}"
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before < MOST_MEMORY, name


@pytest.mark.parametrize("name", READERS)
def test_sound_input_is_read(name: str) -> None:
    seeds = READERS[name].seeds()
    assert seeds
    for seed in seeds:
        READERS[name].read(seed)


@pytest.mark.parametrize("name", READERS)
def test_some_damage_is_read_or_refused(name: str) -> None:
    _try(name, range(1_000_000, 1_000_000 + FEW))


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.parametrize("name", READERS)
def test_much_damage_is_read_or_refused(name: str) -> None:
    _try(name, range(MANY))


if __name__ == "__main__":
    sys.stdout.buffer.write(damaged(READERS[sys.argv[1]], int(sys.argv[2])))
