"""Runs as one page for a browser, which asks nothing of any network.

| module | has |
|---|---|
| `page` | the format: a page of the data, the scripts and the style beside it, under a strict policy |
| `data` | what the page is given: runs with their states as changes, and comparisons |
| `packing` | values so that a browser reads them as they are: the order of keys, and numbers to the last digit |

`values.js` takes values and changes apart, `tree.js` draws values, `page.js` is the page, `page.css` its look. What was
recorded is data: it is drawn as text, never as markup.
"""
