// The timeline: a lane per agent, a bar per call (queued, asked, running, result), drawn as
// SVG by attributes.
import { el, svg, button, note, indexOf, announce, shortcut } from "./dom.js";
import { duration, tokens, money, clock, count, toolTitle } from "./words.js";
import { itemAt } from "./model.js";
import { Axis, rowsOf } from "./axis.js";
import { callTitle, factList } from "./item.js";

const rowHeight = 18, barHeight = 12, laneHead = 20, axisHeight = 18;
const mostBars = 2500; // beyond that, turns are drawn as a whole

export class Timeline {
	// open(index) is called with an item that was chosen.
	constructor(model, { open, cwd }) {
		Object.assign(this, { model, open, cwd, from: 0, to: 0, follow: true, time: 0, chosen: -1, bars: [] });
		this.tip = el("div.tip", { role: "tooltip", hidden: true });
		this.svg = svg("svg.bars", {
			role: "img", tabindex: 0,
			on: { keydown: (e) => this.key(e), wheel: (e) => this.wheel(e), pointerdown: (e) => Object.assign(this, { drag: { x: e.clientX, from: this.from, span: this.to - this.from }, dragged: false }), pointermove: (e) => this.hover(e), pointerleave: () => this.hide(), click: (e) => this.click(e), blur: () => this.hide() },
		});
		const tool = (label, name, f) => button(label, "small", f, { title: name, label: name });
		this.bar = el("div.tools",
			el("span.legend", { "aria-hidden": "true" }, ["queued", "asked", "running", "done", "failed", "denied"].map((s) => el("span.key.k-" + s, s))),
			el("span.push"), (this.range = el("span.range")),
			tool("−", "Zoom out", () => this.zoom(1.6)), tool("+", "Zoom in", () => this.zoom(1 / 1.6)), tool("Fit", "Show all", () => this.fit()), tool("Next failure", "Next failure", () => this.failure()));
		this.scroll = el("div.lanes", this.svg);
		this.node = el("section.timeline", { label: "Timeline" }, this.bar, this.scroll, this.tip);
		new ResizeObserver(() => this.later()).observe(this.scroll);
		model.listen(() => this.later());
	}

	later() {
		if (this.queued) return;
		this.queued = true;
		requestAnimationFrame(() => {
			this.queued = false;
			this.draw();
		});
	}

	// at shows the session as it was at a time; 0 is now.
	at(time) {
		this.time = time;
		this.later();
	}

	fit() {
		this.from = 0;
		this.to = this.axis.total;
		this.follow = true;
		this.later();
	}

	// shown sets the range on the axis; at first it is the last turns, as many as fit.
	shown() {
		const now = this.model.info.working && !this.time && this.model.open.size ? Date.now() : 0;
		this.axis = new Axis(this.model.turns, now);
		const total = this.axis.total;
		if (!this.to) {
			let n = this.model.turns.length - 1, calls = 0;
			while (n > 0 && (calls += this.model.turns[n].calls) < 60) n--;
			this.from = this.axis.spans[n]?.at || 0;
			this.to = total;
		} else if (this.follow && this.to !== total) {
			const span = this.to - this.from;
			if (this.from > 0) this.from = total - span;
			this.to = total;
		}
	}

	draw() {
		const width = this.scroll.clientWidth;
		if (!width || !this.model.turns.length) return;
		this.shown();
		const { from, to, axis } = this;
		const first = axis.last("at", from), last = axis.last("at", to);
		const turns = this.model.turns;
		const begin = turns[first].item, end = last + 1 < turns.length ? turns[last + 1].item : this.model.count;
		this.x = (place) => ((place - from) / (to - from)) * width;
		const parts = this.axisMarks(first, last, width);
		const dense = end - begin > mostBars * 2;
		if (!dense) this.model.need(begin, end);
		const height = dense ? this.turnBars(parts, first, last) : this.lanes(parts, begin, end, width);
		this.svg.setAttribute("height", height);
		this.svg.setAttribute("aria-label", `Timeline of ${count(turns.length, "turn")} and ${count(this.model.lanes.length, "agent")}. Arrow keys choose a call, Enter opens it, plus and minus zoom.`);
		this.svg.replaceChildren(defs(), ...parts);
		this.range.textContent = first === last ? `turn ${first + 1}` : `turns ${first + 1}–${last + 1}`;
	}

