"""What a workload's run would take on a file system that is described by a model, without a run."""
