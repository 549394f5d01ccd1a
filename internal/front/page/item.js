// One item of a session as nodes: a pure function of the view's JSON. Details are asked for
// when they are looked at.
import { el, button, note, facts, visible } from "./dom.js";
import { ansi } from "./ansi.js";
import { highlight, language } from "./code.js";
import { markdown } from "./markdown.js";
import { fileDiff, textOf } from "./diff.js";
import { duration, clock, count, relative, toolTitle, words } from "./words.js";

const names = words({ prompt: "You", text: "Model", thinking: "Thinking", note: "Added for the model", error: "Error", compaction: "Compaction" });
const steps = words({ queued: ["◌", "queued"], asked: ["?", "waiting for an answer"], running: ["●", "running"], done: ["✓", "done"], failed: ["✗", "failed"], denied: ["⊘", "denied"] });
const verdicts = words({ allow: "allowed", deny: "denied" });
const onlyPart = "Only the beginning is shown.";

// itemView is an item. Context: detail(index) brings the whole of it, cwd is the session's
// folder, open are the indexes of calls that the user opened or closed.
export function itemView(item, context) {
	const who = (item.left ? "no longer in the conversation, " : "") + (item.lane ? `agent ${item.lane}, ` : "") + (item.call ? `${toolTitle(item.call.tool)}, ${stepOf(item)[1]}` : names[item.kind] || item.kind);
	return el("article.item.i-" + item.kind, { class: [item.lane && "agent", item.left && "left"].filter(Boolean).join(" "), tabindex: -1, id: "e" + item.index, "data-at": item.at, label: who },
		item.call ? callView(item, context) : saidView(item, context),
		el("a.perma", { href: "#e=" + item.index, title: "Link to this event", label: "Link to event " + item.index }, clock(item.at) || "#" + item.index));
}

// emptyView stands for an item that is being loaded.
export function emptyView() { return el("article.item.loading", { tabindex: -1, label: "loading" }, "…"); }

function stepOf(item) { return steps[item.call.state] || ["·", ""]; }

export function laneOf(agent) { return agent && el("span.lane", "agent " + agent); }

// plain is a text without the tags around it, in a line.
function plain(text) { return (text || "").replace(/<\/?[\w-]+>/g, " ").replace(/\s+/g, " ").trim(); }

function saidView(item, context) {
	const body = el("div.body"), lane = laneOf(item.lane);
	const rich = item.kind === "text" || item.kind === "thinking";
	const show = (d) => body.replaceChildren(rich ? markdown(d.text || "") : el("div.said", d.text || ""), ...(d.images || []).map(imageView), d.cut && !d.partial ? note(onlyPart) : "");
	show({ ...item, partial: true });
	if (item.cut || /^\[\w+\]$/.test(item.text || "")) context.detail(item.index).then(show, () => {});
	if (item.kind === "compaction") return el("p.divider", `The conversation was compacted (${item.text || "auto"}).`);
	if (item.kind === "thinking" || item.kind === "note") return el("details", el("summary", lane, names[item.kind], el("span.gist", plain(item.text).slice(0, 110))), body);
	return el("div", el("h2.who", lane, item.lane && item.kind === "prompt" ? "Task" : names[item.kind] || item.kind), body);
}

// callTitle says in a line what a call is about: the first text of its input that is one.
export function callTitle(item, cwd) {
	let text = item.text || "";
	const values = [...text.matchAll(/:\s*"((?:[^"\\]|\\.)*)/g)].map((m) => m[1]);
	const value = values.find((v) => !v.includes("\\n")) ?? values[0];
	if (value !== undefined) {
		try {
			text = JSON.parse(`"${value}"`);
		} catch {
			text = value;
		}
	} else if (text === "{}") text = "";
	return visible(relative(text, cwd).replace(/\s+/g, " ").trim());
}

