"""Programs that the Makefile calls. None of it ships."""
