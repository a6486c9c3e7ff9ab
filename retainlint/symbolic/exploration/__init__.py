"""Where to start, what is run again, and what is told of it all."""
