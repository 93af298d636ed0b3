"""How an execution works inside: what it needs, artifacts made ready, cases taken through their stages."""
