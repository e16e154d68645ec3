// What every tab uses: elements, wishes, the newest state of each robot.
const $ = id => document.getElementById(id);
const states = [];         // robot -> the newest that it told
let about = null;          // what does not change: joints, groups, readings, names

function make(tag, kind, text) {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  if (text !== undefined) node.textContent = text;
  return node;
}
function button(text, act) {
  const node = make("button", "", text);
  node.onclick = act;
  return node;
}
function options(id, names, values = names) {
  $(id).replaceChildren(...names.map((name, i) => {
    const node = make("option", "", name);
    node.value = values[i];
    return node;
  }));
}
function pairs(node, rows) {
  node.replaceChildren(...rows.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
}
const number = id => $(id).value === "" ? null : Number($(id).value);
function fixedTo(value, digits) { return value === null || value === undefined ? "–" : value.toFixed(digits); }

function whom() { return $("whom").value === "" ? null : Number($("whom").value); }   // null: all robots
function shownRobot() { return whom() ?? 0; }

function refused(text) {
  $("said").prepend(make("li", "no", text));
  $("going").textContent = text;
}
async function want(what, fields = {}) {
  let answer;
  try {
    answer = await fetch("/do", {method: "POST", headers: {"content-type": "application/json"},
      body: JSON.stringify({robot: whom(), do: what, ...fields})});
  } catch { refused("no connection"); return; }
  if (!answer.ok) refused((await answer.json().catch(() => ({error: "refused: " + answer.status}))).error);
  return answer.ok;
}
// Of a slider that is dragged only the newest value goes out, ten a second.
const waiting = new Map();
function soon(key, send) {
  const last = waiting.get(key);
  waiting.set(key, send);
  if (last === undefined) setTimeout(() => { const f = waiting.get(key); waiting.delete(key); f(); }, 100);
}
