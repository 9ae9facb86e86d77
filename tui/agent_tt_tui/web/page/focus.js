// Gives the keys to the terminal once the app has drawn something, so that nobody has to click first.
const keys = () => document.querySelector(".xterm-helper-textarea");
new MutationObserver((_, watching) => {
  if (document.body.classList.contains("-first-byte") && keys()) {
    watching.disconnect();
    keys().focus();
  }
}).observe(document.documentElement, { attributes: true, childList: true, subtree: true });
