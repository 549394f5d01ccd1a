package session

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/haftdev/haft/internal/test/sessiontest/journaltest"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// write makes a journal of lines.
func write(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), NewUUID()+".jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// told returns the texts of a conversation, in order.
func told(t *testing.T, path, at string) string {
	t.Helper()
	s, err := resume(t.Context(), path, &ResumeOptions{At: at})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Restored().History
	if err := journaltest.Sendable(h); err != nil {
		t.Fatal(err)
	}
	return journaltest.Texts(t, h)
}

func userLine(uuid, parent, text string) string {
	return chainLine("user", uuid, parent, `{"role":"user","content":`+quote(text)+`}`)
}

func resultLine(uuid, parent, use, text string) string {
	return chainLine("user", uuid, parent, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+use+`","content":`+quote(text)+`}]}`)
}

func useLine(uuid, parent, id, use string) string {
	return chainLine("assistant", uuid, parent, `{"id":"`+id+`","role":"assistant","content":[{"type":"tool_use","id":"`+use+`","name":"T","input":{}}]}`)
}

func chainLine(kind, uuid, parent, message string) string {
	p := "null"
	if parent != "" {
		p = quote(parent)
	}
	return `{"parentUuid":` + p + `,"isSidechain":false,"type":"` + kind + `","uuid":"` + uuid + `","message":` + message + `}`
}

func quote(s string) string {
	raw, _ := plainjson.Marshal(s)
	return string(raw)
}

func TestAFullDiskIsReportedAndNothingIsLost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /dev/full")
	}
	path := write(t, userLine("a", "", "A"))
	s, err := resume(t.Context(), path, &ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	st := s.streams[""]
	j := st.log.(*journal)
	j.file = full
	err = s.Append(t.Context(), said("m1", model.TextOf("B")))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "nothing written earlier is lost") {
		t.Fatalf("error %v", err)
	}
	full.Close()

	// There is room again, but half a line had been written.
	half, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := half.WriteString(`{"type":"assis`); err != nil {
		t.Fatal(err)
	}
	j.file, st.torn = half, true
	if err := s.Append(t.Context(), said("m1", model.TextOf("B"))); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got := told(t, path, ""); got != "A B" {
		t.Errorf("told %s", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(userLine("a", "", "A") + "\n" + useLine("b", "a", "m", "1") + "\n" + resultLine("c", "b", "1", "x") + "\n"))
	f.Add([]byte("{}\nnull\n\x00\x00\n{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"x\"}\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(dir, "fuzz.jsonl")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := resume(t.Context(), path, &ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := journaltest.Sendable(s.Restored().History); err != nil {
			t.Errorf("%v\n%s", err, raw)
		}
	})
}
