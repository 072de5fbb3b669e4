"""What holds a run back: the efficiencies, the evidence, and the findings in words."""
