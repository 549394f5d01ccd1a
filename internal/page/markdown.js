// Markdown as models write it, made into nodes. HTML in it stays text.
import { el, fragment, region, link, visible } from "./dom.js";
import { highlight } from "./code.js";

// markdown is a text as nodes.
export function markdown(text) {
	const out = fragment();
	blocks(visible(text.replace(/\r\n?/g, "\n")).split("\n"), out, 0);
	return out;
}

// A Stream shows a text that is still arriving: only what follows the last finished block is
// made again.
export class Stream {
	text = "";
	kept = 0; // how much of the text is in finished nodes
	tail = [];

	constructor(node) { this.node = node; }

	append(piece) {
		this.text += piece;
		for (const n of this.tail) n.remove();
		const end = finished(this.text, this.kept);
		if (end > this.kept) {
			this.node.append(markdown(this.text.slice(this.kept, end)));
			this.kept = end;
		}
		const rest = markdown(this.text.slice(this.kept));
		this.tail = [...rest.childNodes];
		this.node.append(rest);
	}
}

// finished is where the last block begins that may still change: behind an empty line outside
// a fence. A list may go on behind one, so it stays open.
function finished(text, from) {
	let fence = "", end = from, at = from, list = false;
	for (const line of text.slice(from).split("\n").slice(0, -1)) {
		const mark = line.match(/^\s*(`{3,}|~{3,})/)?.[1];
		if (fence) {
			if (mark && mark.startsWith(fence)) fence = "";
		} else if (mark) fence = mark;
		else if (/^\s*([-*+]|\d+[.)])\s/.test(line)) list = true;
		else if (line.trim() && !/^\s/.test(line)) list = false;
		at += line.length + 1;
		if (!fence && !list && !line.trim()) end = at;
	}
	return end;
}

const depthLimit = 8; // of quotes and lists in each other

const rules = [
	["fence", /^(\s*)(`{3,}|~{3,})\s*([\w+#.-]*)/],
	["heading", /^(#{1,6})\s+(.*?)\s*#*$/],
	["rule", /^\s*([-*_])\s*(?:\1\s*){2,}$/],
	["quote", /^\s*>/],
	["list", /^(\s*)([-*+]|\d{1,9}[.)])\s+/],
];

// blocks makes the nodes of some lines.
function blocks(lines, out, depth) {
	for (let i = 0; i < lines.length; ) {
		const line = lines[i];
		if (!line.trim()) {
			i++;
			continue;
		}
		const [kind, m] = depth < depthLimit ? ruleOf(line) : [];
		if (kind === "fence") i = fence(lines, i, m, out);
		else if (kind === "heading") {
			out.append(el("h3.l" + m[1].length, inline(m[2])));
			i++;
		} else if (kind === "rule") {
			out.append(el("hr"));
			i++;
		} else if (kind === "quote") {
			const inner = [];
			while (i < lines.length && /^\s*>/.test(lines[i])) inner.push(lines[i++].replace(/^\s*> ?/, ""));
			const quote = el("blockquote");
			blocks(inner, quote, depth + 1);
			out.append(quote);
		} else if (kind === "list") i = list(lines, i, out, depth);
		else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] || "")) i = table(lines, i, out);
		else i = paragraph(lines, i, out, depth);
	}
}

function ruleOf(line) {
	for (const [kind, rule] of rules) {
		const m = line.match(rule);
		if (m) return [kind, m];
	}
	return [];
}

function fence(lines, i, m, out) {
	const text = [];
	for (i++; i < lines.length && !lines[i].trim().startsWith(m[2]); i++) text.push(lines[i].startsWith(m[1]) ? lines[i].slice(m[1].length) : lines[i]);
	out.append(el("pre.code", { tabindex: 0 }, el("code", highlight(text.join("\n"), m[3]))));
	return i + 1;
}

function list(lines, i, out, depth) {
	const [, indent, mark] = lines[i].match(rules[4][1]);
	const ordered = /\d/.test(mark);
	const node = el(ordered ? "ol" : "ul", { start: ordered && parseInt(mark) !== 1 && parseInt(mark) });
	while (i < lines.length) {
		const m = lines[i].match(rules[4][1]);
		if (!m || m[1].length !== indent.length || /\d/.test(m[2]) !== ordered) break;
		const inner = [lines[i].slice(m[0].length)];
		for (i++; i < lines.length; i++) {
			const next = lines[i];
			const deep = next.match(/^\s*/)[0].length > indent.length;
			if (!next.trim()) {
				const after = lines[i + 1];
				if (after === undefined || !after.trim() || after.match(/^\s*/)[0].length <= indent.length && !rules[4][1].test(after)) break;
				inner.push("");
			} else if (deep || !ruleOf(next)[0]) inner.push(next.replace(new RegExp(`^\\s{0,${m[0].length}}`), ""));
			else break;
		}
		const item = el("li");
		const box = inner[0].match(/^\[([ xX])\]\s+/);
		if (box) {
			inner[0] = (box[1] === " " ? "☐ " : "☑ ") + inner[0].slice(box[0].length);
			item.className = "box";
		}
		if (inner.length === 1) item.append(inline(inner[0]));
		else blocks(inner, item, depth + 1);
		node.append(item);
		while (i < lines.length && !lines[i].trim() && rules[4][1].test(lines[i + 1] || "")) i++;
	}
	out.append(node);
	return i;
}

function table(lines, i, out) {
	const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));
	const head = el("tr", cells(lines[i]).map((c) => el("th", { scope: "col" }, inline(c))));
	const body = el("tbody");
	for (i += 2; i < lines.length && lines[i].includes("|"); i++) body.append(el("tr", cells(lines[i]).map((c) => el("td", inline(c)))));
	out.append(el("div.wide", region("table"), el("table", el("thead", head), body)));
	return i;
}

