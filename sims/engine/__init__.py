"""The simulation engine: a study becomes units of work, one compiled program computes all of them."""
