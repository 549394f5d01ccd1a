//go:build unix

package page_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
)

// patience is how long a test waits for a sign.
const patience = 30 * time.Second

// A browser is Chromium without a screen, driven over its pipe by the DevTools protocol.
type browser struct {
	t   testing.TB
	out *os.File
	// profile is the folder with all that it keeps, and end ends it.
	profile string
	end     func()

	mu      sync.Mutex
	next    int
	replies map[int]chan reply
	targets map[string]*tab // by session
	ended   error
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// A tab is one page.
type tab struct {
	b       *browser
	session string
	target  string

	mu       sync.Mutex
	problems []string // errors of scripts, and what the content security policy refused
	loaded   chan struct{}
}

// openBrowser starts Chromium; it ends with the test.
func openBrowser(t testing.TB) *browser {
	t.Helper()
	path := needtest.Program(t, "chromium-headless-shell")
	in, toBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromBrowser, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	profile := t.TempDir()
	c := exec.Command(path, "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--force-color-profile=srgb", "--host-resolver-rules=MAP phone.test 127.0.0.1", "--hide-scrollbars", "--user-data-dir="+profile, "about:blank")
	c.ExtraFiles = []*os.File{in, out}
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	b := &browser{t: t, out: toBrowser, profile: profile, replies: map[int]chan reply{}, targets: map[string]*tab{}}
	go b.read(fromBrowser)
	b.end = sync.OnceFunc(func() {
		toBrowser.Close() // it ends when its pipe does
		ended := make(chan struct{})
		go func() { c.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(patience):
			c.Process.Kill()
			<-ended
		}
		fromBrowser.Close()
		if t.Failed() && said.Len() > 0 {
			t.Logf("the browser said: %s", said.String())
		}
	})
	t.Cleanup(b.end)
	return b
}

// read takes what the browser says.
func (b *browser) read(from *os.File) {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		raw, err := in.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.ended = err
			for _, c := range b.replies {
				close(c)
			}
			return
		}
		var m struct {
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
			reply
		}
		if json.Unmarshal(bytes.TrimSuffix(raw, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		waiting, tab := b.replies[m.ID], b.targets[m.SessionID]
		delete(b.replies, m.ID)
		b.mu.Unlock()
		switch {
		case m.Method != "" && tab != nil:
			tab.event(m.Method, m.Params)
		case m.Method == "" && waiting != nil:
			waiting <- m.reply
		}
	}
}

// call sends a command and waits for its reply.
func (b *browser) call(session, method string, params any, into any) error {
	b.mu.Lock()
	if b.ended != nil {
		b.mu.Unlock()
		return fmt.Errorf("%s: the browser ended: %w", method, b.ended)
	}
	b.next++
	id := b.next
	c := make(chan reply, 1)
	b.replies[id] = c
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	raw, err := json.Marshal(m)
	if err == nil {
		_, err = b.out.Write(append(raw, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case r, ok := <-c:
		if !ok {
			return fmt.Errorf("%s: the browser ended", method)
		}
		if r.Error != nil {
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(r.Result, into)
	case <-time.After(2 * patience):
		return fmt.Errorf("%s: no reply", method)
	}
}

// tab opens a page of a size.
func (b *browser) tab(width, height int) *tab {
	b.t.Helper()
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	b.must(b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target))
	b.must(b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	p := &tab{b: b, session: attached.SessionID, target: target.TargetID, loaded: make(chan struct{}, 8)}
	b.mu.Lock()
	b.targets[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.do(domain+".enable", nil)
	}
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	p.do("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}) // two tabs are both looked at
	return p
}

// close closes the page: a browser keeps few connections to a server, and each page has one.
func (p *tab) close() {
	p.b.t.Helper()
	p.b.must(p.b.call("", "Target.closeTarget", map[string]any{"targetId": p.target}, nil))
}

func (b *browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (p *tab) do(method string, params any) {
	p.b.t.Helper()
	p.b.must(p.b.call(p.session, method, params, nil))
}

// event notes what went wrong in the page.
func (p *tab) event(method string, params json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var v struct {
		Entry            struct{ Level, Text, Source, URL string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	_ = json.Unmarshal(params, &v)
	switch {
	case method == "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case method == "Runtime.exceptionThrown":
		p.problems = append(p.problems, v.ExceptionDetails.Text+" "+v.ExceptionDetails.Exception.Description)
	case method == "Log.entryAdded" && v.Entry.Level == "error" && v.Entry.Source != "network":
		p.problems = append(p.problems, v.Entry.Text)
	}
}

// open goes to an address and waits until it is loaded.
func (p *tab) open(address string) {
	p.b.t.Helper()
	for len(p.loaded) > 0 {
		<-p.loaded
	}
	p.do("Page.navigate", map[string]any{"url": address})
	p.waitLoaded()
}

func (p *tab) waitLoaded() {
	p.b.t.Helper()
	select {
	case <-p.loaded:
	case <-time.After(patience):
		p.b.t.Fatal("the page was not loaded")
	}
}

// eval runs a script, which may be a promise, and returns its value.
func (p *tab) eval(script string, into any) {
	p.b.t.Helper()
	p.b.must(p.try(script, into))
}

func (p *tab) try(script string, into any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := p.b.call(p.session, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &r); err != nil {
		return err
	}
	if r.ExceptionDetails != nil {
		return fmt.Errorf("%s: %s %s", script, r.ExceptionDetails.Text, r.ExceptionDetails.Exception.Description)
	}
	if into == nil || len(r.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(r.Result.Value, into)
}

// wait waits until a script is true, which is asked in the page itself; a page that is left
// meanwhile is asked again.
func (p *tab) wait(script string) {
	p.b.t.Helper()
	var ok bool
	for end := time.Now().Add(patience); !ok && time.Now().Before(end); {
		err := p.try(fmt.Sprintf(`new Promise((done) => {
			const end = performance.now() + 5000;
			const look = () => { let v = false; try { v = !!(%s); } catch {} if (v || performance.now() > end) done(v); else setTimeout(look, 10); };
			look();
		})`, script), &ok)
		if err != nil && !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context") {
			p.b.t.Fatal(err)
		}
	}
	if !ok {
		var body string
		p.eval(`document.body.innerText.slice(0, 3000)`, &body)
		p.b.t.Fatalf("waited in vain for %s\nproblems: %q\nthe page shows:\n%s", script, p.faults(), body)
	}
}

func (p *tab) text(selector string) string {
	p.b.t.Helper()
	var out string
	p.eval(fmt.Sprintf(`document.querySelector(%q)?.textContent ?? ""`, selector), &out)
	return out
}

// press presses a key, as a keyboard does.
func (p *tab) press(key string) {
	p.b.t.Helper()
	down := map[string]any{"type": "keyDown", "key": key}
	switch {
	case key == " ":
		down["text"], down["code"], down["windowsVirtualKeyCode"] = " ", "Space", 32
	case len(key) == 1:
		down["text"], down["code"], down["windowsVirtualKeyCode"] = key, "Key"+strings.ToUpper(key), int(strings.ToUpper(key)[0])
	case key == "Enter":
		down["text"], down["code"], down["windowsVirtualKeyCode"] = "\r", "Enter", 13
	case key == "Escape":
		down["code"], down["windowsVirtualKeyCode"] = "Escape", 27
	}
	p.do("Input.dispatchKeyEvent", down)
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

// special presses a key that writes nothing, by its name and code.
func (p *tab) special(key string, code int) {
	p.b.t.Helper()
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code})
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

// write types a text into what has the focus.
func (p *tab) write(text string) {
	p.b.t.Helper()
	p.do("Input.insertText", map[string]any{"text": text})
}

// click clicks the first element of a selector that can be seen.
func (p *tab) click(selector string) {
	p.b.t.Helper()
	p.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.offsetParent && !e.disabled)`, selector))
	p.eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.offsetParent && !e.disabled).click()`, selector), nil)
}

func (p *tab) faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// clean fails the test if a script failed or the content security policy refused something.
func (p *tab) clean() {
	p.b.t.Helper()
	if list := p.faults(); len(list) > 0 {
		p.b.t.Errorf("the page has problems: %q", list)
	}
}

// picture is what the page looks like, as WebP.
func (p *tab) picture() []byte {
	p.b.t.Helper()
	var shot struct{ Data []byte }
	p.b.must(p.b.call(p.session, "Page.captureScreenshot", map[string]any{"format": "webp", "quality": 60}, &shot))
	return shot.Data
}
