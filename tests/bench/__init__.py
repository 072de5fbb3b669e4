"""`make bench`: measures what docs/reference/performance.md states. Nothing here is a test, and no
test depends on a time."""