function paragraph(lines, i, out, depth) {
	const text = [lines[i++]];
	while (i < lines.length && lines[i].trim() && !(depth < depthLimit && ruleOf(lines[i])[0])) text.push(lines[i++]);
	out.append(el("p", inline(text.join("\n"))));
	return i;
}

const inlines = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]+?)(?<=\S)\*\*|(?<!\w)__(?=\S)([\s\S]+?)(?<=\S)__(?!\w)|~~(?=\S)([\s\S]+?)(?<=\S)~~|\*(?=[^\s*])([^*\n]+?)(?<=\S)\*|(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)|!?\[([^\]\n]*)\]\(\s*<?([^)\s>]+)>?[^)\n]*\)|(https?:\/\/[^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?])|\\([\\`*_{}[\]()#+\-.!|<>~])/g;

// inline makes the nodes of a piece of text.
function inline(text, depth = 0) {
	const out = fragment();
	let at = 0;
	if (depth > depthLimit) {
		out.append(text);
		return out;
	}
	for (const m of text.matchAll(inlines)) {
		out.append(text.slice(at, m.index));
		at = m.index + m[0].length;
		if (m[2] !== undefined) out.append(el("code", m[2]));
		else if (m[3] ?? m[4]) out.append(el("strong", inline(m[3] ?? m[4], depth + 1)));
		else if (m[5]) out.append(el("s", inline(m[5], depth + 1)));
		else if (m[6] ?? m[7]) out.append(el("em", inline(m[6] ?? m[7], depth + 1)));
		else if (m[9]) {
			// The address is shown where the label does not say it: a label can lie.
			out.append(link(m[9], m[8] || m[9]));
			if (m[8] && m[8] !== m[9]) out.append(el("span.address", " (" + m[9] + ")"));
		} else if (m[10]) out.append(link(m[10], m[10]));
		else if (m[11]) out.append(m[11]);
	}
	out.append(text.slice(at));
	return out;
}
