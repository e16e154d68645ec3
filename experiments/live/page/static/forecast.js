// -- the next 15 minutes of each joint as a fan beside the past, as it is and what if --
const forecasts = [];      // robot -> {forecast, whatif}: the newest of either
const supposed = [];       // robot -> what was asked for last by "What if"
const PAST_S = 900;
const LIMIT_DEGC = 80;
const MOST_DEGC = 130;     // a band that goes further leaves the picture
let drawnForecast = "";
function keepForecast(word, data) {
  const mine = forecasts[data.robot] = forecasts[data.robot] || {};
  mine[word] = data;
  keepRight(word, data);
  if (word === "forecast" && mine.whatif && mine.whatif.time_s < data.time_s - 60) delete mine.whatif;
  draw();
}
function buildForecast() {
  const names = about.controllers;
  options("if-controller", ["controller unchanged", ...names], ["", ...names]);
  const joints = about.joints.map(j => j.name);
  options("if-joint", ["no other error", ...joints], ["", ...joints]);
  const showError = () => { $("if-error-of").hidden = !$("if-joint").value; };
  $("if-joint").onchange = showError;
  showError();
  $("foresee").onclick = () => want("Foresee");
  $("put-right").onclick = () => { if (rights && rights.left.length) endRights("stopped"); else beginRights(); };
  $("whatif").onclick = () => {
    const fields = {};
    if ($("if-controller").value) fields.controller = $("if-controller").value;
    if ($("if-joint").value) Object.assign(fields, {joint: $("if-joint").value, error_deg: number("if-error")});
    if (!Object.keys(fields).length) { refused("choose a controller or a joint for the forecast"); return; }
    for (const i of whom() === null ? about.robots.keys() : [whom()]) supposed[i] = fields;
    want("Foresee", fields);
  };
  $("do-it").onclick = () => {
    const fields = supposed[shownRobot()];
    if (fields.controller) { touched = performance.now() + 2000; want("ChangeController", {controller: fields.controller}); }
    if (fields.joint) want("Misalign", {joint: fields.joint, error_deg: fields.error_deg});
  };
}
function minutes(s) { return s < 60 ? "< 1 min" : (s / 60).toFixed(0) + " min"; }
function reaches(forecast, j) {
  const [early, middle, late] = forecast.reach_s.map(row => row[j]);
  if (middle === 0) return "is at 80\u00a0°C";
  if (early === null) return "80\u00a0°C not reached";
  if (middle === null) return "80\u00a0°C not reached; earliest in " + minutes(early);
  return "80\u00a0°C in " + minutes(middle) + " (" + (early / 60).toFixed(0) + " to " + (late === null ? "∞" : (late / 60).toFixed(0)) + ")";
}
function fanOf(j, top, shown) {
  const svg = shape("svg", {viewBox: "0 0 300 100", preserveAspectRatio: "none", class: "fan", role: "img"});
  const first = shown[0][1], back = Math.min(PAST_S, Math.max(first.time_s, 60)), ahead = first.ahead_s.at(-1);
  const low = Math.min(20, ...first.past_degc.map(row => row[j]));
  const x = s => (s + back) / (back + ahead) * 300, y = degc => 98 - (degc - low) / (top - low) * 96;
  const at = (s, degc) => x(s).toFixed(1) + "," + y(degc).toFixed(1);
  svg.append(shape("line", {x1: x(0), x2: x(0), y1: 0, y2: 100}));
  if (top > LIMIT_DEGC) svg.append(shape("line", {class: "limit", x1: 0, x2: 300, y1: y(LIMIT_DEGC), y2: y(LIMIT_DEGC)}));
  for (const [word, one] of shown) {
    const [under, middle, over] = one.degc.map(rows => rows.map((row, i) => at(one.ahead_s[i], row[j])));
    svg.append(shape("polygon", {class: word, points: [...under, ...over.reverse()].join(" ")}),
      shape("polyline", {class: "future " + word, points: middle.join(" ")}));
  }
  svg.append(shape("polyline", {points: first.past_s.map((s, i) => [s - first.time_s, first.past_degc[i][j]])
    .filter(([s]) => s >= -back).concat([[0, first.degc[1][0][j]]]).map(([s, degc]) => at(s, degc)).join(" ")}));
  const figure = make("figure"), caption = make("figcaption");
  caption.append(make("b", "", about.joints[j].name), " " + first.degc[1][0][j].toFixed(0) + " °C");
  for (const [word, one] of shown) {
    const [under, middle, over] = one.degc.map(rows => rows.at(-1)[j].toFixed(0));
    const line = make("div", "", (shown.length > 1 ? (word === "whatif" ? "what if: " : "unchanged: ") : "") +
      "→ " + middle + " °C (" + under + " to " + over + "); " + reaches(one, j));
    if (word === "whatif") line.style.color = "var(--c0)";
    caption.append(line);
  }
  figure.append(svg, caption);
  return figure;
}
function told15(word, one) {
  const name = one.label === "unchanged" ? "Unchanged" : "What if, " + one.label;
  if (one.falls) return name + ": it falls.";
  const asItIs = one.is_change && forecasts[one.robot].forecast;
  return name + ": " + heatOf(one, asItIs) + " in all motors" + (asItIs ? coolest(asItIs, one) : "")
    + (one.is_steady ? "" : one.is_final ? " (not steady after " + one.physics_s + " s)" : " (not steady yet)") + ".";
}
// Watts of motors whose constants are guesses: percent of the heat without the change.
function heatOf(one, asItIs) {
  if (about.has_watts) return one.watts.toFixed(1) + " W";
  return asItIs ? (100 * one.watts / asItIs.watts).toFixed(0) + " % of the unchanged heat" : "100 % of the heat";
}
// By limbs, legs first; in each, left and right of one name side by side.
function order() {
  const limbs = new Map(), index = new Map(about.joints.map((joint, j) => [joint.name, j])), done = new Set();
  about.joints.forEach((joint, j) => {
    if (done.has(j)) return;
    const other = index.get(joint.name.replace(/^L/, "R")), pair = other === undefined || other === j ? [j] : [j, other];
    pair.forEach(one => done.add(one));
    const name = joint.group.replace(/^L(?=[A-Z])/, "");
    limbs.set(name, [...(limbs.get(name) || []), ...pair]);
  });
  const isLeg = name => name.toLowerCase().includes("leg");
  return [...limbs].sort(([a], [b]) => isLeg(b) - isLeg(a));
}
// The joint that ends cooler by most, of two forecasts.
function coolest(before, after) {
  const [was, is] = [before, after].map(one => one.degc[1].at(-1));
  const j = was.map((degc, k) => degc - is[k]).reduce((best, less, k, all) => less > all[best] ? k : best, 0);
  return was[j] - is[j] < 0.5 ? "" : ", " + about.joints[j].name + " ends at " + is[j].toFixed(0) + " °C instead of " + was[j].toFixed(0);
}

