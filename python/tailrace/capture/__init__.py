"""`tailrace run`: the program with capture preloaded, and the libraries that this takes."""
