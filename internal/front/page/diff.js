// Changes of files: unified, with line numbers, colours and the words that differ.
import { el, region, note, announce, visible } from "./dom.js";
import { highlight, language } from "./code.js";
import { relative, count } from "./words.js";

// fileDiff shows the change of one file. File has path, hunks and perhaps notes. If there is choose,
// a line can be chosen, by pointer and by keyboard: it is told the row, and {line, text}.
export function fileDiff(file, choose) {
	const lang = language(file.path), body = el("tbody"), rows = [];
	(file.hunks || []).forEach((h, n) => {
		if (n > 0) body.append(el("tr.gap", el("td", { colspan: 4 }, "⋯")));
		for (const l of numbered(h)) {
			const row = el("tr", { class: { "+": "plus", "-": "minus" }[l.sign] || "", on: choose && { click: () => getSelection().isCollapsed && take(row) } },
				el("td.number", l.old || ""), el("td.number", l.new || ""),
				el("td.sign", l.sign.trim() || "\u00a0"), el("td.line", marked(l, lang)));
			rows.push({ row, line: l.new || l.old, text: l.sign.trim() + l.text });
			body.append(row);
		}
	});
	const take = (row) => {
		const { line, text } = rows.find((r) => r.row === row);
		choose(row, { line, text });
	};
	let at = -1;
	const key = (e) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
		if (e.target !== e.currentTarget || !step && e.key !== "Enter") return;
		e.preventDefault();
		if (!step) return at >= 0 && take(rows[at].row);
		rows[at]?.row.classList.remove("chosen");
		at = Math.max(0, Math.min(rows.length - 1, at + step));
		rows[at].row.classList.add("chosen");
		rows[at].row.scrollIntoView({ block: "nearest" });
		announce(`line ${rows[at].line}: ${rows[at].text}`);
	};
	return el("figure.diff", { class: choose && "can-choose" },
		el("figcaption", el("span.path", file.path || ""), countsView(countsOf(file)),
			(file.notes || []).map((n) => el("span.note", { class: file.protected && "warn" }, n))),
		rows.length > 0 && el("div.wide", region("change of " + (file.path || "a file")), { on: choose && { keydown: key } }, el("table", body)));
}

// countsOf is how many lines a change of a file adds and removes.
export function countsOf(file) {
	const lines = (file.hunks || []).flatMap((h) => h.lines), n = (sign) => lines.filter((l) => l[0] === sign).length;
	return [n("+"), n("-")];
}

export function countsView([plus, minus]) { return plus + minus > 0 && el("span.counts", el("ins", "+" + plus), " ", el("del", "−" + minus)); }

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

const mostFiles = 20; // files whose changes are shown at once

// changeView shows all that a call would change, as the question about it has it, or a session
// has changed; paths are seen from cwd. Many files are folded, below a list of them with what each
// adds and removes: whoever is asked reads what is shown, and opens what they want to see.
export function changeView(change, cwd) {
	const files = (change.files || []).map((f) => ({ ...f, path: relative(f.path, cwd), notes: notesOf(f) })), many = files.length > mostFiles;
	return el("div.change",
		change.ran && note("The command ran in a preview. Allowing it makes this change; it is not run again."),
		!files.length && note("No file changes."),
		many && note(count(files.length, "file"), " ", countsView(files.map(countsOf).reduce((a, b) => [a[0] + b[0], a[1] + b[1]])), ". Open a file to see what changes in it."),
		files.map((f) => (many ? folded(f) : fileDiff(f))),
		change.notes?.map((n) => note(n)));
}

// folded is the change of a file that is made when it is opened.
function folded(file) {
	const node = el("details.file", { on: { toggle: () => node.open && node.children.length === 1 && node.append(fileDiff(file)) } },
		el("summary", el("span.path", file.path), countsView(countsOf(file)), file.notes.map((n) => el("span.note", { class: file.protected && "warn" }, n))));
	return node;
}

// notesOf says what the hunks of a file do not.
export function notesOf(f) {
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