// -- each joint put right, one at a time: which error is worth most ----------------------
const LEAST_DEG = 0.05;    // an error below is none
const ANSWER_S = 120;
let rights = null;         // {robot, left: [joints still to ask], rows: [[j, forecast]], timer}; j null: as it is
function beginRights() {
  const robot = shownRobot(), s = states[robot];
  if (!s) return;
  const wrong = about.joints.map((_, j) => j).filter(j => Math.abs(s.error_deg[j]) >= LEAST_DEG);
  if (!wrong.length) { refused("no joint of " + about.robots[robot] + " has an error"); return; }
  rights = {robot, left: [null, ...wrong], rows: [], errors: s.error_deg};
  $("rights").hidden = false;
  $("put-right").textContent = "Stop";
  askRight();
}
function askRight() {
  const j = rights.left[0], all = rights.left.length + rights.rows.length;
  $("rights-at").textContent = about.robots[rights.robot] + ": " + (rights.rows.length + 1) + " of " + all + " …";
  clearTimeout(rights.timer);
  rights.timer = setTimeout(() => endRights("no answer; see the messages below"), ANSWER_S * 1000);
  want("Foresee", {robot: rights.robot, ...(j === null ? {} : {joint: about.joints[j].name, error_deg: 0})})
    .then(ok => { if (!ok) endRights("refused"); });
}
function keepRight(word, data) {
  if (!rights || !rights.left.length || data.robot !== rights.robot) return;
  const j = rights.left[0];
  if (data.label !== (j === null ? "unchanged" : "error of " + about.joints[j].name + " 0°")) return;
  if (!data.falls && !data.is_steady && !data.is_final) return;
  rights.rows.push([rights.left.shift(), data]);
  drawRights();
  if (rights.left.length) askRight();
  else endRights("");
}
function endRights(why) {
  clearTimeout(rights.timer);
  rights.left = [];
  $("put-right").textContent = "Correct each joint in turn";
  $("rights-at").textContent = about.robots[rights.robot] + (why ? ": " + why : ": largest saving first; click a row to show it");
}
function drawRights() {
  const [[, asItIs]] = rights.rows, end = one => one.degc[1].at(-1);
  const rest = rights.rows.slice(1).sort(([, a], [, b]) => a.falls - b.falls || a.watts - b.watts);
  $("rights").querySelector("tbody").replaceChildren(...[rights.rows[0], ...rest].map(([j, one]) => {
    const row = make("tr"), hot = end(one).indexOf(Math.max(...end(one)));
    const cells = one.falls ? ["it falls", "", ""] : [
      j === null ? "" : end(one)[j].toFixed(0) + " instead of " + end(asItIs)[j].toFixed(0),
      about.joints[hot].name + " " + end(one)[hot].toFixed(0), heatOf(one, asItIs).replace(" of the unchanged heat", "").replace(" W", "")];
    row.append(...[j === null ? "none" : about.joints[j].name, j === null ? "" : rights.errors[j].toFixed(2), ...cells]
      .map(text => make("td", "", text)));
    if (j !== null) row.onclick = () => {
      $("whom").value = String(rights.robot);
      $("if-controller").value = "";
      $("if-joint").value = about.joints[j].name;
      $("if-joint").onchange();
      $("if-error").value = 0;
      $("whatif").click();
    };
    return row;
  }));
}
function drawForecast() {
  $("if-error-now").textContent = errorNow($("if-joint").value);
  $("rights").hidden = !rights || rights.robot !== shownRobot();
  const mine = forecasts[shownRobot()] || {}, shown = Object.entries(mine).sort(([a], [b]) => a < b ? -1 : 1);
  const key = shownRobot() + JSON.stringify(shown.map(([word, one]) => [word, one.time_s, one.physics_s]));
  if (key === drawnForecast) return;
  drawnForecast = key;
  $("do-it").hidden = !mine.whatif || !supposed[shownRobot()];
  $("outcome").textContent = shown.map(([word, one]) => told15(word, one)).join(" ") ||
    "The forecast runs on a copy of the robot.";
  if (!shown.length) { $("fans").replaceChildren(); return; }
  const top = Math.min(MOST_DEGC, Math.max(...shown.flatMap(([, one]) => one.degc[2].flat()), ...shown.flatMap(([, one]) => one.past_degc.flat()), 40) + 2);
  const open = new Set([...$("fans").querySelectorAll("details")].filter(d => d.open).map(d => d.dataset.name));
  const isFirst = !$("fans").children.length;
  $("fans").replaceChildren(...order().map(([name, joints]) => {
    const box = make("details"), grid = make("div", "pairs");
    box.dataset.name = name;
    box.open = isFirst ? /Leg/.test(name) : open.has(name);
    grid.append(...joints.map(j => fanOf(j, top, shown)));
    box.append(make("summary", "", name || "others"), grid);
    return box;
  }), make("p", "soft", "Band: 5 to 95 % if the heating and time constants of the motors are known to 10 %. The torques are those of the simulated copy."));
}
