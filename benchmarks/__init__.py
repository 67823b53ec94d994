"""Side-by-side timings: `python -m benchmarks NAME`. Ratios measured in one run; never part of the tests."""
