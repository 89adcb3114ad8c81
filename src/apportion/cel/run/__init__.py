"""From a checked tree to closures, and what running them costs."""
