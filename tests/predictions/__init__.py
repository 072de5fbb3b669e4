"""How well runs on other file systems are predicted: recorded on one, predicted for others, and
then measured there. `python -m tests.predictions -o PAGE` writes it down.
"""
