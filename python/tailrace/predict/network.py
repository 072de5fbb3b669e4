"""What messages take where nothing is known of the network."""

from __future__ import annotations

from tailrace.gathering import Edge

# Of a message, and of a byte of it; nanoseconds.
LATENCY_NS: dict[Edge, float] = {"value": 2000, "low": 1000, "high": 5000}
BYTE_NS: dict[Edge, float] = {"value": 0.2, "low": 0.05, "high": 1.0}
