"""`tailrace report`: the verdict and the tables in the terminal and as JSON."""
