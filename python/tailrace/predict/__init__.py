"""What a change would give: replays of a trace with resources in place of ideals."""
