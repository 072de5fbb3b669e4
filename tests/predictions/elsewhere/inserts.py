"""Rows into a database, a transaction for every few of them: inserts.py FOLDER."""

import sqlite3
import sys
from pathlib import Path

TRANSACTIONS, ROWS = 60, 20

connection = sqlite3.connect(Path(sys.argv[1], "rows.db"))
connection.execute("create table rows (number integer, words text)")
for transaction in range(TRANSACTIONS):
    numbers = range(transaction * ROWS, (transaction + 1) * ROWS)
    with connection:
        connection.executemany(
            "insert into rows values (?, ?)", [(number, "x" * 100) for number in numbers]
        )
connection.close()
