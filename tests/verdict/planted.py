"""Python programs with one known bottleneck each: planted.py NAME DIRECTORY. Those that import
mpi4py are started under mpiexec."""

import contextlib
import csv
import fcntl
import json
import os
import pickle
import shutil
import sqlite3
import sys
import tempfile
import time
from pathlib import Path


def json_unbuffered():
    """json.dump writes piece by piece, and nothing gathers the pieces."""
    values = {f"value {i}": i for i in range(8000)}
    with Path("state.json").open("wb", buffering=0) as file:
        json.dump(values, _Encoding(file))


class _Encoding:
    def __init__(self, file):
        self.file = file

    def write(self, text):
        self.file.write(text.encode())


def dump_state():
    """json.dump takes long to make text of numbers, and writes little."""
    state = {f"value {i}": [i / 7, i / 3] for i in range(60_000)}
    with Path("state.json").open("w") as file:
        json.dump(state, file)


def print_flush():
    """Standard output is a file, and each line goes there at once."""
    with Path("stdout").open("w") as file, contextlib.redirect_stdout(file):
        for step in range(15_000):
            print(f"step {step}: residual {1 / (step + 1)}", flush=True)


def csv_lines():
    """Line buffering: a write for each row."""
    with Path("rows.csv").open("w", buffering=1) as file:
        rows = csv.writer(file)
        for i in range(12_000):
            rows.writerow([i, i * i, 1 / (i + 1)])


def pickle_steps():
    """The file is opened again for each step."""
    for step in range(3000):
        with Path("steps.pickle").open("ab") as file:
            pickle.dump(step, file)


def wait_for_file():
    """Asks again and again whether a file is there."""
    for _ in range(40_000):
        Path("not-yet-there").exists()


def make_names():
    """What list_directory lists."""
    folder = Path("steps")
    folder.mkdir()
    for step in range(1500):
        (folder / f"step_{step:020}").touch()


def list_directory():
    """Lists a directory of 1,500 files again and again, and looks for one name. The files were
    there before the run: how long a disk takes to make them says nothing about listings. Of these
    there are four for each time that the directory is opened: 1,500 names of 48 bytes are 72 kB, a
    request gets 32 KiB of them, and the last one gets nothing. Three of the four copy hundreds of
    names from the kernel's memory, while an open looks up one."""
    for _ in range(600):
        assert Path("steps/missing") not in Path("steps").iterdir()


def sqlite_rows():
    """A transaction for each row."""
    rows = sqlite3.connect("rows.db")
    rows.execute("create table steps (step integer)")
    for step in range(40):
        rows.execute("insert into steps values (?)", (step,))
        rows.commit()


def sqlite_log():
    """A transaction for each row, in a database that keeps a log."""
    rows = sqlite3.connect("rows.db")
    rows.execute("pragma journal_mode=wal")
    rows.execute("create table steps (step integer)")
    for step in range(400):
        rows.execute("insert into steps values (?)", (step,))
        rows.commit()


def sqlite_table():
    """One transaction of many rows."""
    rows = sqlite3.connect("rows.db")
    rows.execute("create table steps (step integer, text text)")
    steps = ((step, f"step {step} of the run") for step in range(400_000))
    rows.executemany("insert into steps values (?, ?)", steps)
    rows.commit()


def read_small_files():
    """On one line, so that all calls come from one place."""
    for i in range(1000):
        Path(f"part.{i}").write_text("a few words")
    for _ in range(10):
        for i in range(1000):
            Path(f"part.{i}").read_text()


def lock_each_step():
    """Nothing is done under the lock."""
    with Path("lock").open("w") as file:
        for _ in range(100_000):
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.flock(file, fcntl.LOCK_UN)


def pickle_objects():
    objects = [{"step": step, "value": step / 7} for step in range(200_000)]
    with Path("state.pkl").open("wb") as file:
        for begin in range(0, len(objects), 500):
            pickle.dump(objects[begin : begin + 500], file)


