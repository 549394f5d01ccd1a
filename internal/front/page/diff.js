// Changes of files: unified, with line numbers, colours and the words that differ.
import { el, region, note, visible } from "./dom.js";
import { highlight, language } from "./code.js";
import { relative } from "./words.js";

// fileDiff shows the change of one file. File has path, hunks and perhaps notes.
export function fileDiff(file) {
	const lang = language(file.path);
	let plus = 0, minus = 0;
	const body = el("tbody");
	(file.hunks || []).forEach((h, n) => {
		if (n > 0) body.append(el("tr.gap", el("td", { colspan: 4 }, "⋯")));
		for (const l of numbered(h)) {
			if (l.sign === "+") plus++;
			if (l.sign === "-") minus++;
			body.append(el("tr", { class: { "+": "plus", "-": "minus" }[l.sign] || "" },
				el("td.number", l.old || ""), el("td.number", l.new || ""),
				el("td.sign", l.sign.trim() || "\u00a0"), el("td.line", marked(l, lang))));
		}
	});
	const counts = plus + minus > 0 && el("span.counts", el("ins", "+" + plus), " ", el("del", "−" + minus));
	return el("figure.diff",
		el("figcaption", el("span.path", file.path || ""), counts,
			(file.notes || []).map((n) => el("span.note", { class: file.protected && "warn" }, n))),
		plus + minus > 0 && el("div.wide", region("change of " + (file.path || "a file")), el("table", body)));
}

// numbered are the lines of a hunk with their numbers, pairs of lines that replace each other
// found.
function numbered(h) {
	let a = h.oldStart, b = h.newStart;
	const lines = h.lines.map((text) => {
		const sign = text[0] || " ";
		const l = { sign, text: text.slice(1) };
		if (sign === "\\") return { sign: " ", text: text.slice(2) };
		if (sign !== "+") l.old = a++;
		if (sign !== "-") l.new = b++;
		return l;
	});
	for (let i = 0; i < lines.length; ) {
		if (lines[i].sign !== "-") {
			i++;
			continue;
		}
		let m = i;
		while (lines[m]?.sign === "-") m++;
		let p = m;
		while (lines[p]?.sign === "+") p++;
		if (p - m === m - i) for (let k = 0; k < m - i; k++) differ(lines[i + k], lines[m + k]);
		i = Math.max(p, i + 1);
	}
	return lines;
}

// differ notes the middle in which two lines differ, by whole words.
function differ(a, b) {
	const x = a.text.split(/(?<=\W)|(?=\W)/), y = b.text.split(/(?<=\W)|(?=\W)/);
	let from = 0, to = 0;
	while (from < x.length && from < y.length && x[from] === y[from]) from++;
	while (to < x.length - from && to < y.length - from && x[x.length - 1 - to] === y[y.length - 1 - to]) to++;
	const chars = (w, n) => w.slice(0, n).join("").length;
	if (from + to === 0) return;
	a.span = [chars(x, from), chars(x, x.length - to)];
	b.span = [chars(y, from), chars(y, y.length - to)];
}

function marked(l, lang) {
	const part = (text) => highlight(visible(text), lang);
	if (!l.span || l.span[0] === l.span[1]) return part(l.text);
	return [part(l.text.slice(0, l.span[0])), el("mark", part(l.text.slice(l.span[0], l.span[1]))), part(l.text.slice(l.span[1]))];
}

// textOf is all that the changes of files say.
export function textOf(files) { return files.map((f) => [f.path, ...(f.hunks || []).flatMap((h) => h.lines.map((l) => l.slice(1)))].join("\n")).join("\n"); }

// changeView shows all that a call would change, as the question about it has it, or a session
// has changed; paths are seen from cwd.
export function changeView(change, cwd) {
	return el("div.change",
		change.ran && note("The command ran in a preview. Allowing it makes this change; it is not run again."),
		!change.files?.length && note("No file changes."),
		change.files?.map((f) => fileDiff({ ...f, path: relative(f.path, cwd), notes: notesOf(f) })),
		change.notes?.map((n) => note(n)));
}

// notesOf says what the hunks of a file do not.
function notesOf(f) {
	const notes = [];
	const size = (v) => (v ? v.size + " bytes" : "none");
	if (f.protected) notes.push("protected: " + f.protected);
	if (!f.before) notes.push(f.after?.link ? "new link" : "new file");
	else if (!f.after) notes.push("deleted");
	if (f.from) notes.push("renamed from " + f.from);
	if (f.before?.mode && f.after?.mode && f.before.mode !== f.after.mode) notes.push(`mode ${f.before.mode} → ${f.after.mode}`);
	if (f.folded) notes.push(f.folded);
	if (!f.hunks?.length && f.before?.sha256 !== f.after?.sha256) notes.push(`${f.before?.binary || f.after?.binary ? "binary, " : ""}${size(f.before)} → ${size(f.after)}`);
	return notes;
}
