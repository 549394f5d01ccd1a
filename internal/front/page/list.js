// Sessions at a glance: those that ask first, then those that work, then the rest.
import { el, region, button, input, note, choice, indexOf, say, shortcut, dialog, lost, connected } from "./dom.js";
import { money, tokens, folder, ago, count, line, states, modes } from "./words.js";
import { request, events, addressOf, pathOf } from "./source.js";
import { Rows } from "./rows.js";
import { pairPhone } from "./pair.js";

const order = (s) => ["asks", "working"].indexOf(s.state) + 1 || 3;

export async function openList() {
	const page = new ListPage();
	document.body.prepend(page.node);
	await page.fetch();
	page.node.dataset.ready = "true";
	events(() => "/events", { sessions: (change) => page.merge(change) }, (on, why) => connected(page.node, on, why));
	addEventListener("keydown", (e) => page.key(e));
}

class ListPage {
	all = [];
	found = [];

	constructor() {
		this.search = input("Search sessions", { type: "search", on: { input: () => this.filter() } });
		this.status = el("p.meta", { role: "status" });
		this.box = el("div.conversation.list", region("Sessions"));
		this.rows = new Rows(this.box, { render: (i) => this.row(this.found[i]), label: "Sessions", guess: 90 });
		this.rows.follow = false;
		this.box.append((this.empty = note()));
		this.form = this.create();
		this.node = el("div.sessions", el("header", el("h1", "haft"), this.search, this.status, el("span.push"), button("Pair a phone", "full-only", pairPhone), this.form), lost(), el("main", this.box));
	}

	create() {
		const dir = input("Folder", { required: true, list: "folders", placeholder: "/home/you/project" });
		const text = el("textarea", { rows: 2, placeholder: "What should the agent do?", label: "Prompt", required: true });
		const mode = choice("Permission mode", { default: modes.default, acceptEdits: modes.acceptEdits, plan: modes.plan }, "default");
		const model = input("Model (default)");
		this.cwds = el("datalist", { id: "folders" });
		const problem = el("p.warning", { role: "alert", hidden: true });
		const send = async (e) => {
			e.preventDefault();
			problem.hidden = true;
			try {
				const made = await request("POST", "/sessions", { cwd: dir.value.trim(), prompt: text.value, mode: mode.value, model: model.value.trim() || undefined });
				location.assign(addressOf(made.id));
			} catch (err) {
				problem.hidden = false;
				say(problem, "Could not start a session: " + err.message);
			}
		};
		return el("details.create.full-only", { on: { toggle: () => dir.focus() } }, el("summary", "New session"),
			el("form", { on: { submit: send } }, el("label", "Folder", dir), this.cwds, el("label", "Prompt", text), el("div.buttons", mode, model, el("button.allow", { type: "submit" }, "Start")), problem));
	}

	async fetch() { this.merge({ ...(await request("GET", "/sessions")), all: true }); }

	// merge takes in a list, or what changed in it.
	merge(change) {
		const gone = new Set([...(change.removed || []), ...change.sessions.map((s) => s.id)]);
		this.all = [...change.sessions, ...(change.all ? [] : this.all.filter((s) => !gone.has(s.id)))].sort((a, b) => order(a) - order(b) || b.modified - a.modified);
		this.filter();
	}

	filter() {
		const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
		const text = (s) => [s.title, s.prompt, s.cwd, s.model, s.last, s.state, states[s.state], s.id].join(" ").toLowerCase();
		this.found = this.all.filter((s) => words.every((w) => text(s).includes(w)));
		const n = (state) => this.all.filter((s) => s.state === state).length, asks = n("asks");
		say(this.status, [asks && count(asks, "session needs you", "sessions need you"), n("working") && n("working") + " working", count(this.found.length, "session")].filter(Boolean).join(" · "));
		document.title = (asks ? `(${asks}) ` : "") + "haft";
		this.cwds.replaceChildren(...[...new Set(this.all.map((s) => s.cwd))].slice(0, 50).map((f) => el("option", { value: f })));
		this.rows.setTotal(this.found.length);
		this.rows.updateAll();
		say(this.empty, this.found.length ? "" : words.length ? "No session matches these words." : "No sessions yet. Choose New session, or run haft in a terminal: its session appears here.");
	}

	row(s) {
		const title = line(s.title || s.prompt || s.last || s.id), last = line(s.last, 240);
		const link = el("a", { href: addressOf(s.id) }, title);
		return el("article.entry", { tabindex: -1, label: `${title}, ${states[s.state]}` },
			el("span.chip.s-" + s.state, states[s.state]), el("h2", link),
			el("span.acts.full-only", button("Rename", "plain", () => this.rename(s, link), { label: "Rename " + title }), button("Delete", "plain", () => this.remove(s, title), { label: "Delete " + title })),
			last !== title && el("p.last", last),
			el("p.meta", el("span", { title: s.cwd }, folder(s.cwd)), s.model && el("span", s.model), el("span", money(s.cost, s.unpriced || s.partial)),
				el("span", tokens(s.usage.input + s.usage.output + s.usage.cache_read + s.usage.cache_write) + " tokens"), s.modified && el("span", ago(s.modified))));
	}

	rename(s, link) {
		const field = input("Title", { value: s.title || "" });
		const end = () => field.isConnected && field.replaceWith(link);
		field.addEventListener("blur", end);
		field.addEventListener("keydown", (e) => {
			if (e.key === "Escape") end();
			if (e.key === "Enter") this.act("PATCH", s, { title: field.value.trim() }, "Could not rename: ");
		});
		link.replaceWith(field);
		field.focus();
	}

	remove(s, title) {
		dialog("Delete this session?", [el("p", title), note("The conversation and its checkpoints are deleted. Files stay as they are.")], "Delete", () => this.act("DELETE", s, undefined, "Could not delete: "));
	}

	async act(method, s, body, problem) {
		try {
			await request(method, pathOf(s.id), body);
			await this.fetch();
		} catch (err) {
			say(this.status, problem + err.message);
		}
	}

	key(e) {
		const at = indexOf(document.activeElement);
		const go = (n) => this.rows.show(n)?.querySelector("a").focus();
		shortcut(e, { "/": () => this.search.focus(), j: () => go(at + 1), k: () => go(at - 1), n: () => (this.form.open = !this.form.open) });
	}
}
