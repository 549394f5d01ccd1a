// Sessions at a glance: those that ask first, then those that work, then the rest.
import { el, region, button, input, note, choice, indexOf, say, shortcut, dialog, lost, connected } from "./dom.js";
import { money, tokens, folder, ago, count, line, states, modes } from "./words.js";
import { request, events, addressOf, pathOf } from "./source.js";
import { Rows } from "./rows.js";
import { pairPhone } from "./pair.js";
import { find } from "./find.js";
import { notifyButton, notifyOf } from "./notify.js";
import { Question } from "./ask.js";

const groupKey = "haft-by-project";

const order = (s) => ["asks", "working"].indexOf(s.state) + 1 || 3;

const titleOf = (s) => line(s.title || s.prompt || s.last || s.id);

// grouped gets or sets whether sessions are shown by project.
function grouped(what, on) {
	try {
		if (what === "set") localStorage.setItem(groupKey, on ? "yes" : "");
		return localStorage.getItem(groupKey) === "yes";
	} catch {
		return false; // a browser that stores nothing
	}
}

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
		this.search = input("Search sessions", { type: "search", on: { input: () => this.filter(), keydown: (e) => e.key === "Enter" && this.find() } });
		this.status = el("p.meta", { role: "status" });
		this.box = el("div.conversation.list", region("Sessions"));
		this.rows = new Rows(this.box, { render: (i) => this.row(this.found[i], this.found[i - 1]), label: "Sessions", guess: 90 });
		this.rows.follow = false;
		this.box.append((this.empty = note()));
		this.form = this.create();
		this.byProject = grouped("get");
		this.group = button("By project", "", () => this.setGroup(!this.byProject), { "aria-pressed": String(this.byProject) });
		this.node = el("div.sessions", el("header", el("h1", "haft"), this.search, this.status, el("span.push"), button("Pair a phone", "full-only", pairPhone), this.form), lost(), el("main", this.box));
		this.node.querySelector("header").insertBefore(el("span.acts", button("Search all text", "", () => this.find(), { title: "Search in what was said and done" }), this.group, button("Cost", "", () => this.costs()), notifyButton()), this.node.querySelector(".push"));
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

	find() { find("", (id) => line(titleOf(this.all.find((s) => s.id === id) || { id })), null, this.search.value.trim()); }

	setGroup(on) {
		this.byProject = on;
		grouped("set", on);
		this.group.setAttribute("aria-pressed", String(on));
		this.filter();
	}

	// costs shows what the sessions of the list have cost, by project.
	costs() {
		const day = 86_400_000, now = Date.now(), sums = new Map(), all = [0, 0, 0];
		for (const s of this.all) {
			const sum = sums.get(s.cwd) || sums.set(s.cwd, [0, 0, 0]).get(s.cwd), age = now - s.modified;
			for (const to of [sum, all]) [age < day, age < 7 * day, true].forEach((counts, n) => (to[n] += counts ? s.cost : 0));
		}
		const rowOf = (name, sum) => el("tr", el("th", { scope: "row" }, name), sum.map((v) => el("td", money(v))));
		dialog("Cost", [el("div.wide", region("Cost by project"), el("table.costs", el("thead", el("tr", ["Project", "24 hours", "7 days", "All"].map((h) => el("th", { scope: "col" }, h)))),
			el("tbody", [...sums].sort((a, b) => b[1][2] - a[1][2]).map(([cwd, sum]) => rowOf(folder(cwd), sum)), rowOf("All", all)))),
		note(`Of the ${count(this.all.length, "session")} in this list, by when each was used last.${this.all.some((s) => s.unpriced || s.partial) ? " The cost of some is not known." : ""}`)]).classList.add("large");
	}

	// answer shows the questions of a session, to be answered here.
	async answer(s) {
		try {
			const open = (await request("GET", pathOf(s.id) + "/questions")).questions;
			const cards = open.map((q) => new Question(q, (answer) => request("POST", pathOf(s.id) + "/answers", answer)));
			const box = dialog(titleOf(s), cards.length ? cards.map((c) => c.node) : note("There is no open question any more."));
			box.classList.add("large", "answering");
			cards[0]?.node.focus();
			const look = () => (box.isConnected && (cards.every((c) => c.settled && !c.node.isConnected) && cards.length ? box.close() : setTimeout(look, 300)));
			look();
		} catch (err) {
			say(this.status, "Could not show the question: " + err.message);
		}
	}

	// merge takes in a list, or what changed in it.
	merge(change) {
		for (const s of change.all ? [] : change.sessions) if (this.all.find((old) => old.id === s.id && old.state !== s.state)) notifyOf(s.id, s.state, titleOf(s));
		const gone = new Set([...(change.removed || []), ...change.sessions.map((s) => s.id)]);
		this.all = [...change.sessions, ...(change.all ? [] : this.all.filter((s) => !gone.has(s.id)))].sort((a, b) => order(a) - order(b) || b.modified - a.modified);
		this.filter();
	}

	filter() {
		const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
		const text = (s) => [s.title, s.prompt, s.cwd, s.model, s.last, s.state, states[s.state], s.id].join(" ").toLowerCase();
		this.found = this.all.filter((s) => words.every((w) => text(s).includes(w)));
		if (this.byProject) this.found.sort((a, b) => a.cwd.localeCompare(b.cwd)); // which keeps the order within each
		const n = (state) => this.all.filter((s) => s.state === state).length, asks = n("asks");
		say(this.status, [asks && count(asks, "session needs you", "sessions need you"), n("working") && n("working") + " working", count(this.found.length, "session")].filter(Boolean).join(" · "));
		document.title = (asks ? `(${asks}) ` : "") + "haft";
		this.cwds.replaceChildren(...[...new Set(this.all.map((s) => s.cwd))].slice(0, 50).map((f) => el("option", { value: f })));
		this.rows.setTotal(this.found.length);
		this.rows.updateAll();
		say(this.empty, this.found.length ? "" : words.length ? "No session matches these words." : "No sessions yet. Choose New session, or run haft in a terminal: its session appears here.");
	}

	row(s, before) {
		const title = titleOf(s), last = line(s.last, 240);
		const link = el("a", { href: addressOf(s.id) }, title);
		return el("article.entry", { tabindex: -1, label: `${title}, ${states[s.state]}` },
			this.byProject && before?.cwd !== s.cwd && el("p.project", s.cwd),
			el("span.chip.s-" + s.state, states[s.state]), el("h2", link),
			el("span.acts", s.state === "asks" && button("Answer", "small allow", () => this.answer(s), { label: "Answer the question of " + title }), el("span.acts.full-only", button("Rename", "plain", () => this.rename(s, link), { label: "Rename " + title }), button("Delete", "plain", () => this.remove(s, title), { label: "Delete " + title }))),
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
