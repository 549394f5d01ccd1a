// Replay: the session again, from any event, at any speed. Nothing is repeated but the
// picture.
import { el, button, choice } from "./dom.js";
import { clock } from "./words.js";

const longestWait = 1500; // milliseconds of the viewer's time that a pause is shown

export class Replay {
	// show(count, time) shows the first items as they were at a time; 0 and 0 is the present.
	constructor(model, show) {
		Object.assign(this, { model, show, at: 0, playing: false });
		this.slider = el("input", { type: "range", min: 0, max: 0, value: 0, label: "Event", on: { input: () => this.seek(Number(this.slider.value)) } });
		this.speed = choice("Speed", { 1: "1×", 4: "4×", 16: "16×", 64: "64×", 256: "256×" }, 4);
		this.play = button("▶", "small", () => this.toggle(), { label: "Play" });
		this.label = el("output.range");
		this.node = el("div.replay", { role: "group", label: "Replay", hidden: true }, this.play, this.slider, this.speed, this.label, button("To the end", "small", () => this.close()));
	}

	open() {
		this.node.hidden = false;
		this.slider.max = this.model.count;
		this.seek(this.at || 1);
		this.play.focus();
	}

	close() {
		this.stop();
		this.at = 0;
		this.node.hidden = true;
		this.show(0, 0);
	}

	toggleOpen() { this.active ? this.close() : this.open(); }

	get active() { return !this.node.hidden; }

	// moment is when the items up to the shown one had happened.
	async moment(n) {
		await this.model.need(n - 1, n + 1);
		const next = this.model.items[n], item = this.model.items[n - 1];
		return Math.max(item?.at || 0, next ? next.at - 1 : item?.call?.ended || item?.at || 0);
	}

	async seek(n) {
		this.at = Math.max(1, Math.min(n, this.model.count));
		const at = this.at, time = await this.moment(at);
		if (!this.active || at !== this.at) return;
		this.slider.value = at;
		this.slider.max = this.model.count;
		this.label.textContent = `${at} of ${this.model.count} · ${clock(time)}`;
		this.show(at, time);
		return time;
	}

	toggle() {
		if (this.playing) return this.stop();
		this.setPlaying(true);
		if (this.at >= this.model.count) this.at = 0;
		this.run();
	}

	stop() {
		clearTimeout(this.timer);
		this.setPlaying(false);
	}

	setPlaying(on) {
		this.playing = on;
		this.play.textContent = on ? "❚❚" : "▶";
		this.play.setAttribute("aria-label", on ? "Pause" : "Play");
	}

	async run() {
		const before = await this.seek(this.at + 1);
		if (!this.playing) return;
		if (this.at >= this.model.count) return this.stop();
		const after = await this.moment(this.at + 1);
		this.timer = setTimeout(() => this.playing && this.run(), Math.max(8, Math.min(longestWait, (after - before) / Number(this.speed.value))));
	}
}
