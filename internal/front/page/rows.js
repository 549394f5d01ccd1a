// A list of which only what is on the screen is in the document. Heights are guessed until a
// row was seen.
import { el } from "./dom.js";

const chunk = 256; // rows whose heights are added up at once
const margin = 600; // pixels above and below the screen

export class Rows {
	// render(index) makes a row; need(from, to) is told what will be looked at.
	constructor(box, { render, need, label, guess = 56 }) {
		Object.assign(this, { box, render, need, guess, total: 0, heights: [], sums: [], mounted: new Map(), follow: true });
		this.top = el("div", { "aria-hidden": "true" });
		this.feed = el("div.feed", { role: "feed", label, "aria-busy": "false" });
		this.bottom = el("div", { "aria-hidden": "true" });
		box.append(this.top, this.feed, this.bottom);
		this.sizes = new ResizeObserver((list) => this.measured(list));
		box.addEventListener("scroll", () => {
			if (this.jumping) this.jumping = false;
			else this.follow = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
			this.draw();
		}, { passive: true });
		new ResizeObserver(() => this.draw()).observe(box);
	}

	height(i) { return this.heights[i] || this.guess; }

	sum(c) {
		if (this.sums[c] === undefined) {
			let s = 0;
			for (let i = c * chunk; i < Math.min((c + 1) * chunk, this.total); i++) s += this.height(i);
			this.sums[c] = s;
		}
		return this.sums[c];
	}

	// offset is where a row begins.
	offset(index) {
		let y = 0;
		const c = Math.floor(index / chunk);
		for (let k = 0; k < c; k++) y += this.sum(k);
		for (let i = c * chunk; i < index; i++) y += this.height(i);
		return y;
	}

	// find is the row at a height.
	find(y) {
		let c = 0;
		while ((c + 1) * chunk < this.total && y >= this.sum(c)) y -= this.sum(c++);
		let i = c * chunk;
		while (i < this.total - 1 && y >= this.height(i)) y -= this.height(i++);
		return i;
	}

	setTotal(n) {
		const end = Math.min(n, this.total);
		this.sums.length = Math.floor(end / chunk);
		this.total = n;
		for (const [i, node] of this.mounted) if (i >= n) this.unmount(i, node);
		this.draw();
	}

	// update makes a row again, if it is in the document.
	update(index) {
		const old = this.mounted.get(index);
		if (!old) return;
		const node = this.make(index);
		const focused = old.contains(document.activeElement);
		old.replaceWith(node);
		this.sizes.unobserve(old);
		this.mounted.set(index, node);
		this.sizes.observe(node);
		if (focused) node.focus({ preventScroll: true });
	}

	// updateAll makes every row again.
	updateAll() { for (const i of [...this.mounted.keys()]) this.update(i); }

	make(index) {
		const node = this.render(index);
		node.dataset.index = index;
		node.setAttribute("aria-posinset", index + 1);
		// The list grows.
		node.setAttribute("aria-setsize", -1);
		return node;
	}

	unmount(i, node) {
		this.sizes.unobserve(node);
		node.remove();
		this.mounted.delete(i);
	}

	draw() {
		if (this.drawing) return;
		this.drawing = true;
		if (!this.mounted.size) this.space(this.total, this.total); // the end can be gone to before it is drawn
		if (this.follow) this.toEnd();
		for (let round = 0; round < 3; round++) if (!this.lay()) break;
		this.drawing = false;
	}

	// lay mounts the rows around the screen and reports whether their heights were others than
	// guessed.
	lay() {
		const y = this.box.scrollTop, h = this.box.clientHeight || 600;
		const first = this.total ? this.find(Math.max(0, y - margin)) : 0;
		const last = this.total ? this.find(y + h + margin) + 1 : 0;
		this.need?.(first, last);
		for (const [i, node] of this.mounted) if ((i < first || i >= last) && !node.contains(document.activeElement)) this.unmount(i, node);
		let before = null;
		const fresh = [];
		for (let i = last - 1; i >= first; i--) {
			let node = this.mounted.get(i);
			if (!node) {
				node = this.make(i);
				this.mounted.set(i, node);
				fresh.push([i, node]);
				this.feed.insertBefore(node, before);
			}
			before = node;
		}
		this.space(first, last);
		let moved = false;
		for (const [i, node] of fresh) {
			moved = this.note(i, node.offsetHeight) || moved;
			this.sizes.observe(node);
		}
		if (moved) {
			this.space(first, last);
			if (this.follow) this.toEnd();
		}
		return moved;
	}

	// space stands for the rows that are not mounted.
	space(first, last) {
		this.top.style.height = this.offset(first) + "px";
		this.bottom.style.height = Math.max(0, this.offset(this.total) - this.offset(last)) + "px";
	}

	// note keeps the height of a row. What is above the screen must not move what is on it.
	note(i, height) {
		const was = this.height(i);
		if (!height || Math.abs(was - height) < 0.5) return false;
		const above = !this.follow && this.offset(i) + was <= this.box.scrollTop;
		this.heights[i] = height;
		this.sums[Math.floor(i / chunk)] = undefined;
		if (above) {
			this.jumping = true;
			this.box.scrollTop += height - was;
		}
		return true;
	}

	measured(list) {
		let moved = false;
		for (const e of list) {
			const i = Number(e.target.dataset.index);
			if (this.mounted.get(i) === e.target) moved = this.note(i, e.target.offsetHeight) || moved;
		}
		if (moved) this.draw();
	}

	toEnd() {
		const end = this.box.scrollHeight - this.box.clientHeight;
		if (Math.abs(end - this.box.scrollTop) > 1) {
			this.jumping = true;
			this.box.scrollTop = end;
		}
	}

	// show brings a row onto the screen.
	show(index, focus) {
		this.follow = false;
		index = Math.max(0, Math.min(index, this.total - 1));
		for (let round = 0; round < 4; round++) {
			this.jumping = true;
			this.box.scrollTop = Math.max(0, this.offset(index) - 48);
			this.lay();
		}
		const node = this.mounted.get(index);
		if (focus) node?.focus({ preventScroll: true });
		return node;
	}
}
