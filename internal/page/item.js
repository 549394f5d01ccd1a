// One item of a session as nodes: a pure function of the view's JSON. Details are asked for
// when they are looked at.
import { el, button, visible } from "./dom.js";
import { ansi } from "./ansi.js";
import { highlight, language } from "./code.js";
import { markdown } from "./markdown.js";
import { fileDiff } from "./diff.js";
import { duration, clock, count, relative } from "./words.js";

const names = { prompt: "You", text: "Model", thinking: "Thinking", note: "Note", error: "Error", compaction: "Compaction" };
const signs = { queued: "◌", asked: "?", running: "●", done: "✓", failed: "✗", denied: "⊘" };
const states = { queued: "queued", asked: "waiting for an answer", running: "running", done: "done", failed: "failed", denied: "denied" };

// itemView is an item. Context: detail(index) brings the whole of it, cwd is the session's
// folder, open are the indexes of calls that the user opened or closed.
export function itemView(item, context) {
  const node = el("article", { class: `item i-${item.kind}${item.lane ? " agent" : ""}`, tabindex: -1, id: "e" + item.index, "data-at": item.at, "aria-label": labelOf(item) });
  node.append(item.call ? callView(item, context) : saidView(item, context));
  node.append(el("a", { class: "perma", href: "#e=" + item.index, title: "Link to this event", "aria-label": "Link to event " + item.index }, clock(item.at) || "#" + item.index));
  return node;
}

// emptyView stands for an item that is being loaded.
export function emptyView() { return el("article", { class: "item loading", tabindex: -1, "aria-label": "loading" }, "…"); }

function labelOf(item) {
  const who = item.lane ? "agent " + visible(item.lane) + ", " : "";
  return who + (item.call ? `${visible(item.call.tool)}, ${states[item.call.state] || ""}` : names[item.kind] || item.kind);
}

function saidView(item, context) {
  const body = el("div", { class: "body" });
  const rich = item.kind === "text" || item.kind === "thinking";
  const show = (d) => body.replaceChildren(rich ? markdown(d.text || "") : el("div", { class: "said" }, visible(d.text || "")), ...(d.images || []).map(imageView), d.cut && !d.partial ? el("p", { class: "note" }, "Only the beginning is shown.") : "");
  show({ ...item, partial: true });
  if (item.cut || /^\[\w+\]$/.test(item.text || "")) context.detail(item.index).then(show, () => {});
  const lane = item.lane && el("span", { class: "lane" }, "agent " + visible(item.lane));
  if (item.kind === "compaction") return el("p", { class: "divider" }, `The conversation was compacted (${visible(item.text || "auto")}).`);
  if (item.kind === "thinking" || item.kind === "note") {
    return el("details", {}, el("summary", {}, lane, names[item.kind], el("span", { class: "gist" }, visible(item.text || "").replace(/\s+/g, " ").slice(0, 90))), body);
  }
  return el("div", {}, el("h2", { class: "who" }, lane, item.lane && item.kind === "prompt" ? "Task" : names[item.kind] || item.kind), body);
}

// callTitle says in a line what a call is about: the first text of its input.
export function callTitle(item, cwd) {
  let text = item.text || "";
  const first = /:\s*"((?:[^"\\]|\\.)*)/.exec(text);
  if (first) {
    try {
      text = JSON.parse('"' + first[1] + '"');
    } catch {
      text = first[1];
    }
  } else if (text === "{}") text = "";
  return visible(relative(text, cwd).replace(/\s+/g, " ").trim());
}

