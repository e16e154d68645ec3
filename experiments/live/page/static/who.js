// -- who holds what: the last minute by groups, now by the tree of resources ----------
const SPAN_S = 60;
const A_DAY_S = 86400;
const held = [];           // robot -> what the event "who" brought
const spans = new Map();   // robot/group -> [{who, from, to}, ...]
const opened = new Set();
const hues = new Map();
function hueOf(owner) {
  if (!hues.has(owner)) hues.set(owner, "var(--c" + hues.size % 8 + ")");
  return hues.get(owner);
}
function keepSpans(state) {
  for (const group of state.groups) {
    const key = state.robot + "/" + group.name, who = group.holders.join(", ");
    let list = spans.get(key) || [];
    if (list.length && state.time_s < list.at(-1).to) list = [];
    if (list.length && list.at(-1).who === who) list.at(-1).to = state.time_s;
    else {
      if (list.length) list.at(-1).to = state.time_s;
      list.push({who, from: state.time_s, to: state.time_s});
    }
    spans.set(key, list.filter(one => one.to > state.time_s - SPAN_S));
  }
}
function drawSpans(s) {
  const begin = Math.max(s.time_s - SPAN_S, 0), all = Math.max(s.time_s - begin, 5);
  $("spans").replaceChildren(...s.groups.map(group => {
    const line = make("div", "span"), bar = make("div", "bar");
    for (const one of spans.get(s.robot + "/" + group.name) || []) {
      if (!one.who) continue;
      const from = Math.max(one.from, begin), node = make("span", "", one.who);
      node.style.left = (from - begin) / all * 100 + "%";
      node.style.width = Math.max((one.to - from) / all * 100, 0.5) + "%";
      node.style.setProperty("--own", hueOf(one.who));
      node.title = one.who + ", " + from.toFixed(1) + " to " + one.to.toFixed(1) + " s";
      bar.append(node);
    }
    line.append(make("span", "", group.name), bar);
    return line;
  }));
}
function holdsOf(row) {
  return JSON.stringify([row.holders.map(h => h.slice(0, 2)), row.virtual, row.waiters.map(w => w.slice(0, 2))]);
}
// A node whose leaves all have the same holders and waiters is one line until it is opened.
function linesOf(who) {
  const children = new Map();
  for (const row of who.resources) {
    if (!children.has(row.parent)) children.set(row.parent, []);
    children.get(row.parent).push(row);
  }
  const lines = [];
  function look(row) {
    const below = children.get(row.name) || [];
    if (!below.length) return {kinds: new Set([holdsOf(row)]), first: row, count: 1};
    const parts = below.map(look);
    return {kinds: new Set(parts.flatMap(part => [...part.kinds])), first: parts[0].first,
      count: parts.reduce((sum, part) => sum + part.count, 0)};
  }
  function add(row) {
    const below = children.get(row.name) || [], all = look(row);
    const isOne = all.kinds.size === 1;
    lines.push({row, shown: isOne ? all.first : null, count: below.length ? all.count : 0, isOne});
    if (below.length && (!isOne || opened.has(row.name))) below.forEach(add);
  }
  (children.get(null) || []).forEach(root => (children.get(root.name) || []).forEach(add));
  return lines;
}
function drawWho(s) {
  drawSpans(s);
  const who = held[shownRobot()];
  if (!who) return;
  $("holds").replaceChildren(...linesOf(who).map(({row, shown, count, isOne}) => {
    const line = make("tr"), name = make("td", "", row.name + (count > 1 && isOne ? " (" + count + ")" : ""));
    name.style.paddingLeft = 3 + 12 * (row.depth - 1) + "px";
    const has = !shown ? "" : [...shown.virtual.map(v => v + " (faults)"), ...shown.holders.map(([owner, priority]) =>
      owner + " (" + priority + ", " + (who.policy[owner] || "–") + ")")].join(", ") || "–";
    const waits = !shown ? "" : shown.waiters.map(([owner, priority, until]) => owner + " (" + priority + ", "
      + (until === null || until > s.time_s + A_DAY_S ? "no limit" : Math.max(until - s.time_s, 0).toFixed(1) + " s") + ")").join(", ");
    line.append(name, make("td", "", has), make("td", "wait", waits));
    if (count > 1 && isOne) {
      line.className = "several";
      line.tabIndex = 0;
      line.onkeydown = event => { if (event.key === "Enter") line.onclick(); };
      line.onclick = () => { opened.has(row.name) ? opened.delete(row.name) : opened.add(row.name); drawWho(s); };
    }
    return line;
  }));
  $("refusals").hidden = !who.refused.length;
  $("refusals").previousElementSibling.hidden = !who.refused.length;
  $("refusals").tBodies[0].replaceChildren(...who.refused.map(one => {
    const line = make("tr");
    line.append(...[one.time_s.toFixed(1), one.owner, one.resource, one.reason, one.count].map(text => make("td", "", text)));
    return line;
  }));
  $("streams").replaceChildren(...(who.groups.length ? who.groups.map(one => make("p", "soft", one.name + ": " + one.state
    + (one.preset === null ? "" : ", " + one.points + " of " + one.preset + " points")
    + (one.due_s === null ? "" : ", dropped in " + Math.max(one.due_s - s.time_s, 0).toFixed(1) + " s")
    + (one.waits_for.length ? ", waits for " + one.waits_for.join(", ") : "")
    + "; " + one.leaves.join(", "))) : [make("p", "soft", "none")]));
}
