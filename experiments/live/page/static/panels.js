// -- panels of controllers and schemas: only what a panel holds is known of them ------
const PLOT_S = 120;
const plots = new Map();   // robot/kind/name -> [[time_s, [values]], ...]
const owns = new Map();
const keyOf = (robot, view) => robot + "/" + view.kind + "/" + view.name;
function keepPlots(state) {
  for (const view of state.panels) {
    if (!view.panel || !view.panel.plot) continue;
    const key = keyOf(state.robot, view), points = plots.get(key) || [];
    const last = points.at(-1);
    if (last && state.time_s < last[0]) points.length = 0;
    if (!last || state.time_s - last[0] > 0.19)
      points.push([state.time_s, view.panel.plot.lines.map(line => line.value)]);
    while (points.length && points[0][0] < state.time_s - PLOT_S) points.shift();
    plots.set(key, points);
  }
}
const SVG = "http://www.w3.org/2000/svg";
function shape(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
function told(value) {
  return value === null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(4))) : value;
}
function drawPlot(box, plot, points) {
  const known = points.flatMap(([, values]) => values.filter(v => v !== null));
  let low = Math.min(...known), high = Math.max(...known);
  if (!known.length) { low = 0; high = 1; }
  if (high - low < 1e-9) { low -= 0.5; high += 0.5; }
  const end = points.length ? points.at(-1)[0] : 0, begin = Math.min(points.length ? points[0][0] : 0, end - 10);
  const x = t => (t - begin) / (end - begin) * 300, y = v => 98 - (v - low) / (high - low) * 96;
  const svg = box.querySelector("svg");
  svg.replaceChildren(...[2, 50, 98].map(at => shape("line", {x1: 0, x2: 300, y1: at, y2: at})),
    ...plot.lines.flatMap((line, i) => {
      const runs = [[]];
      for (const [t, values] of points) {
        if (values[i] === null || values[i] === undefined) runs.push([]);
        else runs.at(-1).push(x(t).toFixed(1) + "," + y(values[i]).toFixed(1));
      }
      return runs.filter(run => run.length).map(run => {
        const curve = shape("polyline", {points: run.join(" ")});
        curve.style.stroke = "var(--c" + i % 8 + ")";
        return curve;
      });
    }));
  box.querySelector("figcaption").textContent = [plot.title + (plot.unit ? " in " + plot.unit : ""),
    told(low) + " to " + told(high), "the last " + ((end - begin) / 60).toFixed(1) + " min"].join(", ");
  box.querySelector(".key").replaceChildren(...plot.lines.map((line, i) => {
    const name = make("span", "", "— " + line.name + " " + told(line.value));
    name.style.color = "var(--c" + i % 8 + ")";
    return name;
  }));
}
function settingInput(one) {
  if (one.choices.length) {
    const select = make("select");
    select.replaceChildren(...one.choices.map(word => make("option", "", word)));
    return select;
  }
  const input = make("input");
  input.type = typeof one.value === "boolean" ? "checkbox" : typeof one.value === "number" ? "number" : "text";
  if (one.low !== null) input.min = one.low;
  if (one.high !== null) input.max = one.high;
  if (input.type === "number") input.step = "any";
  return input;
}
function ownCard(view) {
  const box = make("div", "card own");
  const table = make("table"), figure = make("figure");
  table.append(make("thead"), make("tbody"));
  const svg = shape("svg", {viewBox: "0 0 300 100", preserveAspectRatio: "none", class: "plot", role: "img"});
  figure.append(svg, make("div", "key"), make("figcaption"));
  const settings = make("div");
  const names = view.panel ? view.panel.settings : [];
  settings.append(...names.map(one => {
    const label = make("label", "line", one.name + " "), input = settingInput(one);
    input.dataset.name = one.name;
    label.title = one.about;
    input.onchange = () => want("ChangeSetting", {setting: one.name, value:
      input.type === "checkbox" ? input.checked : input.type === "number" ? Number(input.value) : input.value});
    label.append(input, ...[one.unit, one.about].filter(Boolean).map(text => make("span", "soft", text)));
    return label;
  }));
  box.append(make("h3", "", view.kind + " " + view.name), make("p", "bad"), table, settings, figure);
  box.dataset.form = JSON.stringify(names.map(one => [one.name, one.low, one.high, one.choices]));
  return box;
}
function drawOwn(box, view, key) {
  const panel = view.panel;
  box.querySelector(".bad").textContent = view.fault;
  box.querySelector(".bad").hidden = !view.fault;
  box.querySelector("table").hidden = !panel || !panel.rows.length;
  box.querySelector("figure").hidden = !panel || !panel.plot;
  if (!panel) return;
  const head = make("tr");
  head.append(make("th"), ...panel.columns.map(name => make("th", "", name)));
  box.querySelector("thead").replaceChildren(head);
  box.querySelector("tbody").replaceChildren(...panel.rows.map(row => {
    const line = make("tr");
    line.append(make("td", "", row.name), ...row.values.map(value => make("td", "", told(value))));
    return line;
  }));
  for (const input of box.querySelectorAll("[data-name]")) {
    if (document.activeElement === input) continue;
    const now = panel.settings.find(one => one.name === input.dataset.name).value;
    if (input.type === "checkbox") input.checked = now;
    else input.value = now;
  }
  if (panel.plot) drawPlot(box, panel.plot, plots.get(key) || []);
}
function drawPanels(s) {
  const wanted = s.panels.map(view => {
    const key = keyOf(s.robot, view);
    const form = JSON.stringify((view.panel ? view.panel.settings : []).map(one => [one.name, one.low, one.high, one.choices]));
    if (!owns.has(key) || owns.get(key).dataset.form !== form) owns.set(key, ownCard(view));
    drawOwn(owns.get(key), view, key);
    return owns.get(key);
  });
  if (!wanted.length) wanted.push(make("p", "soft", "Neither the controller nor a running schema has a panel; minheat has one."));
  const shown = $("owns").children;
  if (wanted.length !== shown.length || wanted.some((node, i) => shown[i] !== node)) $("owns").replaceChildren(...wanted);
}
