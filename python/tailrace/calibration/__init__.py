"""What a file system can do, measured: experiments, the model that fits them, and programs that
were held out to judge it."""
