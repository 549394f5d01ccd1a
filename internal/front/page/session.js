// The page of one session, live or from a file.
import { el, region, button, note, choice, indexOf, visible, say, announce, typing, shortcut, dialog, lost, connected } from "./dom.js";
import { money, tokens, folder, count, line, toolTitle, duration, progressLine, states, callStates, modes } from "./words.js";
import { Model, itemAt } from "./model.js";
import { Rows } from "./rows.js";
import { Timeline } from "./timeline.js";
import { itemView, emptyView } from "./item.js";
import { Stream } from "./markdown.js";
import { plots, todoList, taskList, changedFiles } from "./plots.js";
import { Replay } from "./replay.js";
import { Question } from "./ask.js";
import { changeView } from "./diff.js";
import { addressOf } from "./source.js";

// openSession shows the session of a source in the document.
export async function openSession(source) {
	const page = new SessionPage(source, ...(await source.first()));
	document.body.prepend(page.node);
	page.start();
	return page;
}

const draftKey = "haft-draft-";

function draftOf(id) {
	try {
		return sessionStorage.getItem(draftKey + id) || "";
	} catch {
		return "";
	}
}

class SessionPage {
	constructor(source, session, view) {
		Object.assign(this, { source, session, shown: 0, time: 0, questions: new Map(), streams: new Map(), calls: new Map(), tasks: [] });
		this.model = new Model(view, (from, n) => source.window(from, n));
		const cwd = session.cwd || "";
		this.context = { cwd, open: new Map(), detail: (index) => source.detail(this.model.items[index]) };
		this.box = el("div.conversation", region("Conversation"));
		this.rows = new Rows(this.box, { render: (i) => this.row(i), need: (from, to) => this.model.need(from, to), label: "Events" });
		this.tail = el("div.live", { "aria-live": "off" });
		this.box.append(this.tail);
		this.timeline = new Timeline(this.model, { open: (i) => this.go(i), cwd });
		this.replay = new Replay(this.model, (n, time) => this.past(n, time));
		this.asks = el("div.asks", { "aria-live": "assertive" });
		this.side = el("aside.side", { label: "Details" });
		const work = el("div.work", this.box, this.asks, source.live && this.composer());
		this.node = el("div.session", this.head(), source.live && lost(), el("main", this.timeline.node, this.replay.node, el("div.columns", work, this.side)));
		this.model.listen((changed) => this.changed(changed));
	}

	head() {
		const live = this.source.live;
		this.title = el("h1");
		this.state = el("span.chip", { role: "status" });
		this.facts = el("p.meta");
		this.stop = live && button("Interrupt", "deny", () => this.act(this.source.post("interrupt"), "Interrupted."), { title: "Interrupt the turn (Esc)" });
		this.mode = live && el("span.full-only");
		this.details = button("Details", "only-narrow", () => this.toggleSide(), { "aria-expanded": "false" });
		return el("header", live && el("a.back", { href: "/", label: "All sessions" }, "‹ Sessions"), el("div.titles", this.title, this.facts), this.state,
			el("div.acts", this.mode, this.stop, button("Replay", "", () => this.replay.toggleOpen(), { title: "Replay the session from any event (r)" }), this.details));
	}

	// toggleSide shows or hides the details where there is no room beside the conversation.
	toggleSide() { this.details.setAttribute("aria-expanded", String(this.node.classList.toggle("with-side"))); }

