"""The stages of retrieval, one a module; pure functions around rankings, but for the channels' searches."""
