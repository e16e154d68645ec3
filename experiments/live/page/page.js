const $ = id => document.getElementById(id);
const states = [];
let about = null, touched = 0;

function make(tag, kind, text) {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  if (text !== undefined) node.textContent = text;
  return node;
}
function refused(text) {
  $("said").prepend(make("li", "no", text));
  $("going").textContent = text;
}
function whom() { return $("whom").value === "" ? null : Number($("whom").value); }
async function want(what, fields = {}) {
  let answer;
  try {
    answer = await fetch("/do", {method: "POST", headers: {"content-type": "application/json"},
      body: JSON.stringify({robot: whom(), do: what, ...fields})});
  } catch { refused("no connection"); return; }
  if (!answer.ok) refused((await answer.json()).error);
  return answer.ok;
}
// Of a slider that is dragged only the newest value goes out, ten a second.
const waiting = new Map();
function soon(key, send) {
  const last = waiting.get(key);
  waiting.set(key, send);
  if (last === undefined) setTimeout(() => { const f = waiting.get(key); waiting.delete(key); f(); }, 100);
}
const number = id => $(id).value === "" ? null : Number($(id).value);

function options(id, names, values = names) {
  $(id).replaceChildren(...names.map((name, i) => {
    const node = make("option", "", name);
    node.value = values[i];
    return node;
  }));
}
function shownRobot() { return whom() ?? 0; }

function build() {
  const many = about.robots.length > 1;
  options("whom", [...(many ? ["all robots"] : []), ...about.robots],
    [...(many ? [""] : []), ...about.robots.map((_, i) => String(i))]);
  options("controller", about.controllers);
  options("leds", ["Leds", ...about.leds].filter((n, i, all) => all.indexOf(n) === i));
  for (const id of ["joint", "hot"]) options(id, about.joints.map(j => j.name));
  options("motor", about.motors);
  options("schema", about.schemas);
  $("groups").replaceChildren(...about.groups.map(name => {
    const line = make("div", "line group");
    line.dataset.name = name;
    const take = make("button", "", "Take"), give = make("button", "", "Give back");
    take.setAttribute("aria-label", "Take " + name);
    give.setAttribute("aria-label", "Give back " + name);
    take.onclick = () => want("Take", {resource: name, priority: number("priority"), timeout_s: number("timeout")});
    give.onclick = () => want("GiveBack", {resource: name});
    line.append(make("span", "name", name), make("span", "who", "…"), take, give);
    return line;
  }));
  const groups = new Map();
  for (const joint of about.joints) {
    if (!groups.has(joint.group)) {
      const box = make("details");
      box.append(make("summary", "", joint.group || "others"));
      groups.set(joint.group, box);
    }
    const line = make("label", "joint"), slider = make("input"), out = make("output");
    slider.type = "range";
    slider.min = joint.low; slider.max = joint.high; slider.step = 0.5;
    slider.dataset.joint = joint.name;
    slider.oninput = () => {
      out.textContent = slider.value + "°";
      slider.dataset.until = performance.now() + 4000;
      soon(joint.name, () => want("MoveJoint", {joint: joint.name, angle_deg: Number(slider.value)}));
    };
    line.append(make("span", "", joint.name), slider, out);
    groups.get(joint.group).append(line);
  }
  $("joints").replaceChildren(...groups.values());
  $("motions").replaceChildren(
    ...about.postures.map(name => button(name, () => want("GoTo", {posture: name}))),
    ...about.motions.map(name => button("▸ " + name, () => want("Play", {motion: name}))));
}
// -- a recording: time, speed and events; nothing of it can be steered ---------------
let scrubbed = 0;
const seek = time_s => soon("seek", () => want("Seek", {time_s: Math.min(Math.max(time_s, 0), about.replay.end_s)}));
function goOn() { want("GoOn", {speed: number("speed")}); }
// The recording's server ends; where it was the robots' begins, with the same key.
async function goLive() {
  if (!await want("LiveFromHere")) return;
  $("going").textContent = "The robots are being placed …";
  for (;;) {
    await new Promise(done => setTimeout(done, 500));
    try {
      if (!(await (await fetch("/about")).json()).replay) break;
    } catch { /* between the two servers */ }
  }
  location.reload();
}
function buildReplay() {
  const r = about.replay;
  document.querySelector("h1").textContent = "nao-testbed live: a recording";
  for (const id of ["tab-steer", "tab-schemas", "tab-who", "tab-forecast", "tab-panels", "said", "cameras"]) $(id).hidden = true;
  $("cameras").previousElementSibling.hidden = true;
  $("controller").parentElement.hidden = true;
  $("tab-sensors").click();
  $("replay").hidden = false;
  options("whom", about.robots, about.robots.map((_, i) => String(i)));
  options("speed", r.speeds.map(s => s + "×"), r.speeds);
  $("speed").value = "1";
  $("scrub").max = r.end_s;
  $("scrub").oninput = () => { scrubbed = performance.now() + 600; seek(Number($("scrub").value)); };
  $("live").onclick = goLive;
  $("play").onclick = () => states[0].speed ? want("Pause") : goOn();
  $("speed").onchange = () => { if (states[0].speed) goOn(); };
  $("back").onclick = () => seek(states[0].time_s - 1);
  $("ahead").onclick = () => seek(states[0].time_s + 1);
  $("events").replaceChildren(...r.events.map(e => {
    const line = make("li");
    line.append(button(e.time_s.toFixed(1) + " s  " + e.what, () => seek(e.time_s)));
    return line;
  }), ...(r.left_out ? [make("li", "soft", "and " + r.left_out + " more in the run folder")] : []));
  if (!r.events.length) $("events").append(make("li", "soft", "none were recorded"));
  $("notes").textContent = r.notes.join(" ");
}
function drawReplay(s) {
  $("play").textContent = s.speed ? "Pause" : "Play";
  $("clock").textContent = s.time_s.toFixed(1) + " of " + about.replay.end_s.toFixed(1) + " s";
  if (performance.now() > scrubbed) $("scrub").value = s.time_s;
}

