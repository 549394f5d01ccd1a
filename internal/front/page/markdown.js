// Markdown as models write it, made into nodes. HTML in it stays text.
import { el, fragment, region, link, visible } from "./dom.js";
import { highlight } from "./code.js";

const longest = 60_000; // characters; a longer text is read rather than looked at

// markdown is a text as nodes.
export function markdown(text) {
	const out = fragment();
	if (text.length > longest) out.append(plainText(text));
	else blocks(visible(text.replace(/\r\n?/g, "\n")).split("\n"), out, 0);
	return out;
}

function plainText(text) { return el("pre.code.wrapped", { tabindex: 0 }, text); }

const mostOpen = 4000; // characters of an unfinished block that are made again with each piece

// A Stream shows a text that is still arriving. Finished blocks stay; the last one is made again,
// or, if it is long, grows as plain text until it is finished.
export class Stream {
	text = "";
	kept = 0; // how much of the text is in finished nodes
	tail = [];
	read = 0; // how much of it was looked at for the end of a block
	fence = "";
	list = false;

	constructor(node) { this.node = node; }

	append(piece) {
		this.text += piece;
		const end = this.finished();
		if (!end && this.long) return this.long.appendData(visible(piece));
		for (const n of this.tail) n.remove();
		this.long = null;
		if (end) {
			this.node.append(markdown(this.text.slice(this.kept, end)));
			this.kept = end;
		}
		const open = this.text.slice(this.kept), rest = open.length > mostOpen ? plainText(open) : markdown(open);
		if (open.length > mostOpen) this.long = rest.firstChild;
		this.tail = open.length > mostOpen ? [rest] : [...rest.childNodes];
		this.node.append(rest);
	}

	// finished is where the last block begins that may still change, if that is new: behind an empty
	// line outside a fence. A list may go on behind one, so it stays open.
	finished() {
		let end = 0;
		for (let stop; (stop = this.text.indexOf("\n", this.read)) >= 0; this.read = stop + 1) {
			const line = this.text.slice(this.read, stop), mark = line.match(/^\s*(`{3,}|~{3,})/)?.[1];
			if (this.fence) {
				if (mark && mark.startsWith(this.fence)) this.fence = "";
			} else if (mark) this.fence = mark;
			else if (/^\s*([-*+]|\d+[.)])\s/.test(line)) this.list = true;
			else if (line.trim() && !/^\s/.test(line)) this.list = false;
			if (!this.fence && !this.list && !line.trim()) end = stop + 1;
		}
		return end > this.kept ? end : 0;
	}
}

const depthLimit = 8; // of quotes and lists in each other

const rules = [
	["fence", /^(\s*)(`{3,}|~{3,})\s*([\w+#.-]*)/],
	["heading", /^(#{1,6})\s+(.*)$/],
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
			out.append(el("h3.l" + m[1].length, inline(headingText(m[2]))));
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
		else if (line.includes("|") && isDelimiter(lines[i + 1] || "")) i = table(lines, i, out);
		else i = paragraph(lines, i, out, depth);
	}
}

// headingText is a heading without the signs that may end it.
function headingText(text) {
	text = text.trimEnd();
	let end = text.length;
	while (text[end - 1] === "#") end--;
	return text.slice(0, end).trimEnd();
}

// isDelimiter reports whether a line is the one below the head of a table.
function isDelimiter(line) {
	const cells = line.trim().replace(/^\||\|$/g, "").split("|");
	return cells.every((c) => /^:?-+:?$/.test(c.trim()));
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

const signs = /[`*_~![\\h]/g, bareAddress = /https?:\/\/[^\s<>"'`)\]]+/y, word = /\w/, escaped = /[\\`*_{}[\]()#+\-.!|<>~]/;

// marks are those around a piece of text: the element, and whether a line break ends the search.
const marks = [["**", "strong", false], ["__", "strong", false], ["~~", "s", false], ["*", "em", true], ["_", "em", true]];

// inline makes the nodes of a piece of text. Each sign is looked at once, and what was looked for in
// vain is not looked for again: the time grows with the text, whatever is in it.
function inline(text, depth = 0) {
	const out = fragment(), ends = new Map();
	// find is the first place of what at or behind from, which only grows.
	const find = (what, from) => {
		let at = ends.get(what) ?? -2;
		if (at !== -1 && at < from) ends.set(what, (at = text.indexOf(what, from)));
		return at;
	};
	let done = 0;
	const put = (from, to, ...nodes) => {
		if (from > done) out.append(text.slice(done, from));
		out.append(...nodes);
		done = signs.lastIndex = to;
	};
	signs.lastIndex = 0;
	for (let m; depth <= depthLimit && (m = signs.exec(text)); ) {
		const at = m.index, c = m[0];
		if (c === "\\" && escaped.test(text[at + 1] || "")) put(at, at + 2, text[at + 1]);
		else if (c === "`") codeSpan(text, at, find, put);
		else if (c === "h") bareLink(text, at, put);
		else if (c === "[" || c === "!" && text[at + 1] === "[") labelledLink(text, at, find, put);
		else if ("*_~".includes(c)) markedText(text, at, find, put, depth);
	}
	if (done < text.length) out.append(text.slice(done));
	return out;
}

// codeSpan is a piece between two runs of as many backquotes.
function codeSpan(text, at, find, put) {
	let n = at;
	while (text[n] === "`") n++;
	const run = text.slice(at, n);
	let end = find(run, n);
	for (; end >= 0 && (text[end + run.length] === "`" || text[end - 1] === "`"); end = find(run, end)) {
		while (text[end] === "`") end++;
	}
	if (end > n) put(at, end + run.length, el("code", text.slice(n, end)));
	else signs.lastIndex = n;
}

// bareLink is an address in the text.
function bareLink(text, at, put) {
	bareAddress.lastIndex = at;
	const found = bareAddress.exec(text)?.[0];
	if (!found) return;
	let end = found.length;
	while (".,;:!?".includes(found[end - 1])) end--;
	put(at, at + end, link(found.slice(0, end), found.slice(0, end)));
}

// labelledLink is a link with a label. The address is shown where the label does not say it: a label
// can lie.
function labelledLink(text, at, find, put) {
	const from = text.indexOf("[", at) + 1, end = find("]", from), close = end >= 0 && text[end + 1] === "(" ? find(")", end) : -1;
	if (close < 0 || close - at > mostOpen) return;
	const label = text.slice(from, end), to = text.slice(end + 2, close).trim().replace(/^</, "").split(/[\s>]/, 1)[0];
	if (!to || label.includes("\n") || text.slice(end, close).includes("\n")) return;
	put(at, close + 1, link(to, label || to), ...(label && label !== to ? [el("span.address", " (" + to + ")")] : []));
}

// markedText is a piece between two marks.
function markedText(text, at, find, put, depth) {
	const [mark, name, line] = marks.find(([m]) => text.startsWith(m, at)) || [];
	if (!mark) return;
	const from = at + mark.length, inWord = mark[0] === "_" && word.test(text[at - 1] || "");
	signs.lastIndex = from;
	if (inWord || !text[from] || /\s/.test(text[from]) || line && text[from] === mark) return;
	let end = find(mark, from + 1);
	while (end >= 0 && (/\s/.test(text[end - 1]) || line && (text[end + 1] === mark || text[end - 1] === mark) || mark[0] === "_" && word.test(text[end + mark.length] || ""))) end = find(mark, end + 1);
	if (end < 0 || line && (find("\n", from) >= 0 && find("\n", from) < end)) return;
	const inner = inline(text.slice(from, end), depth + 1);
	put(at, end + mark.length, el(name, inner));
}
