"""What the Makefile calls. None of it ships."""
