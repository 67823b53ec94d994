"""The paper's experiments with networks: data on the device, nets, the loop, and what is drawn from their records."""
