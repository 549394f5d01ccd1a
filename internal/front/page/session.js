// The page of one session, live or from a file.
import { el, region, button, note, choice, indexOf, visible, say, announce, typing, shortcut, dialog, lost, connected } from "./dom.js";
import { money, tokens, folder, count, line, toolTitle, duration, progressLine, states, callStates, modes, words } from "./words.js";
import { Model, itemAt } from "./model.js";
import { Rows } from "./rows.js";
import { Timeline } from "./timeline.js";
import { itemView, emptyView } from "./item.js";
import { Stream } from "./markdown.js";
import { plots, todoList, taskList, changedFiles } from "./plots.js";
import { Replay } from "./replay.js";
import { Question } from "./ask.js";
import { review } from "./review.js";
import { Composer } from "./compose.js";
import { find } from "./find.js";
import { notifyOf } from "./notify.js";
import { addressOf } from "./source.js";

// openSession shows the session of a source in the document.
export async function openSession(source) {
	const page = new SessionPage(source, ...(await source.first()));
	document.body.prepend(page.node);
	page.start();
	return page;
}

const mostAnswers = 10; // of commands

// takes are the messages of the wire that show something, by type, or by subtype if they are of the system. The others are in the
// view that the server folds from the journal, or say nothing that is shown; the test of all kinds
// says why.
const takes = words({
	stream_event: (p, m) => p.model.live.take(m.event || {}),
	tool_progress: (p, m) => m.state && p.runs(m),
	question_answered: (p, m) => p.questions.get(m.question_id)?.settle(m.by ? `Answered by ${m.by}: ${m.behavior}.` : "The question was withdrawn."),
	informational: (p, m) => (m.tag?.startsWith("/") ? p.answered(m.tag, m.content) : m.level === "warning" ? p.warn(m.content) : p.tell(m.content)),
	notification: (p, m) => p.tell(m.text),
	status: (p, m) => (m.status === "compacting" ? p.tell("Compacting the conversation…") : m.compact_error && p.warn("Could not compact the conversation: " + m.compact_error)),
	api_retry: (p, m) => p.tell(`The model did not answer (${m.error_status || m.error}). Attempt ${m.attempt} of ${m.max_retries} follows in ${Math.ceil(m.retry_delay_ms / 1000)} s.`),
	model_fallback: (p, m) => p.tell(m.content || "The session continues with another model."),
	hook_response: (p, m) => m.outcome === "error" && p.warn(`The hook ${m.hook_name} failed: ${line(m.stderr || m.output) || "exit code " + m.exit_code}`),
	rate_limit_event: (p, m) => m.rate_limit_info?.status && m.rate_limit_info.status !== "allowed" && p.warn("The account's rate limit: " + m.rate_limit_info.status.replaceAll("_", " ")),
	auth_status: (p, m) => m.error && p.warn("Login: " + m.error),
	prompt_suggestion: (p, m) => p.composer?.suggest(m.suggestion),
	tool_use_summary: (p, m) => p.tell(m.summary),
	task_started: (p, m) => p.task(m.task_id, { description: m.description }),
	task_progress: (p, m) => p.task(m.task_id, { description: m.description, doing: [m.last_tool_name && toolTitle(m.last_tool_name), m.usage && `${count(m.usage.tool_uses, "call")}, ${tokens(m.usage.total_tokens)} tokens`, m.summary].filter(Boolean).join(" · ") }),
	task_updated: (p, m) => p.task(m.task_id, { doing: m.patch?.status || "" }),
	task_notification: (p, m) => p.tell(`In the background, ${m.status}: ${m.summary}`),
	background_tasks_changed: (p, m) => (p.tasks = m.tasks || []),
	command_lifecycle: (p) => p.queued(),
	commands_changed: (p) => p.composer && (p.composer.known = null),
	conversation_reset: (_, m) => location.assign(addressOf(m.new_conversation_id)),
	result: (p, m) => (p.queued(), m.is_error && !m.terminal_reason?.startsWith("aborted_") && p.warn(m.result || m.errors?.join("; ") || "The turn failed.", true)),
});

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
		const work = el("div.work", this.box, this.asks, source.live && this.compose());
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
		this.answering = live && button("", "full-only", () => this.chooseModel(), { title: "Change the model and the effort" });
		this.details = button("Details", "only-narrow", () => this.toggleSide(), { "aria-expanded": "false" });
		return el("header", live && el("a.back", { href: "/", label: "All sessions" }, "‹ Sessions"), el("div.titles", this.title, this.facts), this.state,
			el("div.acts", this.mode, this.answering, this.stop, button("Replay", "", () => this.replay.toggleOpen(), { title: "Replay the session from any event (r)" }), this.details));
	}

	// toggleSide shows or hides the details where there is no room beside the conversation.
	toggleSide() { this.details.setAttribute("aria-expanded", String(this.node.classList.toggle("with-side"))); }

	compose() {
		this.composer = new Composer(this.source, this.session.id, this);
		return this.composer.node;
	}

	// sent says that a prompt was taken.
	sent() {
		this.rows.follow = true;
		this.rows.draw();
		this.queued();
	}

	// queued looks at the prompts that wait, a moment after something may have changed.
	queued() {
		clearTimeout(this.queueTimer);
		this.queueTimer = setTimeout(() => this.composer?.showQueue(this.session.running && this.busy), 150);
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
			piece: (p) => (this.model.live.add(p.i, p.k === undefined ? "text" : "thinking", p.t ?? p.k), this.model.change()),
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

	// take takes in a message of the stream: what the view does not have is shown at once.
	take(m) {
		takes[m.type === "system" ? m.subtype : m.type]?.(this, m);
		this.model.change();
	}

	// answered shows what a command has answered, which is no part of the conversation.
	answered(command, text) {
		this.tail.append(el("article.item.i-command", { tabindex: -1, label: command }, el("h2.who", command), el("div.body", el("pre.out", { tabindex: 0 }, text))));
		for (const old of [...this.tail.querySelectorAll(".i-command")].slice(0, -mostAnswers)) old.remove();
		this.rows.follow = true;
		this.rows.draw();
	}

	// task notes what a task in the background does.
	task(id, now) {
		const t = this.tasks.find((t) => t.task_id === id);
		if (t) this.tasks = this.tasks.map((x) => (x === t ? { ...t, ...now, description: now.description || t.description } : x));
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
		if (this.session.state !== row.state) notifyOf(row.id, row.state, line(row.title || row.prompt || "haft", 80));
		this.session = row;
		this.queued();
		if (row.state !== "working" && row.state !== "asks") this.model.live.end();
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
		if (this.source.live) this.act(this.source.get("diff"), (change) => review(change, this.context.cwd, !document.body.classList.contains("watching") && ((text) => this.act(this.composer.say(text), () => this.sent()))), "Could not show the changes: ");
	}

	search() { if (this.source.live) find(this.session.id, null, (item) => this.go(item)); }

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
		this.facts.replaceChildren(...[el("span", { title: this.session.cwd }, folder(this.session.cwd)), !this.answering && el("span", i.model || ""), el("span", money(i.cost, i.unpriced)), el("span", used)].filter(Boolean));
		if (this.stop) this.stop.hidden = !busy;
		this.busy = busy;
		if (this.composer && !this.composer.suggestion) this.composer.text.placeholder = { failed: "Write a prompt to try again", stopped: "Write a prompt to continue" }[is] || "Write a prompt";
		if (this.answering) say(this.answering, i.model || this.session.model || "Model");
		this.showMode(i.mode || "default");
		this.showSide(i);
	}

	showMode(mode) {
		if (!this.mode || this.mode.dataset.mode === mode || this.mode.contains(document.activeElement)) return;
		this.mode.dataset.mode = mode;
		const select = choice("Permission mode", { [mode]: modes[mode] || mode, ...modes }, mode, () => this.act(this.source.patch({ mode: select.value }), "Mode: " + modes[select.value]));
		this.mode.replaceChildren(select);
	}

	// chooseModel lets the user choose the model and how hard it thinks.
	chooseModel() {
		this.act(this.source.get("input"), (has) => {
			const efforts = el("div"), model = () => has.models.find((m) => m.value === box.querySelector("[name=model]:checked")?.value);
			const now = has.models.find((m) => m.id === has.model && m.value !== "default") || has.models.find((m) => m.id === has.model);
			const other = now ? null : has.model;
			const levels = () => {
				const list = (other && !model() ? null : model()?.efforts) || [];
				efforts.replaceChildren(...(list.length ? [el("label", "Effort ", choice("Effort", { default: "as the provider chooses", ...Object.fromEntries(list.map((e) => [e, e])) }, has.effort || "default", () => {}))] : []));
			};
			const box = dialog("Model", [other && note("Now: " + other), el("fieldset", el("legend", "Model"), has.models.map((m) => el("label.option", el("input", { type: "radio", name: "model", value: m.value, checked: m === now, on: { change: levels } }), " ", el("b", m.name), el("span", " " + [m.value, m.description].join(" · "))))), efforts], "Use", () => {
				const chosen = model(), effort = efforts.querySelector("select")?.value;
				if (chosen || effort) this.act(this.source.patch({ model: chosen && chosen !== now ? chosen.value : undefined, effort }), (row) => (this.became(row), announce("The next request goes to " + (chosen?.name || has.model))), "Could not change the model: ");
			});
			levels();
		}, "Could not list the models: ");
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
			this.source.live && el("div.buttons", button("Search", "small", () => this.search(), { title: "Search in this session (s)" }), button("Export", "small", () => this.act(this.source.save(), "Exported.", "Could not export: "), { title: "Save the session as one HTML file" })),
		].flat(3).filter(Boolean));
	}

	key(e) {
		const here = indexOf(document.activeElement), at = here < 0 ? this.model.count : here;
		shortcut(e, {
			j: () => this.rows.show(at + 1, true), k: () => this.rows.show(at - 1, true), G: () => ((this.rows.follow = true), this.rows.draw()), g: () => this.rows.show(0, true),
			"/": () => this.composer?.focus(), s: () => this.search(), t: () => this.timeline.svg.focus(), r: () => this.replay.toggleOpen(), d: () => this.changes(),
			q: () => [...this.questions.values()].find((q) => !q.settled)?.node.focus(), Escape: () => (this.node.classList.contains("with-side") ? this.toggleSide() : this.stop?.hidden === false && this.stop.click()),
		});
	}
}
