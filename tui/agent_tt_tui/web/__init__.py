"""The app in a browser, on this machine alone: `agent-tt open --web`. The page is in `page`.

| module | does |
|---|---|
| `server` | serves the page and a process of the app for each tab, to who has the token |
"""