// -- sensors: what the robot interface describes, in the units of a screen -----------
const SHORT = {target: "set-point", q: "angle", current: "current", temperature: "temp.", stiffness: "stiffness"};
const UNITS = {"rad": ["°", 180 / Math.PI, 1], "rad/s": ["°/s", 180 / Math.PI, 1], "degC": ["°C", 1, 1],
  "A": ["A", 1, 3], "N": ["N", 1, 1], "m": ["m", 1, 2], "m/s²": ["m/s²", 1, 2], "1": ["", 1, 2]};
let chosen = 0, pointed = -Infinity, readings = [], drawnPicture = "";
function sized(reading, value) {
  const [unit, factor, digits] = UNITS[reading.unit] || [reading.unit, 1, 3];
  return value === null || value === undefined ? ["–", unit] : [(value * factor).toFixed(digits), unit];
}
// The element of a reading that is of a joint: its own, or its motor's.
function ofJoint(reading, joint) {
  const i = reading.members.indexOf(joint.name);
  return i >= 0 ? i : reading.members.indexOf(joint.motor);
}
function isOfJoints(reading) { return about.joints.every(joint => ofJoint(reading, joint) >= 0); }
function buildSensors() {
  readings = about.readings.filter(isOfJoints);
  const columns = readings.filter(r => r.name in SHORT)
    .sort((a, b) => Object.keys(SHORT).indexOf(a.name) - Object.keys(SHORT).indexOf(b.name));
  const head = make("tr");
  head.append(make("th", "", "joint"), ...columns.map(r => {
    const node = make("th", "", SHORT[r.name] + " " + sized(r, 0)[1]);
    node.title = r.about;
    return node;
  }));
  $("columns").replaceChildren(head);
  $("rows").replaceChildren(...about.joints.map((joint, j) => {
    const row = make("tr");
    row.dataset.joint = joint.name;
    row.tabIndex = 0;
    row.onclick = () => { chosen = j; draw(); };
    row.onkeydown = event => { if (event.key === "Enter") row.onclick(); };
    row.append(make("td", "", joint.name), ...columns.map(r => {
      const cell = make("td");
      cell.dataset.reading = r.name;
      return cell;
    }));
    return row;
  }));
  $("others").replaceChildren(...about.readings.filter(r => r.members.length && !isOfJoints(r)).flatMap(r => {
    const list = make("dl");
    list.dataset.reading = r.name;
    return [make("h2", "", r.about), list];
  }));
  $("cameras").replaceChildren(...about.cameras.map(name =>
    button("Picture of " + name, () => want("TakePicture", {camera: name}))));
}
function pairs(node, rows) {
  node.replaceChildren(...rows.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
}
function drawSensors(s) {
  $("of").textContent = "of " + about.robots[shownRobot()] + " at " + s.time_s.toFixed(1) + " s";
  $("chosen").textContent = about.joints[chosen].name;
  pairs($("card"), [...readings.map(r =>
    [r.about, sized(r, s.seen[r.name][ofJoint(r, about.joints[chosen])]).join(" ")]),
    ["True temperature, which only the simulator knows.", s.degc[chosen].toFixed(1) + " °C"],
    ...(about.replay ? [] : [["Heat that the legs need not make, by the simulator.", s.useless_w[chosen].toFixed(2) + " W"]])]);
  const byName = new Map(about.readings.map(r => [r.name, r]));
  [...$("rows").children].forEach((row, j) => {
    row.classList.toggle("chosen", j === chosen);
    for (const cell of row.querySelectorAll("[data-reading]")) {
      const r = byName.get(cell.dataset.reading);
      cell.textContent = sized(r, s.seen[r.name][ofJoint(r, about.joints[j])])[0];
    }
  });
  for (const list of $("others").querySelectorAll("dl")) {
    const r = byName.get(list.dataset.reading);
    pairs(list, r.members.map((name, i) => [name, sized(r, s.seen[r.name][i]).join(" ")]));
  }
  $("picture").hidden = s.picture === null;
  const key = JSON.stringify([shownRobot(), s.picture]);
  if (s.picture !== null && key !== drawnPicture) {
    drawnPicture = key;
    $("picture").firstElementChild.src = "/picture?robot=" + shownRobot() + "&t=" + s.picture.time_s;
    $("picture").lastElementChild.textContent = s.picture.camera + " at " + s.picture.time_s.toFixed(1) + " s";
  }
}

// -- schemas: the lines stay, so that a value that is being typed is not lost -------
const nodes = new Map();
function schemaNode(view) {
  const box = make("div", "card schema"), depth = view.path.split("/").length - 1;
  box.style.marginLeft = 16 * depth + "px";
  const line = make("div", "line"), state = make("span", "state");
  line.append(make("b", "", view.path.split("/").at(-1)), state);
  if (depth === 0) line.append(button("Activate", () => want("WakeSchema", {schema: view.path})),
    button("Deactivate", () => want("SleepSchema", {schema: view.path})));
  const inputs = Object.keys(view.parameters).map(name => {
    const input = make("input");
    input.type = "text";
    input.dataset.name = name;
    input.setAttribute("aria-label", name + " of " + view.path);
    input.onchange = () => {
      let value = input.value;
      try { value = JSON.parse(value); } catch { /* a word */ }
      want("ModulateSchema", {path: view.path, parameter: name, value});
    };
    const label = make("label", "line", name + " ");
    label.append(input);
    return label;
  });
  box.append(line, ...inputs, make("dl"));
  return box;
}
function drawSchemas(s) {
  const mine = s.schemas.map(view => [shownRobot() + "/" + view.path, view]);
  for (const [key, view] of mine) {
    if (!nodes.has(key)) nodes.set(key, schemaNode(view));
    const node = nodes.get(key);
    node.querySelector(".state").textContent = view.state + (view.note ? ", " + view.note : "");
    for (const input of node.querySelectorAll("input")) {
      if (document.activeElement !== input) input.value = view.parameters[input.dataset.name];
    }
    pairs(node.querySelector("dl"), Object.entries(view.outputs));
  }
  const wanted = mine.map(([key]) => nodes.get(key));
  if (wanted.length !== $("tree").children.length || wanted.some((n, i) => $("tree").children[i] !== n))
    $("tree").replaceChildren(...wanted);
}
$("wake").onclick = () => want("WakeSchema", {schema: $("schema").value, priority: number("rank")});

function button(text, act) {
  const node = make("button", "", text);
  node.onclick = act;
  return node;
}

function draw() {
  $("robots").replaceChildren(...about.robots.flatMap((name, i) => {
    const s = states[i];
    if (!s) return [];
    const k = s.degc.indexOf(Math.max(...s.degc));
    const node = make("span", "robot" + (s.has_fallen ? " fallen" : ""));
    node.append(make("b", "", name + (s.controller === name ? "" : " → " + s.controller)), " ",
      (s.has_fallen ? "has fallen; " : "") + "hottest: " + about.joints[k].name + " " + s.degc[k].toFixed(1) + " °C, "
      + s.time_s.toFixed(0) + " s" + (s.late_s > 0.1 ? ", " + s.late_s.toFixed(2) + " s late" : "") + "  ");
    return [node];
  }));
  const s = states[shownRobot()];
  if (!s) return;
  if (about.replay) drawReplay(s);
  for (const group of s.groups) {
    const line = document.querySelector(`.group[data-name="${CSS.escape(group.name)}"]`);
    line.classList.toggle("mine", group.is_mine);
    const who = group.is_mine ? "you" : group.holders.join(", ") || "nobody";
    const wait = group.wait_left_s === null ? "" : "you wait, " + group.wait_left_s.toFixed(0) + " s left";
    line.querySelector(".who").replaceChildren(who + " ", make("span", "wait", wait));
  }
  about.joints.forEach((joint, j) => {
    const slider = document.querySelector(`input[data-joint="${CSS.escape(joint.name)}"]`);
    if (Number(slider.dataset.until || 0) > performance.now()) return;
    slider.value = s.angle_deg[j];
    slider.nextSibling.textContent = s.angle_deg[j].toFixed(1) + "°";
  });
  const yaw = about.joints.findIndex(j => j.name === "HeadYaw");
  const pitch = about.joints.findIndex(j => j.name === "HeadPitch");
  const spot = $("pad").querySelector("circle");
  if (yaw >= 0 && pitch >= 0) { spot.setAttribute("cx", -s.angle_deg[yaw]); spot.setAttribute("cy", s.angle_deg[pitch]); }
  if (!$("sensors").hidden) drawSensors(s);
  if (!$("schemas").hidden) drawSchemas(s);
  if (!$("who").hidden) drawWho(s);
  if (!$("panels").hidden) drawPanels(s);
  if (!$("forecast").hidden) drawForecast();
  if (performance.now() > touched && !about.replay) $("controller").value = s.controller;
  const lines = states.flatMap((state, i) => (state ? state.said : []).map(text => [i, text]));
  const key = JSON.stringify(lines);
  if ($("said").dataset.key !== key) {
    $("said").dataset.key = key;
    $("said").replaceChildren(...lines.reverse().map(([i, text]) =>
      make("li", /refused|failed/.test(text) ? "no" : "", about.robots[i] + ": " + text)));
  }
}

$("pad").onpointerdown = event => { $("pad").setPointerCapture(event.pointerId); drag(event); };
$("pad").onpointermove = event => { if (event.buttons) drag(event); };
function drag(event) {
  const box = $("pad").getBoundingClientRect();
  const x = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  const y = Math.min(Math.max((event.clientY - box.top) / box.height, 0), 1);
  // To the left of the pad is to the left of who sees with the robot's eyes.
  soon("head", () => want("TurnHead", {yaw_deg: 119 - 238 * x, pitch_deg: -38 + 67 * y}));
}
$("light").onclick = () => want("Light", {leds: $("leds").value, colour: $("colour").value});
$("say").onclick = () => want("Say", {text: $("text").value});
$("push").onclick = () => want("PushNow", {direction_deg: number("direction"), force_n: number("force"), duration_s: number("duration")});
$("tilt").onclick = () => want("TiltGround", {slope_deg: number("slope")});
$("heat").onclick = () => want("HeatNow", {joint: $("hot").value, degc: number("degc")});
$("misalign").onclick = () => want("Misalign", {joint: $("joint").value, error_deg: number("error")});
$("break").onclick = () => want("BreakPart", {part: $("motor").value});
$("repair").onclick = () => want("BreakPart", {part: $("motor").value, is_broken: false});
$("controller").onchange = () => { touched = performance.now() + 2000; want("ChangeController", {controller: $("controller").value}); };

for (const tab of document.querySelectorAll("nav button")) tab.onclick = () => {
  for (const other of document.querySelectorAll("nav button")) {
    other.setAttribute("aria-selected", String(other === tab));
    $(other.id.slice(4)).hidden = other !== tab;
  }
  draw();
};

let source;
function listen() {
  source = new EventSource("/state");
  source.addEventListener("state", event => {
    const state = JSON.parse(event.data);
    states[state.robot] = state;
    keepPlots(state);
    keepSpans(state);
    draw();
  });
  source.addEventListener("who", event => {
    const who = JSON.parse(event.data);
    held[who.robot] = who;
  });
  source.addEventListener("chosen", event => {
    if (performance.now() - pointed > 3000) return;   // another tab's
    const {robot, joint} = JSON.parse(event.data);
    chosen = joint;
    $("whom").value = String(robot);
    $("tab-sensors").click();
  });
  for (const word of ["forecast", "whatif"]) source.addEventListener(word, event => keepForecast(word, JSON.parse(event.data)));
  source.onerror = () => {
    $("robots").textContent = "no connection; what you see is old";
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}
$("view").onload = () => {
  const inside = $("view").contentDocument;  // null: the browser's own page of an error
  if (inside) inside.addEventListener("pointerdown", () => { pointed = performance.now(); }, true);
};
(async () => {
  about = await (await fetch("/about")).json();
  build();
  buildSensors();
  buildForecast();
  if (about.replay) buildReplay();
  listen();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  $("view").src = "/view/" + (dark ? "?darkMode" : "");
})();
