"""A study file, checked: its factors and levels, the combinations of them, and their order.

model         what each table of the file may say, strictly typed
placeholders  {name} in the words of a command
problems      what single values cannot show: how they go together
loader        a study by name or path, in a size and with changes
setups        what a combination of levels means: ranks, size, target, arguments
design        all combinations, in randomised complete blocks
columns       the columns of the tables that a study writes
"""
