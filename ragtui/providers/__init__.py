"""What can be swapped: embedders and retrievers, as protocols and as built in."""
