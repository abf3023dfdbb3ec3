"""Tables of any user's: read, sorted out, encoded, and written with their clusters."""
