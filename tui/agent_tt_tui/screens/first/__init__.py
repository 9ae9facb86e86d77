"""The first page: what there is to look at on this machine, or in a folder."""