	composer() {
		this.images = [];
		this.added = button("", "small", () => this.attach(null), { hidden: true, title: "Remove the images" });
		this.input = el("textarea", { rows: 1, dir: "auto", placeholder: "Write a prompt", label: "Prompt", on: {
			paste: (e) => this.attach(e.clipboardData, e),
			drop: (e) => this.attach(e.dataTransfer, e),
			keydown: (e) => {
				if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
					e.preventDefault();
					this.prompt();
				}
			},
			input: () => {
				this.input.style.height = "auto";
				this.input.style.height = Math.min(240, this.input.scrollHeight) + "px";
				this.keepDraft();
			},
		} });
		this.input.value = draftOf(this.session.id);
		return el("footer.full-only", el("form", { on: { submit: (e) => (e.preventDefault(), this.prompt()) } }, this.input, this.added, el("button.allow", { type: "submit" }, "Send")));
	}

	// keepDraft keeps what is written for when the page is loaded again in this tab.
	keepDraft() {
		try {
			sessionStorage.setItem(draftKey + this.session.id, this.input.value);
		} catch {} // a browser that stores nothing
	}

	// attach takes images that are pasted or dropped; null takes them away.
	async attach(data, e) {
		const files = [...(data?.files || [])].filter((f) => /^image\/(png|jpeg|gif|webp)$/.test(f.type));
		if (files.length) e.preventDefault();
		if (!data) this.images = [];
		for (const f of files) {
			const reader = new FileReader();
			reader.readAsDataURL(f);
			await new Promise((done) => (reader.onloadend = done));
			this.images.push({ media_type: f.type, data: reader.result.split(",")[1] });
		}
		this.added.hidden = !this.images.length;
		this.added.textContent = count(this.images.length, "image") + " ×";
	}

	async prompt() {
		const text = this.input.value.trim(), images = this.images;
		if (!text && !images.length) return;
		this.input.value = "";
		this.keepDraft();
		this.attach(null);
		this.rows.follow = true;
		const waits = this.stop.hidden === false;
		if (await this.act(this.source.post("prompts", { uuid: crypto.randomUUID?.(), text, images }))) return waits && this.tell("Queued until the next step: " + line(text, 80));
		this.input.value = text;
		this.keepDraft();
		this.images = images;
	}

	// act waits for something that was asked for, says how it went, and reports whether it was
	// done.
	async act(promise, done, problem = "") {
		try {
			const value = await promise;
			if (typeof done === "string") announce(done);
			else done?.(value);
			return true;
		} catch (err) {
			this.warn(problem + err.message);
			return false;
		}
	}

	warn(text, stays) { this.tell(text, "warning", "alert", stays); }

	// tell says something above the prompt, for a while or until it is dismissed.
	tell(text, kind = "note", role = "status", stays = false) {
		const node = el("p." + kind, { role }, text, button("×", "plain", () => node.remove(), { label: "Dismiss" }));
		this.asks.append(node);
		if (!stays) setTimeout(() => node.remove(), 10_000);
	}

	start() {
		this.rows.setTotal(this.model.count);
		this.changed(new Set());
		this.jump();
		addEventListener("hashchange", () => this.jump());
		addEventListener("keydown", (e) => this.key(e));
		if (!this.source.live) return;
		this.source.listen(this.model, {
			message: (m) => this.take(m),
			questions: (q) => this.asked(q.questions),
			// A server that has begun again does not know what this page has.
			timeline: (view) => (view.reset ? location.reload() : this.model.merge(view)),
			session: (row) => this.became(row),
		}, (on, why) => (connected(this.node, on, why), this.summary()));
		this.node.dataset.ready = "true";
	}

	// jump goes to the event that the address names.
	jump() {
		const at = /^#e=(\d+)$/.exec(location.hash);
		if (at) this.go(Number(at[1]));
	}

	async go(index) {
		await this.model.need(index - 20, index + 20);
		this.context.open.set(index, true);
		this.rows.update(index);
		const node = this.rows.show(index, true);
		node?.classList.add("flash");
		this.timeline.choose(index);
		if (location.hash !== "#e=" + index) history.replaceState(null, "", "#e=" + index);
	}

	// take takes in a message of the stream: pieces of an answer are shown at once, the rest says
	// that the view has changed.
	take(m) {
		if (m.type === "stream_event") {
			if (!m.parent_tool_use_id) this.model.live.take(m.event || {});
			return this.model.change();
		}
		if (m.type === "tool_progress" && m.state) return this.runs(m);
		if (m.subtype === "question_answered") this.questions.get(m.question_id)?.settle(m.by ? `Answered by ${m.by}: ${m.behavior}.` : "The question was withdrawn.");
		if (m.subtype === "informational") this.warn(m.content);
		if (m.subtype === "api_retry") this.tell(`The model did not answer (${m.error_status || m.error}). Attempt ${m.attempt} of ${m.max_retries} follows in ${Math.ceil(m.retry_delay_ms / 1000)} s.`);
		if (m.subtype === "model_fallback") this.tell("The session continues with another model.");
		if (m.type === "result" && m.is_error) this.warn(m.result || m.errors?.join("; ") || "The turn failed.", true);
		if (m.type === "conversation_reset") location.assign(addressOf(m.new_conversation_id));
		if (m.subtype === "background_tasks_changed") this.tasks = m.tasks || [];
		this.model.change();
	}

	// runs shows how far a call is, until it has its result.
	runs(m) {
		const node = this.calls.get(m.tool_use_id) || el("p.meta.running");
		this.calls.set(m.tool_use_id, node);
		if (callStates[m.state]) {
			const took = m.elapsed_time_seconds >= 1 ? ", " + duration(m.elapsed_time_seconds * 1000) : "", doing = progressLine(m.progress);
			say(node, `${toolTitle(m.tool_name)} ${callStates[m.state]}${took}${doing && ": " + doing}`);
			return this.tail.append(node);
		}
		node.remove();
		this.calls.delete(m.tool_use_id);
	}

	// became takes in how the session is.
	became(row) {
		this.session = row;
		if (row.state !== "working") this.model.live.clear();
		if (row.state !== "working" && row.state !== "asks") for (const id of this.calls.keys()) this.runs({ tool_use_id: id });
		this.model.change();
	}

	// asked takes in the questions that are open: new ones get a card, the others are settled.
	asked(list) {
		const open = new Set(list.map((q) => q.id));
		for (const [id, q] of this.questions) if (!open.has(id)) setTimeout(() => q.settle("The question is no longer open."), 500); // who settled it may be on its way
		for (const question of list) {
			const old = this.questions.get(question.id);
			if (old && !old.settled && old.digest === question.digest) continue;
			old?.node.remove();
			const q = new Question(question, (answer) => this.source.post("answers", answer));
			this.questions.set(question.id, q);
			this.asks.append(q.node);
			// A user who types is not interrupted: what they type must not answer.
			if (!typing(document.activeElement) && (!this.source.question || this.source.question === q.id)) q.node.focus();
		}
		this.source.question = ""; // the first list has it, if it is open; later questions are looked at as they come
		this.summary();
	}

	row(index) {
		const item = this.model.items[index];
		if (!item) return emptyView();
		const node = itemView(itemAt(item, this.time), this.context);
		const before = this.model.items[index - 1];
		if (item.lane && before?.lane === item.lane) node.classList.add("follows");
		if (item.left && !before?.left) node.prepend(el("p.divider", "The conversation was taken back to before this point. The model no longer sees what is marked with a dashed line."));
		if (this.source.live && item.kind === "prompt" && !item.lane) {
			node.append(el("span.rewind.full-only", button("Rewind", "small", () => this.rewind(item), { title: "Undo the file changes made since" }), button("Fork", "small", () => this.fork(item), { title: "Continue from here in a new session" })));
		}
		return node;
	}

	// rewind shows what would be undone before it does so.
	rewind(item) {
		this.act(this.source.post("rewind", { to: item.id, dry_run: true }), (plan) => {
			const files = plan.files || [];
			const list = el("ul", files.map((f) => el("li", `${f.path} +${f.insertions} −${f.deletions}${f.foreign ? " (another program has changed it since)" : ""}`)));
			dialog("Undo file changes", [el("p", files.length ? "These files go back to how they were before the prompt. The conversation stays as it is." : "No file has changed since."), list, plan.uncovered && note(plan.uncovered)],
				files.length > 0 && "Rewind files", () => this.act(this.source.post("rewind", { to: item.id }), () => this.tell("The files were rewound.")));
		}, "Could not rewind: ");
	}

	fork(item) { this.act(this.source.post("fork", { at: item.id }), (made) => location.assign(addressOf(made.id)), "Could not fork: "); }

	// changes shows what the whole session changed in files.
	changes() {
		if (this.source.live) this.act(this.source.get("diff"), (change) => dialog("Changes of this session", changeView(change, this.context.cwd)).classList.add("large"), "Could not show the changes: ");
	}

	// past shows the session as it was.
	past(n, time) {
		this.shown = n;
		this.time = time;
		this.rows.follow = true;
		this.rows.setTotal(n || this.model.count);
		this.rows.updateAll();
		this.side.classList.toggle("past", n > 0);
		this.timeline.at(time);
	}

	changed(list) {
		if (!this.shown && this.rows.total !== this.model.count) this.rows.setTotal(this.model.count);
		for (const i of list) this.rows.update(i);
		this.arriving();
		this.summary();
		this.rows.draw();
	}

	// arriving shows the answer that is still being written.
	arriving() {
		const blocks = this.shown || this.session.state !== "working" ? new Map() : this.model.live.blocks;
		for (const [index, s] of this.streams) {
			if (blocks.get(index) === s.block) continue;
			s.node.remove();
			this.streams.delete(index);
		}
		for (const [index, b] of blocks) {
			let s = this.streams.get(index);
			if (!s) {
				const body = el("div.body");
				const node = el("div.item.arriving.i-" + b.kind, el("p.who", { call: "Calling " + (b.name || "a tool"), thinking: "Thinking" }[b.kind] || "Model"), b.cut && note("You joined while this was being written. The beginning appears when it is complete."), body);
				this.streams.set(index, (s = { node, block: b, stream: new Stream(body), length: 0 }));
				this.tail.append(node);
			}
			if (b.kind !== "call" && b.text.length > s.length) s.stream.append(b.text.slice(s.length));
			s.length = b.text.length;
		}
	}

	summary() {
		const i = this.model.info, open = [...this.questions.values()].filter((q) => !q.settled).length;
		const is = open > 0 ? "asks" : this.session.state || (i.failed ? "failed" : "done");
		const state = this.node.classList.contains("offline") ? "offline" : is, busy = is === "working" || is === "asks";
		const title = visible(line(i.title || this.session.title || this.session.prompt || i.last || "Session", 120));
		say(this.title, title);
		say(this.state, states[state]);
		this.state.className = "chip s-" + state;
		document.title = ({ asks: "❓ ", working: "● " }[is] || "") + title + " · haft";
		const used = `${tokens(i.usage?.input + i.usage?.cache_read + i.usage?.cache_write)} tokens in, ${tokens(i.usage?.output)} out`;
		this.facts.replaceChildren(el("span", { title: this.session.cwd }, folder(this.session.cwd)), el("span", i.model || ""), el("span", money(i.cost, i.unpriced)), el("span", used));
		if (this.stop) this.stop.hidden = !busy;
		if (this.input) this.input.placeholder = { failed: "Write a prompt to try again", stopped: "Write a prompt to continue" }[is] || "Write a prompt";
		this.showMode(i.mode || "default");
		this.showSide(i);
	}

	showMode(mode) {
		if (!this.mode || this.mode.dataset.mode === mode || this.mode.contains(document.activeElement)) return;
		this.mode.dataset.mode = mode;
		const select = choice("Permission mode", { [mode]: modes[mode] || mode, ...modes }, mode, () => this.act(this.source.patch({ mode: select.value }), "Mode: " + modes[select.value]));
		this.mode.replaceChildren(select);
	}

	// showSide shows what there is beside the conversation.
	showSide(i) {
		const sign = JSON.stringify([i.todos, this.tasks, this.model.turns.length, i.cost, i.usage, this.model.count]);
		if (sign === this.sideSign) return;
		this.sideSign = sign;
		const go = (n) => this.go(n), part = (title, ...content) => (content[0] ? [el("h2", title), content] : []);
		this.side.replaceChildren(...[
			button("Close", "small only-narrow", () => (this.toggleSide(), this.details.focus())),
			part("To-dos", todoList(i.todos)),
			part("In the background", taskList(this.tasks, (id) => this.act(this.source.post(`tasks/${encodeURIComponent(id)}/stop`), "Stopped."))),
			part("Changed files", changedFiles(this.model, this.context.cwd, go), this.source.live && button("Show all changes", "small", () => this.changes(), { title: "What the session changed in files (d)" })),
			part("Turns", ...plots(this.model, go)),
		].flat(3).filter(Boolean));
	}

	key(e) {
		const here = indexOf(document.activeElement), at = here < 0 ? this.model.count : here;
		shortcut(e, {
			j: () => this.rows.show(at + 1, true), k: () => this.rows.show(at - 1, true), G: () => ((this.rows.follow = true), this.rows.draw()), g: () => this.rows.show(0, true),
			"/": () => this.input?.focus(), t: () => this.timeline.svg.focus(), r: () => this.replay.toggleOpen(), d: () => this.changes(),
			q: () => [...this.questions.values()].find((q) => !q.settled)?.node.focus(), Escape: () => (this.node.classList.contains("with-side") ? this.toggleSide() : this.stop?.hidden === false && this.stop.click()),
		});
	}
}