function callView(item, context) {
  const c = item.call;
  const took = c.ended ? duration(c.ended - (c.started || item.at)) : "";
  const summary = el("summary", {},
    el("span", { class: "state s-" + c.state, title: states[c.state], "aria-hidden": "true" }, signs[c.state] || "·"),
    item.lane && el("span", { class: "lane" }, "agent " + visible(item.lane)),
    el("b", {}, visible(c.tool)), el("span", { class: "gist" }, callTitle(item, context.cwd)),
    c.files?.length > 0 && el("span", { class: "badge" }, count(c.files.length, "file")),
    c.by && el("span", { class: "badge" }, `${c.verdict || "answered"} by ${visible(c.by)}`),
    took && el("span", { class: "took" }, took));
  const opened = context.open.get(item.index) ?? (c.files?.length > 0 || c.state === "failed");
  const node = el("details", { open: opened }, summary);
  const body = el("div", { class: "body" });
  node.append(body);
  const fill = () => {
    if (body.childNodes.length) return;
    body.append(c.result ? pre(c.result) : el("p", { class: "note" }, "…"));
    context.detail(item.index).then((d) => body.replaceChildren(...callBody(d, context)), (err) => body.replaceChildren(el("p", { class: "note" }, "Could not load the details: " + err.message)));
  };
  if (opened) fill();
  node.addEventListener("toggle", () => {
    if (node.open) fill();
    if (node.open !== opened || context.open.has(item.index)) context.open.set(item.index, node.open);
  });
  return node;
}

// callBody is all that is known of a call.
function callBody(d, context) {
  const out = [];
  const hunks = d.output?.structuredPatch;
  const path = d.output?.filePath || d.input?.file_path || d.input?.notebook_path || "";
  const patched = Array.isArray(hunks) && hunks.length > 0;
  out.push(inputView(d.input ?? d.text, patched));
  if (patched) out.push(fileDiff({ path: relative(path, context.cwd), hunks }));
  for (const i of d.images || []) out.push(imageView(i));
  if (d.call.result && !patched) out.push(outputView(d.call.result, d.call.result_cut));
  out.push(el("details", { class: "facts" }, el("summary", {}, "Why and when"), factList(d)));
  return out;
}

// inputView shows the input of a call: short values as a list, texts as texts. Brief leaves out
// long texts that the change shows.
export function inputView(input, brief) {
  if (input === null || typeof input !== "object") return pre(String(input ?? ""));
  const list = el("dl", { class: "input" });
  const lang = language(input.file_path || input.path || "");
  for (const [key, value] of Object.entries(input)) {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
    const long = text.includes("\n") || text.length > 100;
    if (brief && long) continue;
    list.append(el("dt", {}, visible(key)), el("dd", {}, long ? el("pre", { class: "code", tabindex: 0 }, el("code", {}, highlight(visible(text), key === "command" ? "sh" : typeof value === "string" ? lang : "json"))) : el("code", {}, visible(text))));
  }
  return list;
}

const linesShown = 400;

// outputView shows what a tool returned; the end of a long text is shown when asked for.
function outputView(text, cut) {
  const lines = text.split("\n");
  const out = el("div", { class: "output" });
  const show = (n) => out.replaceChildren(pre(lines.slice(0, n).join("\n")),
    n < lines.length ? button(`Show ${count(lines.length - n, "more line")}`, { class: "small" }, () => show(lines.length)) : cut ? el("p", { class: "note" }, "Only the beginning is shown.") : "");
  show(linesShown);
  return out;
}

function pre(text) { return el("pre", { class: "out", tabindex: 0 }, ansi(text)); }

function imageView(i) {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(i.media_type)) return el("p", { class: "note" }, "[" + visible(i.media_type) + "]");
  return el("img", { src: `data:${i.media_type};base64,${i.data}`, alt: "image in the conversation", loading: "lazy" });
}

// factList says why a call was allowed or not, by whom, held to what, and how long each step
// took.
export function factList(item) {
  const c = item.call, list = el("dl", { class: "facts" });
  const fact = (name, value) => value && list.append(el("dt", {}, name), el("dd", {}, visible(value)));
  const started = c.started || c.ended;
  fact("state", states[c.state]);
  fact("verdict", c.verdict);
  fact("because", c.reason);
  fact("answered by", c.by);
  fact("confinement", [c.confinement, c.tier && `by ${c.tier}`].filter(Boolean).join(" "));
  fact("effect", c.effect);
  fact("queued", started && duration(started - item.at - (c.asked ? (c.answered || started) - c.asked : 0)));
  fact("asked for", c.asked && duration((c.answered || c.ended || Date.now()) - c.asked));
  fact("ran for", c.started && duration((c.ended || Date.now()) - c.started));
  fact("started", clock(c.started || item.at));
  fact("changed", (c.files || []).join("\n"));
  return list;
}
