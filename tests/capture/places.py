"""Calls whose lines are known: the test reads them off this text."""

import json
import os
from pathlib import Path


def synchronize(file):
    os.fsync(file)  # sync


class Output:
    def write_history(self, file):
        os.write(file, b"x" * 1001)  # write
        synchronize(file)  # calls sync


def step(output, file):
    for _ in range(3):
        output.write_history(
            file,
        )  # the call begins two lines above


file = os.open("history.dat", os.O_CREAT | os.O_WRONLY)
for _ in range(5):
    step(Output(), file)
with Path("é.json").open("w") as other:
    json.dump(list(range(10000)), other)  # dump
os.write(file, b"y" * 1002)  # last
os.close(file)
