// Reading values off charts, with the mouse, a finger or the arrow keys. The same values stand in tables on the page.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const superscript = (n) => String(n).replace(/[-0-9]/g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
  function written(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
      const [mantissa, exponent] = value.toExponential(2).split("e");
      return `${Number(mantissa)} × 10${superscript(Number(exponent))}`;
    }
    return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
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
  // An axis: from a value to a place between 0 and 1, and back.
  function scale(text) {
    const [low, high, log, unit] = text.split(" ").map(Number);
    const to = log ? Math.log : (value) => value;
    const back = log ? Math.exp : (value) => value;
    return {
      unit,
      at: (value) => (to(value) - to(low)) / (to(high) - to(low)),
      value: (part) => back(to(low) + part * (to(high) - to(low))),
    };
  }
  // The position in a list, holes aside, that is nearest to x.
  function nearest({ x, y }, wanted) {
    let best = -1;
    for (let i = 0; i < x.length; i += 1) {
      if (x[i] === null || y[i] === null) continue;
      if (best < 0 || Math.abs(x[i] - wanted) < Math.abs(x[best] - wanted)) best = i;
    }
    return best;
  }

  function readable(figure) {
    const { columns, charts } = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const keys = [...figure.querySelectorAll('[data-pick="key"]')].map((box) => ({
      index: Number(box.value), box, style: box.parentElement.className, name: box.dataset.short,
    }));
    figure.querySelectorAll(".stage").forEach((stage, number) => {
      if (stage.querySelector(".points")) { pointer(stage, figure); return; }
      const lines = charts[number].map(([key, second, x, y]) => ({ key, second, x: columns[x], y: columns[y] }));
      if (lines.length && keys.length) reader(stage, lines, keys, figure);
    });
  }

  // A scatter plot: the name of the point under the mouse, or of the next one to the left or right by the arrow keys.
  function pointer(stage, figure) {
    const chart = stage.querySelector(".chart");
    const points = [...chart.querySelectorAll(".points circle")].filter((point) => point.firstElementChild);
    points.forEach((point) => { point.dataset.name = point.textContent; point.replaceChildren(); });
    points.sort((a, b) => parseFloat(a.getAttribute("cx")) - parseFloat(b.getAttribute("cx")));
    const tip = element("tip named", stage);
    tip.setAttribute("role", "status");
    tip.hidden = true;
    let at = -1;

    const seen = () => points.filter((point) => getComputedStyle(point.parentElement).display !== "none");
    const hide = () => { tip.hidden = true; points[at]?.classList.remove("chosen"); };
    function show(point) {
      hide();
      at = points.indexOf(point);
      point.classList.add("chosen");
      tip.textContent = point.dataset.name;
      tip.hidden = false;
      const [dot, frame] = [point.getBoundingClientRect(), stage.getBoundingClientRect()];
      const left = dot.left - frame.left + (dot.left - frame.left < frame.width / 2 ? 18 : -tip.offsetWidth - 10);
      tip.style.left = `${Math.max(0, Math.min(left, frame.width - tip.offsetWidth))}px`;
      tip.style.top = `${Math.max(0, dot.top - frame.top - tip.offsetHeight - 8)}px`;
    }
    function follow(event) {
      const far = (point) => {
        const box = point.getBoundingClientRect();
        return Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
      };
      const near = seen().filter((point) => far(point) < 16).sort((a, b) => far(a) - far(b))[0];
      if (near) show(near);
      else hide();
    }
    listen(chart, figure, follow, hide, (direction) => {
      const left = seen();
      const next = left.indexOf(points[at]) + direction;
      if (left.length) show(left[Math.min(Math.max(next, 0), left.length - 1)]);
    });
  }

  /* Reads a chart by pointer and by keys: `follow` takes a pointer's event, `move` a step to the left or right. */
  function listen(chart, figure, follow, hide, move) {
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.setAttribute("tabindex", "0");
    chart.addEventListener("keydown", (event) => {
      const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!direction) return;
      event.preventDefault();
      move(direction);
    });
    figure.addEventListener("change", hide);
  }

  function reader(stage, lines, keys, figure) {
    const chart = stage.querySelector(".chart");
    const across = scale(chart.dataset.x);
    const upwards = scale(chart.dataset.y);
    const tip = element("tip", stage);
    tip.setAttribute("role", "status");
    tip.hidden = true;
    let cross = null;
    let at = 1;

    const hide = () => { tip.hidden = true; cross?.remove(); cross = null; };
    const seen = () => keys.filter((key) => key.box.checked);
    const own = (key) => lines.filter((line) => line.key === key.index);

    function show(part) {
      const wanted = across.value(part);
      const places = seen().flatMap(own).map((line) => line.x[nearest(line, wanted)]).filter((x) => x !== undefined);
      hide();
      if (!places.length) return;
      const x = places.reduce((a, b) => (Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a));
      at = across.at(x);
      cross = drawn("g", { class: "crosshair" }, chart);
      drawn("line", { x1: `${100 * at}%`, x2: `${100 * at}%`, y1: 0, y2: "100%" }, cross);
      tip.replaceChildren();
      const two = lines.some((line) => line.second) && lines.some((line) => !line.second);
      element("head", tip, `${chart.dataset.xTitle}: ${written(x / across.unit)}`);
      if (two) ["", "evaluation", "training"].forEach((text) => element("kind", tip, text));
      seen().forEach((key) => row(key, x, two));
      tip.hidden = false;
      const box = chart.getBoundingClientRect();
      const centre = stage.getBoundingClientRect();
      const pixel = box.left - centre.left + box.width * at;
      const beside = at < 0.5 ? pixel + 14 : pixel - tip.offsetWidth - 14;
      tip.style.left = `${Math.max(0, Math.min(beside, centre.width - tip.offsetWidth))}px`;
    }

    function row(key, x, two) {
      const values = [undefined, undefined];
      own(key).forEach((line) => {
        const i = nearest(line, x);
        // Between two evaluations the nearest one is meant; after the end of a line there is none.
        if (i < 0 || across.at(x) > across.at(line.x.findLast((place) => place !== null)) + 0.015) return;
        values[two ? line.second : 0] = line.y[i];
        const top = upwards.at(line.y[i]);
        if (top >= 0 && top <= 1 && !(two && line.second)) {
          drawn("circle", { class: key.style, r: 4, cx: `${100 * across.at(line.x[i])}%`, cy: `${100 * (1 - top)}%` }, cross);
        }
      });
      if (values.every((value) => value === undefined)) return;
      const line = element(`row ${key.style}`, tip);
      element("swatch", line);
      element("name", line, key.name);
      element("first", line, values[0] === undefined ? "" : written(values[0]));
      element("second", line, values[1] === undefined ? "" : written(values[1]));
    }

    const follow = (event) => {
      const box = chart.getBoundingClientRect();
      const part = (event.clientX - box.left) / box.width;
      if (part < -0.02 || part > 1.02) hide();
      else show(part);
    };
    listen(chart, figure, follow, hide, (direction) => show(Math.min(Math.max(at + 0.02 * direction, 0), 1)));
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".figure").forEach(readable));
})();
