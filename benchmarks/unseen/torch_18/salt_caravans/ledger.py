"""Prices of salt along a route, kept in a file that a program of its own renews."""
import contextlib
import json
import logging
import os
import subprocess
import sys
import time

log = logging.getLogger("ledger")

PROGRAM = r"""
import json, os, sys, time

folder, stations, year = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
lock = os.path.join(folder, "prices.lock")
while True:
    try:
        os.mkdir(lock)
        break
    except FileExistsError:
        time.sleep(0.05)
try:
    prices = [1.0 + ((7 * k + 3 * year) % 11) / 10 for k in range(stations)]
    for sweep in range(stations ** 2):
        for k in range(1, stations - 1):
            prices[k] += 0.25 * (prices[k - 1] - 2 * prices[k] + prices[k + 1]) * (0.5 + (k + year) % 2)
    with open(os.path.join(folder, "prices.json"), "w") as file:
        json.dump(prices, file)
finally:
    os.rmdir(lock)
"""


class Ledger:
    """Program and trainer take turns with the file: who reads or writes it has made the folder `prices.lock`."""

    def __init__(self, folder, stations, patience):
        self.folder = folder
        self.stations = stations
        self.patience = patience
        self.pause = 0.05

    @contextlib.contextmanager
    def locked(self):
        lock = os.path.join(self.folder, "prices.lock")
        while True:
            try:
                os.mkdir(lock)
                break
            except FileExistsError:
                time.sleep(self.pause)
        try:
            yield
        finally:
            os.rmdir(lock)

    def renew(self, year, stations):
        """Prices of a new year. If that takes too long, those of the year before are good enough."""
        command = [sys.executable, "-c", PROGRAM, self.folder, str(stations), str(year)]
        try:
            subprocess.run(command, check=True, timeout=self.patience)
            self.stations = stations
        except subprocess.TimeoutExpired:
            log.warning("year %d: no new prices after %.0f s, the old ones are kept", year, self.patience)

    def prices(self):
        with self.locked():
            with open(os.path.join(self.folder, "prices.json")) as file:
                return json.load(file)
