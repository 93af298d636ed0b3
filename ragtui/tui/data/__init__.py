"""Pure functions that make immutable snapshots from a laboratory; each runs in a thread and opens the store briefly."""
