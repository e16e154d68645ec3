// The page: the head, tabs, and the stream of what robots tell; it begins here.
const SILENT_S = 3;        // a robot that tells nothing for so long is said to be silent
const toldAt = [];         // robot -> when it told last
function headOf(name, i) {
  const s = states[i];
  if (!s) return [];
  const k = s.degc.indexOf(Math.max(...s.degc)), node = make("span", "robot" + (s.has_fallen ? " fallen" : ""));
  const silent_s = about.replay ? 0 : (performance.now() - toldAt[i]) / 1000;
  node.append(make("b", "", name + (s.controller === name ? "" : " → " + s.controller)), " " + [
    s.has_fallen && "has fallen",
    "hottest: " + about.joints[k].name + " " + s.degc[k].toFixed(1) + " °C",
    legsOf(s), s.time_s.toFixed(0) + " s",
    s.late_s > 0.1 && s.late_s.toFixed(2) + " s late",
    silent_s > SILENT_S && "no data for " + silent_s.toFixed(0) + " s",
  ].filter(Boolean).join(", "));
  return [node];
}
// What the motors of the legs lose, and the least that they could in this posture.
function legsOf(s) {
  const [loss, least] = s.legs;
  if (loss === null || least === null) return false;
  return about.has_watts ? "legs " + loss.toFixed(1) + " W (minimum " + least.toFixed(1) + ")" : "legs " + loss.toFixed(0) + " % of their minimum";
}
function draw() {
  const heads = about.robots.flatMap(headOf);
  if (heads.length) $("robots").replaceChildren(...heads);
  const s = states[shownRobot()];
  if (!s) return;
  $("of").textContent = (whom() === null ? "shown: " + about.robots[shownRobot()] + ", " : "") + s.time_s.toFixed(1) + " s";
  if (about.replay) drawReplay(s);
  else drawController();
  if (!$("steer").hidden) drawSteer(s);
  if (!$("sensors").hidden) drawSensors(s);
  if (!$("schemas").hidden) drawSchemas(s);
  if (!$("who").hidden) drawWho(s);
  if (!$("panels").hidden) drawPanels(s);
  if (!$("forecast").hidden) drawForecast(s);
  const lines = states.flatMap((state, i) => (state ? state.said : []).map(text => [i, text]));
  const key = JSON.stringify(lines);
  if ($("said").dataset.key !== key) {
    $("said").dataset.key = key;
    $("said").replaceChildren(...lines.reverse().map(([i, text]) =>
      make("li", /refused|failed/.test(text) ? "no" : "", about.robots[i] + ": " + text)));
  }
}

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
    toldAt[state.robot] = performance.now();
    keepPlots(state);
    keepSpans(state);
    draw();
  });
  source.addEventListener("who", event => {
    const who = JSON.parse(event.data);
    held[who.robot] = who;
  });
  source.addEventListener("told", event => { $("going").textContent = JSON.parse(event.data).text; });
  source.addEventListener("chosen", event => {
    if (performance.now() - pointed > 3000) return;   // another tab's
    const {robot, joint} = JSON.parse(event.data);
    chosen = joint;
    $("whom").value = String(robot);
    $("tab-sensors").click();
  });
  for (const word of ["forecast", "whatif"]) source.addEventListener(word, event => keepForecast(word, JSON.parse(event.data)));
  source.onerror = () => {
    states.length = 0;
    $("robots").textContent = "no connection; the values are old";
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}
$("view").onload = () => {
  const inside = $("view").contentDocument;  // null: the browser's own page of an error
  if (!inside) return;
  inside.addEventListener("pointerdown", () => { pointed = performance.now(); }, true);
  const style = inside.createElement("style");  // viser's own sheet, which has no controls here, covers a phone's view
  style.textContent = "@media (max-width: 36em) { .mantine-Paper-root[style*='position: fixed'] { display: none !important; } }";
  inside.head.append(style);
};
(async () => {
  about = await (await fetch("/about")).json();
  $("robots").textContent = "waiting for the robots; the first run after an installation compiles for half a minute …";
  buildSteer();
  buildSensors();
  buildForecast();
  if (about.replay) buildReplay();
  listen();
  setInterval(() => { if (states.length) draw(); }, 1000);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  $("view").src = "/view/" + (dark ? "?darkMode" : "");
})();
