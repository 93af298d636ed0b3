"""Other people's files: read a line at a time, every problem with its place, ids opaque."""
