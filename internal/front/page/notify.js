// Notifications of the system while the page is open and not looked at.
import { button } from "./dom.js";

const can = () => "Notification" in globalThis;

// notifyButton asks whether notifications may be shown; it is gone where that is decided.
export function notifyButton() {
	if (!can() || Notification.permission !== "default") return null;
	const ask = button("Notify me", "", async () => {
		await Notification.requestPermission();
		ask.remove();
	}, { title: "Show a notification when a session needs you or is done" });
	return ask;
}

// notifyOf says that a session needs its user, or is done. A click goes to it.
export function notifyOf(session, state, title) {
	const says = { asks: "needs you", done: "is done", failed: "has failed" }[state];
	if (!says || !can() || Notification.permission !== "granted" || !document.hidden) return;
	try {
		const n = new Notification(title, { body: "The session " + says + ".", tag: session, icon: "/icon.svg" });
		n.onclick = () => {
			focus();
			n.close();
		};
	} catch {} // some browsers on phones show them only by a service worker
}