	// axisMarks are the lines where turns begin.
	axisMarks(first, last, width) {
		const out = [];
		let free = -Infinity;
		for (let n = first; n <= last; n++) {
			const x = this.x(this.axis.spans[n].at);
			if (x < -1 || x > width) continue;
			out.push(svg("line.turn", { x1: x, x2: x, y1: 0, y2: 4000 }));
			if (x < free) continue;
			const label = `${n + 1} · ${clock(this.model.turns[n].start)}`;
			out.push(svg("text.when", { x: x + 3, y: 12 }, label));
			free = x + label.length * 6.5 + 8;
		}
		return out;
	}

	// lanes draws the calls one by one.
	lanes(parts, begin, end, width) {
		this.bars = [];
		let y = axisHeight;
		const limit = this.time || Infinity;
		const byLane = new Map(this.model.lanes.map((l) => [l.agent, []]));
		for (let i = begin; i < end; i++) {
			const item = this.model.items[i];
			if (item && item.at <= limit) byLane.get(item.lane || "")?.push(item);
		}
		for (const [agent, items] of byLane) {
			if (!items.length) continue;
			parts.push(svg("text.agent", { x: 4, y: y + 11 }, agent ? "agent " + agent.slice(0, 24) : "main"));
			y += laneHead;
			this.thoughts(parts, items, y - 6);
			const calls = items.filter((i) => i.call).map((item) => ({ item: itemAt(item, this.time) }));
			const rows = rowsOf(calls, (i) => this.endOf(i) + (this.to - this.from) * 0.004);
			for (const c of calls) this.call(parts, c.item, y + c.row * rowHeight, width);
			y += rows * rowHeight + 6;
		}
		this.bars.sort((a, b) => a.index - b.index);
		return Math.max(y + 4, 60);
	}

	endOf(item) { return item.call.ended || this.time || (this.model.info.working ? Date.now() : this.model.turns[item.turn]?.end || item.at); }

	// thoughts draws when the model worked: from what it was told to what it said.
	thoughts(parts, items, y) {
		let told = 0;
		const x = (time) => this.x(this.axis.to(time));
		for (const i of items) {
			if (i.kind === "prompt" || i.kind === "note") told = i.at;
			else if (["text", "thinking", "call", "error"].includes(i.kind)) {
				if (told && i.at > told) parts.push(svg("rect.thought", { x: x(told), y, width: Math.max(1, x(i.at) - x(told)), height: 3 }));
				told = i.call?.ended || told && i.at;
			}
		}
	}

	call(parts, item, y, width) {
		const c = item.call, at = (t) => this.x(this.axis.to(t));
		const end = this.endOf(item);
		const x0 = at(item.at), x1 = at(end);
		if (x1 < -2 || x0 > width + 2) return;
		const g = svg("g.call.s-" + c.state, { class: (c.asked ? "was-asked " : "") + (item.left ? "left " : "") + (item.index === this.chosen ? "chosen" : ""), "data-index": item.index });
		const bar = (from, to, name) => {
			const x = at(from);
			g.append(svg("rect." + name, { x, y, width: Math.max(2, at(to) - x), height: barHeight, rx: 2 }));
		};
		const started = c.started || c.ended || end;
		bar(item.at, c.asked || started, "b-queued");
		if (c.asked) {
			bar(c.asked, c.answered || c.judged || started, "b-asked");
			if (c.answered && started > c.answered) bar(c.answered, started, "b-queued");
		}
		if (c.started) bar(c.started, end, "b-" + (c.state === "queued" ? "running" : c.state));
		else if (c.ended) bar(c.ended, c.ended, "b-" + c.state);
		const label = toolTitle(c.tool) + " " + callTitle(item, this.cwd);
		const room = Math.floor((x1 - x0 - 6) / 6.3);
		if (room > 4) g.append(svg("text.label", { x: Math.max(x0, 0) + 4, y: y + barHeight - 2.5 }, label.slice(0, room)));
		g.append(svg("rect.target", { x: x0 - 2, y: y - 2, width: Math.max(8, x1 - x0 + 4), height: barHeight + 4 }));
		this.bars.push({ index: item.index, x: x0, y });
		parts.push(g);
	}

	// turnBars draws turns as a whole where there is no room for calls.
	turnBars(parts, first, last) {
		this.bars = [];
		const most = Math.max(1, ...this.model.turns.slice(first, last + 1).map((t) => t.calls));
		for (let n = first; n <= last; n++) {
			const t = this.model.turns[n], s = this.axis.spans[n];
			const x = this.x(s.at), h = 6 + (60 * t.calls) / most;
			parts.push(svg(t.failed ? "rect.b-failed" : "rect.b-done", { x, y: axisHeight + 70 - h, width: Math.max(1, this.x(s.at + s.end - s.start) - x - 1), height: h, "data-index": t.item }));
		}
		parts.push(svg("text.agent", { x: 4, y: axisHeight + 14 }, "calls per turn"));
		return axisHeight + 76;
	}

