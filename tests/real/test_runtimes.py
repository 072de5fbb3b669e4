"""Java and Node: programs on a runtime with threads of its own, without MPI. test_findings.py has
what an expert would say of each."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.real.harness import Program, assert_same_bytes, compare, needs

pytestmark = [pytest.mark.whole, pytest.mark.alone]

CALLS, BLOCK = 5000, 1 << 20

JAVA = """
import java.io.*;
import java.nio.file.*;
public class Main {{
    public static void main(String[] arguments) throws Exception {{
        try (FileOutputStream output = new FileOutputStream("bytes.dat")) {{
            for (int i = 0; i < {calls}; i++) output.write(i);
        }}
        Files.write(Paths.get("whole.dat"), new byte[1 << 20]);
        System.out.println(Files.size(Paths.get("bytes.dat")));
        System.exit(3);
    }}
}}
"""

NODE = f"""
const fs = require("fs");
const output = fs.openSync("lines.dat", "w");
for (let i = 0; i < {CALLS}; i++) fs.writeSync(output, "line\\n");
fs.closeSync(output);
fs.writeFile("whole.dat", Buffer.alloc({BLOCK}, 7), () => {{
  console.log("written");
  process.exit(4);
}});
"""


def compiled(folder: Path, source: str) -> list[str | Path]:
    """The command that runs it."""
    java, compiler = needs("default-jre-headless", "java"), needs("default-jdk-headless", "javac")
    classes = folder / "classes"
    classes.mkdir()
    (classes / "Main.java").write_text(source)
    subprocess.run([compiler, "-d", classes, classes / "Main.java"], check=True)
    # Without its shared memory for `jps`, whose name is the process's number.
    return [java, "-XX:-UsePerfData", "-cp", classes, "Main"]


def test_java_writes_byte_by_byte(tmp_path: Path) -> None:
    command = compiled(tmp_path, JAVA.format(calls=CALLS))
    compared = compare(tmp_path, Program(command, lambda work: None, status=3))
    assert_same_bytes(compared)
    assert compared.file("bytes.dat")["writes"] == CALLS
    assert "I/O does not hold this run back" not in compared.headline


def test_node_writes_line_by_line(tmp_path: Path) -> None:
    node = needs("nodejs", "node")

    def script(work: Path) -> None:
        (work / "main.js").write_text(NODE)

    compared = compare(tmp_path, Program([node, "main.js"], script, status=4))
    assert_same_bytes(compared)
    assert compared.file("lines.dat")["writes"] == CALLS
    assert compared.file("whole.dat")["bytes_written"] == BLOCK
