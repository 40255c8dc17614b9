// A table that scrolls sideways can be reached and scrolled with the keyboard.
document$.subscribe(() => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((wrap) => {
    wrap.tabIndex = 0;
    wrap.setAttribute("role", "group");
    wrap.setAttribute("aria-label", "Table");
  });
});
