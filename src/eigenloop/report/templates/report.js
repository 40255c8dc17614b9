"use strict";
// Everything on the page can be read without this script; it adds the theme button, sorting, copying and read-outs.
(() => {
  const root = document.documentElement;
  const SVG = "http://www.w3.org/2000/svg";
  const KEY = "eigenloop-theme";

  // A page opened from a file may have no storage.
  const remembered = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* forgotten on reload */ } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const saved = remembered();
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;

  function themeButton(button) {
    const tell = () => button.setAttribute("aria-pressed", String(isDark()));
    button.hidden = false;
    tell();
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      remember(root.dataset.theme);
      tell();
    });
  }

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

  const superscript = (n) => String(n).replace(/[-0-9]/g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
  function written(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
      const [mantissa, exponent] = value.toExponential(2).split("e");
      return `${Number(mantissa)} × 10${superscript(Number(exponent))}`;
    }
    return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
  }
  function lasting(seconds) {
    const units = [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]];
    for (const [size, name, small, below] of units) {
      if (seconds >= size) return `${Math.floor(seconds / size)} ${name} ${Math.floor((seconds % size) / small)} ${below}`;
    }
    return `${Number(seconds.toPrecision(2))} s`;
  }

  const element = (name, parent, text = "") => {
    const made = document.createElement("div");
    made.className = name;
    made.textContent = text;
    parent.append(made);
    return made;
  };
  const drawn = (name, attributes, parent) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };

  // The place in a sorted list, holes aside, that is nearest to x.
  function nearest(places, values, x) {
    let found = -1;
    for (let i = 0; i < places.length; i += 1) {
      if (places[i] === null || values[i] === null || values[i] === undefined) continue;
      if (found < 0 || Math.abs(places[i] - x) < Math.abs(places[found] - x)) found = i;
    }
    return found;
  }

  function readable(figure) {
    const tracks = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const stage = figure.querySelector(".stage");
    const tip = element("tip", stage);
    tip.hidden = true;
    const boxes = [...figure.querySelectorAll('[data-pick="run"]')];
    const runs = boxes.map((box) => ({
      index: Number(box.value),
      box,
      style: box.parentElement.className,
      name: box.dataset.short,
    }));

    figure.querySelectorAll(".chart").forEach((chart) => {
      const { quantity, axis, log } = chart.dataset;
      const [x0, x1] = chart.dataset.x.split(" ").map(Number);
      const [y0, y1] = chart.dataset.y.split(" ").map(Number);
      const height = (y) => 100 * (1 - (log === "1" ? Math.log(y / y0) / Math.log(y1 / y0) : (y - y0) / (y1 - y0)));
      const tolerance = 0.015 * (x1 - x0);
      let cross = null;
      let at = x1;

      const hide = () => { tip.hidden = true; cross?.remove(); cross = null; };
      const visible = (run) => tracks.filter((track) => track.run === run.index && run.box.checked && track.values[quantity].length);

      function show(wanted) {
        const shown = runs.filter((run) => run.box.checked);
        const every = shown.flatMap((run) => visible(run).map((track) => {
          const i = nearest(track[axis], track.values[quantity], wanted);
          return i < 0 ? null : track[axis][i];
        })).filter((place) => place !== null);
        hide();
        if (!every.length) return;
        at = every.reduce((a, b) => (Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a));
        cross = drawn("g", { class: "crosshair" }, chart);
        const left = (100 * (at - x0)) / (x1 - x0);
        drawn("line", { x1: `${left}%`, x2: `${left}%`, y1: 0, y2: "100%" }, cross);
        tip.replaceChildren();
        element("head", tip, axis === "step" ? `step ${written(at)}` : lasting(at));
        // Two columns: the evaluation, and the training value beside it.
        const evaluated = shown.some((run) => visible(run).some((track) => track.kind !== "train"));
        element("kind", tip, evaluated ? "evaluation" : "");
        element("kind", tip, "training");
        shown.forEach((run) => row(run));
        tip.hidden = false;
        const box = chart.getBoundingClientRect();
        const centre = chart.parentElement.getBoundingClientRect();
        const pixel = box.left - centre.left + (box.width * left) / 100;
        const beside = left < 50 ? pixel + 14 : pixel - tip.offsetWidth - 14;
        tip.style.left = `${Math.max(0, Math.min(beside, centre.width - tip.offsetWidth))}px`;
      }

      function row(run) {
        const found = {};
        visible(run).forEach((track) => {
          const i = nearest(track[axis], track.values[quantity], at);
          const last = track[axis].findLast((place) => place !== null);
          // Between two evaluations the nearest one is meant; after the end of a run there is none.
          if (i < 0 || at > last + tolerance) return;
          found[track.kind] = track.values[quantity][i];
          const top = height(found[track.kind]);
          if (track.kind !== "train" && top >= 0 && top <= 100) {
            drawn("circle", { class: run.style, r: 4, cx: `${(100 * (track[axis][i] - x0)) / (x1 - x0)}%`, cy: `${top}%` }, cross);
          }
        });
        const evaluation = found.valid ?? found.test;
        if (evaluation === undefined && found.train === undefined) return;
        const line = element(`row ${run.style}`, tip);
        element("swatch", line);
        element("name", line, run.name);
        element("first", line, evaluation === undefined ? "" : written(evaluation));
        element("second", line, found.train === undefined ? "" : written(found.train));
      }

      const follow = (event) => {
        const box = chart.getBoundingClientRect();
        const part = (event.clientX - box.left) / box.width;
        if (part < -0.02 || part > 1.02) hide();
        else show(x0 + part * (x1 - x0));
      };
      chart.addEventListener("pointermove", follow);
      chart.addEventListener("pointerdown", follow);
      chart.addEventListener("pointerleave", hide);
      chart.addEventListener("blur", hide);
      chart.setAttribute("tabindex", "0");
      chart.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
        if (event.key === "Escape") hide();
        if (!step) return;
        event.preventDefault();
        show(Math.min(Math.max(at + step * (x1 - x0), x0), x1));
      });
      figure.addEventListener("change", hide);
    });
  }

  function unfold() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-theme-toggle]").forEach(themeButton);
    document.querySelectorAll("table:has(thead button)").forEach(sortable);
    document.querySelectorAll("[data-copy]").forEach(copying);
    document.querySelectorAll(".figure").forEach(readable);
    addEventListener("hashchange", unfold);
    unfold();
  });
})();
