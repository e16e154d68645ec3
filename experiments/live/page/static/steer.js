// -- steer: what is taken, joints, motions, and what the world does to a robot ----------
let touched = 0;           // until when the choice of a controller is not overwritten
let pad = {};              // ranges of the head, in whole degrees: to the left is negative
function buildPad() {
  $("head").hidden = !about.head.length;
  if (!about.head.length) return;
  const [pan, tilt] = about.head.map(name => about.joints.find(joint => joint.name === name));
  pad = {left: -Math.trunc(pan.high), top: Math.trunc(tilt.low),
    width: Math.trunc(pan.high) - Math.trunc(pan.low), height: Math.trunc(tilt.high) - Math.trunc(tilt.low)};
  $("pad").setAttribute("viewBox", [pad.left, pad.top, pad.width, pad.height].join(" "));
}
function buildSteer() {
  buildPad();
  const many = about.robots.length > 1;
  options("whom", [...(many ? ["all robots"] : []), ...about.robots],
    [...(many ? [""] : []), ...about.robots.map((_, i) => String(i))]);
  options("controller", ["(different)", ...about.controllers], ["", ...about.controllers]);
  $("controller").options[0].disabled = true;
  options("leds", ["Leds", ...about.leds].filter((n, i, all) => all.indexOf(n) === i));
  for (const id of ["joint", "hot"]) options(id, about.joints.map(j => j.name));
  options("motor", about.motors);
  options("sensor", about.touch_sensors);
  $("touches").hidden = !about.touch_sensors.length;
  options("schema", about.schemas);
  $("groups").replaceChildren(...about.groups.map(name => {
    const line = make("div", "line group");
    line.dataset.name = name;
    const take = make("button", "", "Take"), give = make("button", "", "Release");
    take.setAttribute("aria-label", "Take " + name);
    give.setAttribute("aria-label", "Release " + name);
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
function drawSteer(s) {
  for (const group of s.groups) {
    const line = document.querySelector(`.group[data-name="${CSS.escape(group.name)}"]`);
    line.classList.toggle("mine", group.is_mine);
    const who = group.is_mine ? "you" : group.holders.join(", ") || "free";
    const wait = group.wait_left_s === null ? "" : "you wait, " + group.wait_left_s.toFixed(0) + " s left";
    line.querySelector(".who").replaceChildren(who + " ", make("span", "wait", wait));
  }
  about.joints.forEach((joint, j) => {
    const slider = document.querySelector(`input[data-joint="${CSS.escape(joint.name)}"]`);
    if (Number(slider.dataset.until || 0) > performance.now()) return;
    slider.value = s.angle_deg[j];
    slider.nextSibling.textContent = s.angle_deg[j].toFixed(1) + "°";
  });
  const [yaw, pitch] = about.head.map(name => about.joints.findIndex(j => j.name === name));
  const spot = $("pad").querySelector("circle");
  if (about.head.length) { spot.setAttribute("cx", -s.angle_deg[yaw]); spot.setAttribute("cy", s.angle_deg[pitch]); }
  $("error-now").textContent = errorNow($("joint").value);
}
// One controller of all robots that are chosen, or none where they differ.
function drawController() {
  if (performance.now() <= touched) return;
  const names = new Set(states.filter((s, i) => s && (whom() === null || whom() === i)).map(s => s.controller));
  $("controller").value = names.size === 1 ? [...names][0] : "";
}
function errorNow(name) {
  const j = about.joints.findIndex(joint => joint.name === name), s = states[shownRobot()];
  return j < 0 || !s ? "" : "now " + fixedTo(s.error_deg[j], 2) + "°";
}
$("pad").onpointerdown = event => { $("pad").setPointerCapture(event.pointerId); drag(event); };
$("pad").onpointermove = event => { if (event.buttons) drag(event); };
function drag(event) {
  const box = $("pad").getBoundingClientRect();
  const x = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  const y = Math.min(Math.max((event.clientY - box.top) / box.height, 0), 1);
  // To the left of the pad is to the left of who sees with the robot's eyes.
  soon("head", () => want("TurnHead", {
    yaw_deg: -pad.left - pad.width * x, pitch_deg: pad.top + pad.height * y}));
}
$("light").onclick = () => want("Light", {leds: $("leds").value, colour: $("colour").value});
$("say").onclick = () => want("Say", {text: $("text").value});
$("push").onclick = () => want("PushNow", {direction_deg: number("direction"), force_n: number("force"), duration_s: number("duration")});
$("tilt").onclick = () => want("TiltGround", {slope_deg: number("slope")});
$("set-down").onclick = () => want("SetDown");
$("touch").onclick = () => want("Touch", {sensor: $("sensor").value});
$("heat").onclick = () => want("HeatNow", {joint: $("hot").value, degc: number("degc")});
$("misalign").onclick = () => want("Misalign", {joint: $("joint").value, error_deg: number("error")});
$("break").onclick = () => want("BreakPart", {part: $("motor").value});
$("repair").onclick = () => want("BreakPart", {part: $("motor").value, is_broken: false});
$("controller").onchange = () => { touched = performance.now() + 2000; want("ChangeController", {controller: $("controller").value}); };
