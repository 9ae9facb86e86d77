"""Between Python values and wire values, the JSON-like form in which every state, argument and result is kept."""
