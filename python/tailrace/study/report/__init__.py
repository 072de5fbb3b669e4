"""What a study found, for people: in the terminal, as JSON, as one HTML page.

show          one study or two, in the form that was asked for
text, comparison   tables and sentences in the terminal
page, facets, marks, charts, scatter, machine   the page: its charts, and where the study ran
notebook, plots    the same in Python: a study in a notebook, a response with matplotlib
"""