def pack_arrays():
    """Few and large writes, and long times between them."""
    import numpy

    field = numpy.random.default_rng(1).random(2_000_000).round(4)
    for step in range(3):
        numpy.savez_compressed(f"field.{step}.npz", field=field)


def rewrite_history():
    """All of it, for each step that is added."""
    history = []
    for step in range(300):
        history.append({"step": step, "loss": 1 / (step + 1)})
        with Path("history.json").open("w") as file:
            json.dump(history, file)


def replace_and_read():
    """1,000 files, each of which has two names, one after the other."""
    for i in range(1000):
        Path(f"part.{i}.tmp").write_text("a few words")
        Path(f"part.{i}.tmp").replace(f"part.{i}")
    for _ in range(3):
        for i in range(1000):
            Path(f"part.{i}").read_text()


def temporary_files():
    for step in range(3000):
        with tempfile.NamedTemporaryFile("w", dir=".") as file:
            print(step, file=file, flush=True)


def copy_files():
    Path("field").write_bytes(bytes(64 << 20))
    for step in range(12):
        shutil.copy("field", f"field.{step}")


def replace_record():
    """Each record is synchronised and renamed over the last."""
    for step in range(60):
        with Path("state.new").open("w") as file:
            file.write(str(step))
            file.flush()
            os.fsync(file.fileno())
        Path("state.new").rename("state")


def read_lines_unbuffered():
    Path("lines").write_bytes(b"a line of text\n" * 2000)
    with Path("lines").open("rb", buffering=0) as file:
        while file.readline():
            pass


def compute_only():
    until = time.perf_counter() + 0.6
    while time.perf_counter() < until:
        pass
    Path("result").write_text("done")


# --- under mpiexec ---


def save_each():
    """A small file for each array."""
    import numpy

    rank, _ = _world()
    field = numpy.zeros(100)
    for step in range(150):
        numpy.save(f"field.{rank}.{step}.npy", field)


def chunks_of_h5py():
    """Chunks of 64 bytes, each written on its own, ten times."""
    import h5py
    import numpy

    rank, _ = _world()
    with h5py.File(f"field.{rank}.h5", "w", rdcc_nbytes=0) as file:
        field = file.create_dataset("field", shape=(24_000,), chunks=(8,), dtype="f8")
        for _ in range(10):
            field[:] = numpy.arange(24_000)


def gather_save():
    """Rank 0 gathers and saves, the others wait."""
    import numpy

    rank, world = _world()
    part = numpy.zeros(1 << 20)
    for step in range(4):
        parts = world.gather(part, root=0)
        if rank == 0:
            numpy.save(f"step.{step}.npy", numpy.concatenate(parts))
        world.Barrier()


def load_everywhere():
    """Each rank loads all of the same array."""
    import numpy

    rank, world = _world()
    if rank == 0:
        numpy.save("mesh.npy", numpy.zeros(6 << 20))
    _from_here(world)
    numpy.load("mesh.npy")


def uneven_loop():
    rank, world = _world()
    for _ in range(5):
        until = time.perf_counter() + (0.15 if rank == 1 else 0.01)
        while time.perf_counter() < until:
            pass
        world.Barrier()


def objects_to_and_fro():
    """Many small pickled messages."""
    rank, world = _world()
    for step in range(3000):
        if rank == 0:
            world.send({"step": step}, dest=1)
            world.recv(source=1)
        else:
            world.send(world.recv(source=0), dest=0)


def log_of_all():
    """Each rank appends lines to the same file, unbuffered."""
    rank, _ = _world()
    with Path("run.log").open("ab", buffering=0) as file:
        for step in range(10_000):
            file.write(b"rank %d: step %d\n" % (rank, step))


def _world():
    from mpi4py import MPI

    return MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD


def _from_here(world):
    """What comes before is not counted."""
    from mpi4py import MPI

    world.Barrier()
    MPI.Pcontrol(1)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    globals()[sys.argv[1]]()
