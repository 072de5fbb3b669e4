"""`make bench`: measures what docs/performance.md states. Nothing here is a test, and no test depends on a time."""