	zoom(factor, place) {
		const width = this.scroll.clientWidth;
		const centre = this.from + ((place ?? width / 2) / width) * (this.to - this.from);
		const span = Math.min(this.axis.total, Math.max(20, (this.to - this.from) * factor));
		this.move(centre - ((centre - this.from) / (this.to - this.from)) * span, span);
	}

	move(from, span) {
		this.from = Math.max(0, Math.min(from, this.axis.total - span));
		this.to = Math.min(this.axis.total, this.from + span);
		this.follow = this.to >= this.axis.total - 1;
		this.later();
	}

	wheel(e) {
		if (e.ctrlKey || e.metaKey) {
			e.preventDefault();
			this.zoom(Math.exp(e.deltaY / 300), e.offsetX);
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			e.preventDefault();
			const span = this.to - this.from;
			this.move(this.from + ((e.deltaX || e.deltaY) / this.scroll.clientWidth) * span, span);
		}
	}

	hover(e) {
		const d = e.buttons && this.drag;
		if (d && (this.dragged ||= Math.abs(e.clientX - d.x) > 4)) {
			this.hide();
			return this.move(d.from - ((e.clientX - d.x) / this.scroll.clientWidth) * d.span, d.span);
		}
		const index = indexOf(e.target);
		if (index < 0) return this.hide();
		this.show(index, e.clientX, e.clientY);
	}

	show(index, x, y) {
		const item = this.model.items[index];
		if (!item?.call) return;
		if (this.tip.dataset.index !== String(index)) this.tip.replaceChildren(callFacts(itemAt(item, this.time), this.model, this.cwd));
		this.tip.dataset.index = index;
		this.tip.hidden = false;
		const box = this.tip.getBoundingClientRect();
		this.tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
		this.tip.style.top = (y + 16 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 16) + "px";
	}

	hide() { this.tip.hidden = true; }

	click(e) {
		const index = indexOf(e.target);
		if (index >= 0 && !this.dragged) this.choose(index, true);
	}

	choose(index, open) {
		this.chosen = index;
		this.later();
		if (open) this.open(index);
	}

	key(e) {
		const at = this.bars.findIndex((b) => b.index === this.chosen);
		const go = (n) => {
			const b = this.bars[Math.max(0, Math.min(n, this.bars.length - 1))];
			if (!b) return;
			this.choose(b.index);
			const item = this.model.items[b.index], box = this.svg.getBoundingClientRect();
			announce(`${item.call.tool} ${callTitle(item, this.cwd)}: ${item.call.state}, ${duration(this.endOf(item) - item.at)}`);
			this.show(b.index, box.left + Math.max(0, b.x), box.top + b.y);
		};
		shortcut(e, {
			ArrowRight: () => go(at + 1), ArrowLeft: () => go(at < 0 ? this.bars.length - 1 : at - 1), Home: () => go(0), End: () => go(this.bars.length),
			Enter: () => this.chosen >= 0 && this.open(this.chosen), "+": () => this.zoom(1 / 1.6), "=": () => this.zoom(1 / 1.6), "-": () => this.zoom(1.6), 0: () => this.fit(), f: () => this.failure(), Escape: () => this.hide(),
		});
	}

	// failure goes to the next failed call behind the chosen one, and begins again at the end.
	async failure() {
		const { turns, items } = this.model;
		for (const from of [this.chosen, -1]) {
			for (const t of turns.filter((t) => t.failed)) {
				const end = turns[t.index + 1]?.item ?? this.model.count;
				if (end <= from) continue;
				await this.model.need(t.item, end);
				const next = items.slice(Math.max(t.item, from + 1), end).find((i) => i?.call?.state === "failed");
				if (next) return this.choose(next.index, true);
			}
		}
		announce("No call failed.");
	}
}

function defs() {
	return svg("defs", svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
		svg("rect.hatch-ground", { width: 6, height: 6 }), svg("rect.hatch-line", { width: 3, height: 6 })));
}

// callFacts says of a call what is under the cursor: verdict, rule, confinement, times, and
// what its turn has used.
function callFacts(item, model, cwd) {
	const turn = model.turns[item.turn];
	return el("div", el("p.name", el("b", item.call.tool), " ", callTitle(item, cwd)), factList(item),
		turn && note(`turn ${item.turn + 1}: ${tokens(turn.usage.output)} tokens out, ${tokens(turn.usage.context)} context, ${money(turn.cost, model.info.unpriced)}`));
}
