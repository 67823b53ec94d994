"""Images on the device: batches, augmentation, splits, and shifted test sets."""
