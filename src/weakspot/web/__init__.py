"""Pages for people in the browser: the explorer of runs, and labelling. Served to this machine only."""
