// -- sensors: what the robot interface describes, and what only the simulator knows ------
const SHORT = {target: "set", q: "angle", current: "cur.", temperature: "temp.", stiffness: "stiff."};
const UNITS = {"rad": ["°", 180 / Math.PI, 1], "rad/s": ["°/s", 180 / Math.PI, 1], "degC": ["°C", 1, 1],
  "A": ["A", 1, 3], "N": ["N", 1, 1], "m": ["m", 1, 2], "m/s²": ["m/s²", 1, 2], "1": ["", 1, 2]};
// Truths of the simulator, one value a joint: not there of a recording.
const TRUTHS = [
  {short: "error °", about: "True angle minus encoder reading.", digits: 2, of: (s, j) => s.error_deg[j]},
  {short: "avoid.", about: "Avoidable heat: Joule loss above the minimum in this posture.", digits: 2, of: useless},
];
let chosen = null, pointed = -Infinity, readings = [], drawnPicture = "", seenFrom = null;
function useless(s, j) { return s.least[j] === null || s.loss[j] === null ? null : Math.max(s.loss[j] - s.least[j], 0); }
// Motors whose constants are guesses: percent of the minimum of the legs.
function powerUnit() { return about.has_watts ? " W" : " %"; }
function sized(reading, value) {
  const [unit, factor, digits] = UNITS[reading.unit] || [reading.unit, 1, 3];
  return [value === null || value === undefined ? "–" : (value * factor).toFixed(digits), unit];
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
  const truths = about.replay ? [] : TRUTHS;
  const titled = (text, title) => { const node = make("th", "", text); node.title = title; return node; };
  const head = make("tr");
  head.append(make("th", "", "joint"), ...columns.map(r => titled(SHORT[r.name] + " " + sized(r, 0)[1], r.about)),
    ...truths.map(one => titled(one.of === useless ? one.short + powerUnit() : one.short, one.about)));
  $("columns").replaceChildren(head);
  $("rows").replaceChildren(...about.joints.map((joint, j) => {
    const row = make("tr");
    row.dataset.joint = joint.name;
    row.tabIndex = 0;
    row.onclick = () => { chosen = j; draw(); };
    row.onkeydown = event => { if (event.key === "Enter") row.onclick(); };
    const cell = (key, name) => { const node = make("td"); node.dataset[key] = name; return node; };
    row.append(make("td", "", joint.name), ...columns.map(r => cell("reading", r.name)), ...truths.map(one => cell("truth", one.short)));
    return row;
  }));
  $("truths").hidden = !truths.length;
  $("others").replaceChildren(...about.readings.filter(r => r.members.length && !isOfJoints(r)).flatMap(r => {
    const list = make("dl");
    list.dataset.reading = r.name;
    return [make("h2", "", r.about), list];
  }));
  $("cameras").replaceChildren(...about.cameras.map(({name}) =>
    button("Picture of " + name, () => want("TakePicture", {camera: name}))));
  if (about.head.length) $("picture").firstElementChild.onclick = lookAt;
}
// The head turns so that what was clicked in a picture comes to its middle.
function lookAt(event) {
  const image = $("picture").firstElementChild, box = image.getBoundingClientRect();
  const up = about.cameras.find(camera => camera.name === seenFrom.camera).tan_up, side = up * box.width / box.height;
  const within = (name, degrees) => {
    const joint = about.joints.find(one => one.name === name);
    return Math.min(Math.max(degrees, joint.low), joint.high);
  };
  const turn = (part, tan) => Math.atan((2 * part - 1) * tan) * 180 / Math.PI;
  want("TurnHead", {
    yaw_deg: within(about.head[0], seenFrom.yaw - turn((event.clientX - box.left) / box.width, side)),
    pitch_deg: within(about.head[1], seenFrom.pitch + turn((event.clientY - box.top) / box.height, up))});
}
function drawSensors(s) {
  if (chosen === null) chosen = s.degc.indexOf(Math.max(...s.degc));
  $("chosen").textContent = about.joints[chosen].name;
  const truths = about.replay ? [] : [
    ["Joule loss of its motor (legs only).", fixedTo(s.loss[chosen], 2) + powerUnit()],
    ["Minimum Joule loss in this posture.", fixedTo(s.least[chosen], 2) + powerUnit()],
    [TRUTHS[0].about, fixedTo(s.error_deg[chosen], 2) + " °"]];
  pairs($("card"), [...readings.map(r =>
    [r.about, sized(r, s.seen[r.name][ofJoint(r, about.joints[chosen])]).join(" ")]),
    ["True temperature (known only to the simulator).", s.degc[chosen].toFixed(1) + " °C"], ...truths]);
  const byName = new Map(about.readings.map(r => [r.name, r]));
  [...$("rows").children].forEach((row, j) => {
    row.classList.toggle("chosen", j === chosen);
    for (const cell of row.querySelectorAll("[data-reading]")) {
      const r = byName.get(cell.dataset.reading);
      cell.textContent = sized(r, s.seen[r.name][ofJoint(r, about.joints[j])])[0];
    }
    for (const cell of row.querySelectorAll("[data-truth]")) {
      const one = TRUTHS.find(truth => truth.short === cell.dataset.truth);
      cell.textContent = fixedTo(one.of(s, j), one.digits);
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
    const angle = name => s.angle_deg[about.joints.findIndex(joint => joint.name === name)];
    seenFrom = {camera: s.picture.camera, yaw: angle(about.head[0]), pitch: angle(about.head[1])};
    $("picture").firstElementChild.src = "/picture?robot=" + shownRobot() + "&t=" + s.picture.time_s;
    $("picture").lastElementChild.textContent = s.picture.camera + " at " + s.picture.time_s.toFixed(1) + " s";
  }
}
