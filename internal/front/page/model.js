// What the page knows of a session: the view that package timeline folds from the journal.
// Items are loaded in windows, so that a long session costs what is looked at; what changes
// is fetched when the stream says that something did. The page folds nothing itself.

import { words } from "./words.js";

const windowSize = 200;

// kinds of items, by what the model's stream calls them.
const kinds = words({ tool_use: "call" });

export class Model {
	// view is the JSON of a timeline; load(from, n) brings items that it leaves out.
	constructor(view, load) {
		Object.assign(this, { load, items: [], turns: [], loading: new Map(), open: new Map(), live: new Live(), changed: new Set(), told: [] });
		this.merge(view);
		this.live.ahead = []; // what was there is no answer that arrives
		this.changed.clear(); // nor is it news
	}

	// merge takes in a view: all of it, or what changed since another one.
	merge(view) {
		this.info = view.summary;
		this.revision = view.revision;
		this.position = view.position;
		this.lanes = view.summary.lanes || [];
		this.count = view.total;
		for (const t of view.turns || []) this.turns[t.index] = t;
		this.put(view.items || [], true);
		this.change();
	}

	put(list, fresh) {
		for (const i of list) {
			const was = this.items[i.index];
			this.items[i.index] = i;
			this.changed.add(i.index);
			if (i.call && !i.call.ended) this.open.set(i.index, i);
			else this.open.delete(i.index);
			if (fresh && !was && !i.lane && (i.kind === "text" || i.kind === "thinking" || i.kind === "call")) this.live.finished(i);
		}
	}

	// need loads the items of a range that are not here yet.
	async need(from, to) {
		const waits = [];
		for (let w = Math.floor(Math.max(0, from) / windowSize); w * windowSize < Math.min(to, this.count); w++) {
			const start = w * windowSize, end = Math.min(start + windowSize, this.count);
			let missing = false;
			for (let i = Math.max(start, from); i < Math.min(end, to) && !missing; i++) missing = !this.items[i];
			if (!missing) continue;
			if (!this.loading.has(w)) {
				this.loading.set(w, this.load(start, windowSize).then((list) => {
					this.put(list.filter((i) => !this.items[i.index])); // what came since is newer
					this.change();
				}).finally(() => this.loading.delete(w)));
			}
			waits.push(this.loading.get(w));
		}
		await Promise.all(waits);
	}

	// listen calls f with the indexes that changed, once per frame.
	listen(f) { this.told.push(f); }

	change() {
		if (this.waiting) return;
		this.waiting = true;
		const tell = () => {
			if (!this.waiting) return;
			this.waiting = false;
			const list = this.changed;
			this.changed = new Set();
			for (const f of this.told) f(list);
		};
		requestAnimationFrame(tell);
		setTimeout(tell, 200); // a tab in the background has no frames
	}
}

// Live is the answer that is still arriving. The journal's block takes its place when it is
// whole; either may come first.
const staleTime = 2000; // milliseconds that a stream may be behind the journal

class Live {
	constructor() { this.clear(); }

	clear() {
		this.blocks = new Map(); // by its place in the answer: {kind, text}
		this.done = new Set();
		this.ahead ||= []; // {kind, at}: blocks that the journal had before the stream
	}

	// end forgets all: a turn has ended, and nothing of it is on its way.
	end() {
		this.clear();
		this.ahead = [];
	}

	// take takes in the beginning of an answer, or of a block of it.
	take(event) {
		if (event.type === "message_start") return this.clear();
		if (event.type === "content_block_start") {
			const b = event.content_block || {}, kind = kinds[b.type] || b.type;
			const n = this.ahead.findIndex((a) => a.kind === kind && Date.now() - a.at < staleTime);
			if (n >= 0) {
				this.ahead.splice(0, n + 1);
				this.done.add(event.index);
			} else this.blocks.set(event.index, { kind, text: b.text || b.thinking || "", name: b.name });
		}
	}

	// add takes in a piece of a text that arrives.
	add(index, kind, text) {
		if (this.done.has(index)) return;
		let b = this.blocks.get(index);
		if (!b) this.blocks.set(index, (b = { kind, text: "", cut: true }));
		b.text += text;
	}

	// finished says that the journal has an item of the answer.
	finished(item) {
		for (const [index, b] of this.blocks) {
			if (b.kind !== item.kind) continue;
			this.blocks.delete(index);
			this.done.add(index);
			return;
		}
		this.ahead = [...this.ahead.slice(-9), { kind: item.kind, at: Date.now() }];
	}
}

// itemAt is an item as it was at a time of the past, for replays.
export function itemAt(item, time) {
	const c = item.call;
	if (!c || !time) return item;
	const was = (t) => t && t <= time;
	if (was(c.ended)) return item;
	const past = { tool: c.tool, state: "queued", question: c.question };
	if (was(c.asked)) Object.assign(past, { asked: c.asked, state: "asked", reason: c.reason });
	if (was(c.answered)) Object.assign(past, { answered: c.answered, by: c.by, state: "queued" });
	if (was(c.judged)) Object.assign(past, { judged: c.judged, verdict: c.verdict, reason: c.reason, confinement: c.confinement, state: "queued" });
	if (was(c.started)) Object.assign(past, { started: c.started, effect: c.effect, state: "running" });
	return { ...item, call: past };
}
