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
  $("legend-rings").hidden = true;
  $("tab-sensors").click();
  $("replay").hidden = false;
  options("whom", about.robots, about.robots.map((_, i) => String(i)));
  options("speed", r.speeds.map(s => s + "×"), r.speeds);
  $("speed").value = "1";
  $("scrub").max = r.end_s;
  $("scrub").oninput = () => { scrubbed = performance.now() + 600; seek(Number($("scrub").value)); };
  $("live").onclick = goLive;
  $("video").onclick = () => want("MakeVideo", {robot: 0});
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
