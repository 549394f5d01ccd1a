// Pairing a phone: a code to scan, and the devices that are paired.
import { el, button, note, dialog, say } from "./dom.js";
import { request } from "./source.js";
import { ago } from "./words.js";

// pairPhone shows a code that can be used once within a minute.
export async function pairPhone() {
	const code = el("div.pairing", { "aria-live": "polite" }), left = note(), paired = el("ul.devices");
	const full = el("input", { type: "checkbox", on: { change: () => make() } });
	let timer;
	const make = async () => {
		clearInterval(timer);
		try {
			const p = await request("POST", "/pairings", { full: full.checked });
			code.replaceChildren(el("img.qr", { src: "data:image/svg+xml," + encodeURIComponent(p.svg), alt: "QR code of " + p.url }), el("p", "Scan it with the phone's camera, or open ", el("b", p.url), " there."));
			const tick = () => {
				const s = Math.ceil((p.expires - Date.now()) / 1000);
				say(left, s > 0 ? `It can be used once, in the next ${s} seconds.` : "The code is no longer valid.");
				if (s <= 0) code.replaceChildren(button("Create another code", "", make));
				list();
			};
			tick();
			timer = setInterval(tick, 1000);
		} catch (err) {
			code.replaceChildren(el("p", err.message));
		}
	};
	const list = async () => {
		const { devices } = await request("GET", "/devices").catch(() => ({ devices: [] }));
		const sign = JSON.stringify(devices);
		if (paired.dataset.sign === sign) return;
		paired.dataset.sign = sign;
		paired.replaceChildren(...devices.map((d) => el("li", el("b", d.name), el("span.meta", ` ${d.full ? "can do everything" : "can watch and answer"}, paired ${ago(d.created)} `),
			button("Revoke", "small deny", () => request("DELETE", "/devices/" + d.id).then(list), { label: "Revoke " + d.name }))));
	};
	const node = dialog("Pair a phone", [code, left, el("label.option", full, " Also let it send prompts and change sessions"), paired]);
	node.addEventListener("close", () => clearInterval(timer));
	await list();
	make();
}
