package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/acp"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/test/needtest"
)

// TestACommandIsApprovedByItsDiffs asks about a command that was previewed with one diff
// for each file that it changed, and makes that change when it is allowed.
func TestACommandIsApprovedByItsDiffs(t *testing.T) {
	needtest.Need(t, needtest.Overlay)
	p := newPlayer(t, `{"turns":[{"blocks":[{"tool":"Bash","id":"toolu_1","input":{"command":"sed s/one/ONE/ a.txt > b.txt; echo more >> a.txt; echo done","description":"Change files"}}]},{"blocks":[{"text":"Changed."}]}]}`)
	p.close()
	p.connect(func(o *acp.Options) { o.Harness.Preview = project.PreviewAsk })
	p.write("a.txt", "one\n")
	p.begin(`{}`)
	id := p.request("session/prompt", prompt)
	m := p.readTo("session/request_permission")
	raw, _ := json.Marshal(m["params"])
	if !strings.Contains(string(raw), `"type":"diff"`) {
		t.Fatalf("not previewed: %s", raw)
	}
	for _, want := range []string{`{"newText":"one\nmore\n","oldText":"one\n","path":"` + p.dir + `/a.txt","type":"diff"}`, `{"newText":"ONE\n","oldText":null,"path":"` + p.dir + `/b.txt","type":"diff"}`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
	if p.read("a.txt") != "one\n" {
		t.Error("it was changed before anybody was asked")
	}
	p.choose("allow")
	if got := stopReason(p.readTo("answer " + id)); got != "end_turn" {
		t.Errorf("stop reason %q", got)
	}
	if p.read("a.txt") != "one\nmore\n" || p.read("b.txt") != "ONE\n" {
		t.Errorf("a.txt is %q, b.txt is %q", p.read("a.txt"), p.read("b.txt"))
	}
	p.close()
}
