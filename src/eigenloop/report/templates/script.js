// Sorting the table of runs, copying commands, and opening the details that a link points to.
(() => {
  function sortable(table) {
    const body = table.tBodies[0];
    const headings = [...table.tHead.rows[0].cells];
    const compare = (a, b, numeric) => (numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true }));
    headings.forEach((heading, column) => {
      heading.querySelector("button").addEventListener("click", () => {
        const up = heading.getAttribute("aria-sort") !== "ascending";
        const numeric = heading.classList.contains("number");
        headings.forEach((other) => other.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => row.cells[column].dataset.key;
        const rows = [...body.rows].sort((a, b) => {
          // What is missing comes last either way.
          if (!key(a) || !key(b)) return Number(!key(a)) - Number(!key(b));
          return compare(key(a), key(b), numeric) * (up ? 1 : -1);
        });
        body.append(...rows);
      });
    });
  }

  function copying(button) {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
  }

  function unfold() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("table.sortable").forEach(sortable);
    document.querySelectorAll("[data-copy]").forEach(copying);
    addEventListener("hashchange", unfold);
    unfold();
  });
})();
