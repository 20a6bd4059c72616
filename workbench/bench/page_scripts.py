"""What the benchmark of the page does in the browser: functions in the page's own language."""

from __future__ import annotations

#: Milliseconds since the visit began: until something was seen, and until now.
FIRST = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  picture: performance.now(),
})"""

#: Open an example, change its grammar a little as a key would, and wait for its picture.
EDIT = """async (name) => {
  const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
  const drawn = async (text) => {
    const there = () => wb.state.drawn?.text === text;
    const stale = () => document.querySelector("#wb-picture .pic.stale");
    for (let tries = 0; tries < 2000 && (!there() || stale()); tries++) await sleep(4);
    if (!there()) return null;
    await new Promise(requestAnimationFrame);
    return performance.now();
  };
  const picker = document.querySelector("#wb-header select");
  picker.value = String(wb.state.gallery.findIndex((example) => example.name === name));
  picker.dispatchEvent(new Event("change", { bubbles: true }));
  await drawn(wb.state.text);
  while (wb.state.running) await sleep(20);
  await sleep(300);
  const area = document.querySelector("#wb-grammar textarea.text"), text = wb.state.text;
  // the machine changes too, or its old picture would be known
  const property = text.match(/"properties"\\s*:\\s*{\\s*("\\w+)"/)?.[1];
  const edits = {
    regex: () => text + "q?",
    json_schema: () => text.replaceAll(property + '"', property + 'q"'),
    dataclass: () => text.replace(/^( {4}[a-z]\\w*):/m, "$1q:"),
    lark: () => text.replace(/(:[^\\n]*?")/, "$1q"),
  };
  const edited = (edits[wb.state.notation] ?? (() => text.replace(/(::=[^;]*?['"])/s, "$1q")))();
  const begun = performance.now();
  area.value = edited;
  area.dispatchEvent(new Event("input", { bubbles: true }));
  const end = await drawn(edited);
  return { ms: end === null ? null : end - begun, ok: wb.state.compiled.ok };
}"""

#: Run so many tokens: what the page took, what the engine took, the longest wait for a frame.
RUN = """async ({ text, tokens }) => {
  const until = async (there) => {
    while (!there()) await new Promise((go) => setTimeout(go, 20));
  };
  const settings = { max_tokens: tokens, temperature: 1, seed: 1 };
  wb.emit("open", { text, notation: "regex", prompt: "", settings });
  const button = document.querySelector("#wb-run .go");
  await until(() => wb.state.compiled?.text === text && !button.disabled);
  document.querySelector("#wb-run input.max").value = String(tokens);
  let longest = 0, last = performance.now(), on = true;
  const frame = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    if (on) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const begun = performance.now();
  button.click();
  await until(() => wb.state.running);
  await until(() => !wb.state.running);
  const wall = performance.now() - begun;
  await new Promise((go) => setTimeout(go, 300));
  on = false;
  const steps = wb.state.steps;
  const engine = steps.reduce((sum, { ms }) => sum + ms.model + ms.mask + (ms.advance || 0), 0);
  return { wall, engine, longest, tokens: steps.length };
}"""
