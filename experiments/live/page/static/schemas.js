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
