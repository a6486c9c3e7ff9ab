"""Random training programs, judged by real torch: how much of what raises the linter finds, and how exactly."""
