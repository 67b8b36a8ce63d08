"""What is computed from noisy numbers, for nothing: consistent fits, their exact errors, laws of sums of noises."""
