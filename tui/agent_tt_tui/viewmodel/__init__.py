"""What the screens show, worked out without a terminal: plain objects over `agent_tt`."""
