// Time as the timeline shows it: the turns one after the other, without the hours between
// them.

export class Axis {
	spans = [];

	constructor(turns, now) {
		const active = turns.reduce((sum, t) => sum + Math.max(0, t.end - t.start), 0);
		const gap = 200 + active * 0.02;
		let at = 0;
		turns.forEach((t, n) => {
			const last = this.spans[n - 1];
			const start = Math.max(t.start, last ? last.end : 0);
			if (last) at += Math.min(gap, start - last.end);
			const end = Math.max(start, t.end, n === turns.length - 1 && now ? now : 0);
			this.spans.push({ start, end, at });
			at += Math.max(end - start, 50);
		});
		this.total = Math.max(at, 1);
	}

	// to is where a time is on the axis.
	to(time) {
		const s = this.spans[this.last("start", time)];
		return s ? s.at + Math.max(0, Math.min(time, s.end) - s.start) : 0;
	}

	// last is the last turn that begins before a time (start) or a place (at).
	last(key, value) {
		let low = 0, high = this.spans.length - 1;
		while (low < high) {
			const mid = (low + high + 1) >> 1;
			if (this.spans[mid][key] <= value) low = mid;
			else high = mid - 1;
		}
		return low;
	}
}

// rowsOf gives each call a row of its lane, so that calls that ran at once are below each
// other.
export function rowsOf(calls, end) {
	const ends = [];
	for (const c of calls) {
		let row = ends.findIndex((e) => e <= c.item.at);
		if (row < 0) row = ends.length;
		ends[row] = end(c.item);
		c.row = row;
	}
	return ends.length;
}
