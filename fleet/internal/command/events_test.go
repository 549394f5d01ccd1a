package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/session"
)

// A stream of events that is cut at any byte and continued after the last whole event shows
// each event once. One line is longer than what a message holds.
func TestEventsAreSeenOnceWhereverTheStreamIsCut(t *testing.T) {
	conn := enginetest.Setup(t)
	logs := journal.New(conn, "default", nil)
	s := sessiontest.Create(t, session.OpenLogs(logs, t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	for range 4 {
		sessiontest.Add(t, s, sessiontest.Prompt("more"))
	}
	sessiontest.Add(t, s, sessiontest.Prompt(strings.Repeat("long ", 120_000)))
	sessiontest.Add(t, s, sessiontest.Prompt("end"))
	sessiontest.Close(t, s)
	print := func(after string) string {
		var out bytes.Buffer
		if _, err := writeEvents(t.Context(), &out, logs, s.ID(), after, true); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	whole := print("")
	var plain bytes.Buffer
	if _, err := writeEvents(t.Context(), &plain, logs, s.ID(), "", false); err != nil {
		t.Fatal(err)
	}
	if text, err := logs.Text(t.Context(), s.ID(), ""); err != nil || !bytes.Equal(text, plain.Bytes()) {
		t.Fatalf("the events are %d bytes, the journal %d; %v", plain.Len(), len(text), err)
	}
	rest := map[int]string{} // by where the last whole line ends
	for cut := range len(whole) + 1 {
		kept := strings.LastIndexByte(whole[:cut], '\n') + 1
		if _, ok := rest[kept]; !ok {
			after := ""
			if kept > 0 {
				var last journal.Event
				line := whole[strings.LastIndexByte(whole[:kept-1], '\n')+1 : kept]
				if err := json.Unmarshal([]byte(line), &last); err != nil {
					t.Fatal(err)
				}
				after = last.ID
			}
			rest[kept] = print(after)
		}
		if len(rest[kept])+kept != len(whole) || rest[kept] != whole[kept:] {
			t.Fatalf("cut at %d of %d: the rest has %d bytes", cut, len(whole), len(rest[kept]))
		}
	}
	if len(rest) < 6 {
		t.Errorf("the stream has %d events", len(rest))
	}
	for e, err := range logs.Events(t.Context(), s.ID(), "no id") {
		if err == nil {
			t.Errorf("after nonsense comes %+v", e)
		}
	}
}
