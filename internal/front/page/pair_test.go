//go:build unix

package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/test/needtest"
)

// A phone is paired by the QR code that the page shows, as another program reads it from the
// screen: it watches and answers, is offered nothing else, and is shut out when it is revoked.
func TestPairAPhone(t *testing.T) {
	s := newSite(t, scenes)
	p := s.login(1280, 900)
	id := s.create(p, "approve me")
	p.open(s.url + "/")
	p.wait(`document.querySelector(".sessions")?.dataset.ready`)
	p.eval(`[...document.querySelectorAll("header button")].find((b) => b.textContent === "Pair a phone").click()`, nil)
	p.wait(`document.querySelector("dialog .qr")?.naturalWidth && document.querySelector("dialog").textContent.includes("seconds")`)
	address := p.text("dialog .pairing b")
	if !strings.HasPrefix(address, "http://"+s.phone+"/#pair=") {
		t.Fatalf("the address is %q", address)
	}
	if os.Getenv("HAFT_PEERS") != "" {
		if read := scanned(t, p); read != address {
			t.Errorf("the QR code is read as %q, want %q", read, address)
		}
	}

	phone := s.browser.tab(390, 844)
	phone.open(address)
	phone.wait(`document.querySelector(".sessions")?.dataset.ready && location.hash === "" && document.querySelector(".entry")`)
	phone.wait(`[...document.querySelectorAll(".full-only")].every((e) => !e.offsetParent) && document.querySelectorAll(".full-only").length > 2`)
	p.wait(`document.querySelector("dialog .devices li")?.textContent.includes("can watch and answer")`)
	phone.open("http://" + s.phone + "/s/" + id)
	phone.wait(armed)
	phone.wait(`!document.querySelector("footer").offsetParent && !document.querySelector("header select").offsetParent`)
	phone.click(".question button.allow")
	said(phone, "written")
	if _, err := os.Stat(filepath.Join(s.dir, "approved.txt")); err != nil {
		t.Error(err)
	}

	p.click("dialog .devices button")
	p.wait(`!document.querySelector("dialog .devices li")`)
	phone.wait(`document.querySelector("header .chip").textContent === "offline"`)
	phone.open("http://" + s.phone + "/")
	phone.wait(`document.querySelector(".problem")?.textContent.includes("not logged in")`)
	var list serve.DeviceList
	if s.get("/devices", &list); len(list.Devices) != 0 {
		t.Errorf("the devices are %+v", list)
	}
	p.clean()
	for _, fault := range phone.faults() {
		if !strings.Contains(fault, "Cross-Origin-Opener-Policy header has been ignored") { // the test has no certificate
			t.Error(fault)
		}
	}
}

// scanned is what jsQR reads from the picture that the page shows.
func scanned(t *testing.T, p *tab) (text string) {
	t.Helper()
	decoder, err := os.ReadFile(filepath.Join(needtest.NPM(t, "jsqr@1.4.0"), "node_modules", "jsqr", "dist", "jsQR.js"))
	if err != nil {
		t.Fatal(err)
	}
	p.eval(string(decoder)+"\n;0", nil)
	p.eval(`(async () => {
		const img = document.querySelector("dialog .qr"), c = document.createElement("canvas"), size = 400;
		c.width = c.height = size;
		c.getContext("2d").drawImage(img, 0, 0, size, size);
		return jsQR(c.getContext("2d").getImageData(0, 0, size, size).data, size, size)?.data ?? "nothing";
	})()`, &text)
	return text
}