function callView(item, context) {
	const c = item.call, [sign, step] = stepOf(item);
	const opened = context.open.get(item.index) ?? (c.files?.length > 0 || c.state === "failed");
	const body = el("div.body");
	const node = el("details", { open: opened }, el("summary",
		el("span.state.s-" + c.state, { title: step, "aria-hidden": "true" }, sign), laneOf(item.lane),
		el("b", { title: c.tool }, toolTitle(c.tool)), el("span.gist", callTitle(item, context.cwd)),
		c.files?.length > 0 && el("span.badge", count(c.files.length, "file")),
		c.by && el("span.badge", `${verdicts[c.verdict] || "answered"} by ${c.by.replace(/ \(process \d+\)/, "")}`),
		c.ended && el("span.took", duration(c.ended - (c.started || item.at)))), body);
	const fill = () => {
		if (body.childNodes.length) return;
		body.append(c.result ? pre(c.result) : note("…"));
		context.detail(item.index).then((d) => body.replaceChildren(...callBody(d, context)), (err) => body.replaceChildren(note("Could not load the details: " + err.message)));
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
	const hunks = d.output?.structuredPatch;
	const path = d.output?.filePath || d.input?.file_path || d.input?.notebook_path || "";
	const patched = Array.isArray(hunks) && hunks.length > 0;
	return [
		inputView(d.input ?? d.text, patched ? textOf([{ path, hunks }]) : ""),
		patched ? fileDiff({ path: relative(path, context.cwd), hunks }) : "",
		...(d.images || []).map(imageView),
		d.call.result && !patched ? outputView(d.call.result, d.call.result_cut) : "",
		el("details.facts", el("summary", "Why and when"), factList(d)),
	];
}

// inputView shows the input of a call: short values as a list, texts as texts. What a change
// that is shown says already is not repeated.
export function inputView(input, shown) {
	if (input === null || typeof input !== "object") return pre(String(input ?? ""));
	if (!shown && !Object.keys(input).length) return note("No input.");
	const lang = language(input.file_path || input.path || "");
	return facts("input", Object.entries(input).map(([key, value]) => {
		const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
		const long = text.includes("\n") || text.length > 100;
		if (shown && (long || shown.includes(text))) return [];
		const style = key === "command" ? "sh" : typeof value === "string" ? lang : "json";
		return [key, long ? el("pre.code", { tabindex: 0 }, el("code", highlight(visible(text), style))) : el("code", text)];
	}));
}

const linesShown = 400;

// outputView shows what a tool returned; the end of a long text is shown when asked for.
function outputView(text, cut) {
	const lines = text.split("\n"), out = el("div.output");
	const show = (n) => out.replaceChildren(pre(lines.slice(0, n).join("\n")),
		n < lines.length ? button(`Show ${count(lines.length - n, "more line")}`, "small", () => show(lines.length)) : cut ? note(onlyPart) : "");
	show(linesShown);
	return out;
}

function pre(text) { return el("pre.out", { tabindex: 0 }, ansi(text)); }

function imageView(i) {
	if (!/^image\/(png|jpeg|gif|webp)$/.test(i.media_type)) return note("[" + i.media_type + "]");
	return el("img", { src: `data:${i.media_type};base64,${i.data}`, alt: "image in the conversation", loading: "lazy" });
}

// factList says why a call was allowed or not, by whom, held to what, and how long each step
// took.
export function factList(item) {
	const c = item.call, started = c.started || c.ended;
	return facts("facts", [
		["state", stepOf(item)[1]],
		["verdict", c.verdict],
		["because", c.reason],
		["answered by", c.by],
		["confinement", [c.confinement, c.tier && `by ${c.tier}`].filter(Boolean).join(" ")],
		["effect", c.effect],
		["queued", started && duration(started - item.at - (c.asked ? (c.answered || started) - c.asked : 0))],
		["waited for an answer", c.asked && duration((c.answered || c.ended || Date.now()) - c.asked)],
		["ran for", c.started && duration((c.ended || Date.now()) - c.started)],
		["started", clock(c.started || item.at)],
		["changed", (c.files || []).join("\n")],
	]);
}
