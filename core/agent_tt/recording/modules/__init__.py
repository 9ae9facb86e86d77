"""Modules: the code that is loaded, and replacing names in it.

| module | what it does |
|---|---|
| `import_watch`, `fitness` | being called when a module has been executed; whether it is made as taken for granted |
| `loaded_modules` | which loaded modules are not as they were |
| `rebinding` | replacing a function under every name that loaded modules have for it |
| `native_libraries` | which libraries reach the world by themselves, where no guard of a fork or replay sees them |
"""
