// The changes of a session: a tree of its files, comments on lines that go to the model, and a commit.
import { el, button, input, note, dialog, announce, say } from "./dom.js";
import { fileDiff, notesOf, countsOf, countsView } from "./diff.js";
import { count, relative } from "./words.js";

const mostLines = 400; // lines of changes that are shown at once; the rest is opened by file

// review shows a change in a dialog; send(text) sends a prompt, and is absent where none can be sent.
export function review(change, cwd, send) {
	const comments = [], files = (change.files || []).map((f) => ({ ...f, path: relative(f.path, cwd), notes: notesOf(f) }));
	let lines = 0;
	const parts = new Map(files.map((f) => {
		lines += (f.hunks || []).reduce((n, h) => n + h.lines.length, 0);
		return [f.path, el("details.file", { open: lines <= mostLines }, el("summary", el("span.path", f.path), countsView(countsOf(f))), fileDiff(f, send && ((row, at) => comment(row, { path: f.path, ...at }))))];
	}));
	const goTo = (path) => {
		parts.get(path).open = true;
		parts.get(path).scrollIntoView({ block: "start" });
		parts.get(path).querySelector("summary").focus();
	};
	const status = el("span.hint", { role: "status" });
	const submit = send && button("Send comments", "allow", () => {
		const said = comments.filter((c) => c.field.value.trim());
		send("Comments on the changes of this session:\n\n" + said.map((c) => `${c.path}:${c.line}\n> ${c.text}\n${c.field.value.trim()}`).join("\n\n"));
		box.close();
	}, { disabled: true });
	const changed = () => {
		const n = comments.filter((c) => c.field.value.trim()).length;
		submit.disabled = !n;
		say(status, n ? count(n, "comment") : "");
	};
	const comment = (row, at) => {
		if (row.nextSibling?.classList?.contains("comment")) return row.nextSibling.querySelector("textarea").focus();
		const field = el("textarea", { rows: 2, dir: "auto", label: `Comment on ${at.path}, line ${at.line}`, on: { input: changed } });
		const c = { ...at, field }, under = el("tr.comment", el("td", { colspan: 4 }, field, button("Remove", "small", () => {
			comments.splice(comments.indexOf(c), 1);
			under.remove();
			changed();
		})));
		comments.push(c);
		row.after(under);
		field.focus();
	};
	const commit = send && files.length > 0 && commitForm((text) => (send(text), box.close()));
	const box = dialog("Changes of this session", [
		files.length === 0 && note("No file changes."),
		files.length > 0 && el("p.note", count(files.length, "file"), " ", countsView(files.map(countsOf).reduce((a, b) => [a[0] + b[0], a[1] + b[1]])), send && " · click a line to comment on it, or go to it with the arrow keys and press Enter"),
		el("div.review", el("nav.tree", { label: "Changed files" }, tree(files, goTo)), el("div.change", ...parts.values(), change.notes?.map((n) => note(n)))),
		send && el("div.buttons", submit, status, commit),
	]);
	box.classList.add("large");
	return box;
}

// tree is the files in their folders.
function tree(files, open) {
	const root = { folders: new Map(), files: [] };
	for (const f of files) {
		let at = root;
		const names = f.path.split("/");
		for (const name of names.slice(0, -1)) {
			if (!at.folders.has(name)) at.folders.set(name, { folders: new Map(), files: [] });
			at = at.folders.get(name);
		}
		at.files.push([names.at(-1), f]);
	}
	const list = (at) => el("ul", [...at.folders].map(([name, inner]) => el("li", el("details", { open: true }, el("summary", (name || "") + "/"), list(inner)))),
		at.files.map(([name, f]) => el("li", button(name, "plain", () => open(f.path), { label: "Show " + f.path }), " ", countsView(countsOf(f)))));
	return list(root);
}

// commitForm asks for a message; the model commits, under the rules of the session.
function commitForm(send) {
	const message = input("Commit message (empty: the model writes one)");
	return el("form.commit", { on: { submit: (e) => {
		e.preventDefault();
		const text = message.value.trim();
		send("Commit the changes that this session made to files with git, and nothing else" + (text ? `. Use this message:\n\n${text}` : ". Write a fitting message."));
		announce("Asked for a commit.");
	} } }, message, el("button", { type: "submit" }, "Commit"));
}
