"use strict";
// Everything on a page can be read without scripts; this one adds the button that switches between light and dark.
(() => {
  const root = document.documentElement;
  const KEY = "eigenloop-theme";
  // A page opened from a file may have no storage.
  const remembered = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* forgotten on reload */ } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const saved = remembered();
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-theme-toggle]").forEach((button) => {
      const tell = () => button.setAttribute("aria-pressed", String(isDark()));
      button.hidden = false;
      tell();
      button.addEventListener("click", () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        remember(root.dataset.theme);
        tell();
      });
    });
  });
})();
