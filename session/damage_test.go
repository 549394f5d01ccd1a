package session

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
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
	if err := checkSendable(h); err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range h.Len() {
		m, err := h.Message(i)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range m.Content {
			switch b.Type {
			case model.ToolUse:
				out = append(out, b.ID+"?")
			case model.ToolResult:
				out = append(out, b.UseID+"="+tool.JoinText(b.Content))
			default:
				out = append(out, b.Text)
			}
		}
	}
	return strings.Join(out, " ")
}

func userLine(uuid, parent, text string) string {
	return chainLine("user", uuid, parent, `{"role":"user","content":`+quote(text)+`}`)
}

func resultLine(uuid, parent, use, text string) string {
	return chainLine("user", uuid, parent, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+use+`","content":`+quote(text)+`}]}`)
}

func answerLine(uuid, parent, id, text string) string {
	return chainLine("assistant", uuid, parent, `{"id":"`+id+`","role":"assistant","content":[{"type":"text","text":`+quote(text)+`}]}`)
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

func TestDamagedJournals(t *testing.T) {
	a, b, c, d := userLine("a", "", "A"), answerLine("b", "a", "m1", "B"), userLine("c", "b", "C"), answerLine("d", "c", "m2", "D")
	side := strings.Replace(userLine("s", "", "side"), `"isSidechain":false`, `"isSidechain":true`, 1)
	boundary := `{"parentUuid":null,"logicalParentUuid":"b","type":"system","subtype":"compact_boundary","uuid":"x","haft":{"snapshot":{"parts":2,"messages":2}}}`
	part := func(uuid, parent, text string) string {
		return strings.TrimSuffix(userLine(uuid, parent, text), "}") + `,"haft":{"summaryOf":"x"}}`
	}
	tests := []struct {
		name  string
		lines []string
		at    string
		want  string
	}{
		{"an empty file is a conversation of nothing", nil, "", ""},
		{"whole", []string{a, b, c, d}, "", "A B C D"},
		{"garbage at the end", []string{a, b, c, d, `{"type":"user","uu`}, "", "A B C D"},
		{"garbage between the lines", []string{"%$&", a, b, "\x00\xff{{", c, d}, "", "A B C D"},
		{"a garbled line is left out and the rest kept", []string{a, b, c[:40], d}, "", "A BD"},
		{"a garbled first line", []string{a[:40], b, c, d}, "", beginningLost + " B C D"},
		{"zeros after a power failure", []string{a, b, c, d, strings.Repeat("\x00", 5000)}, "", "A B C D"},
		{"zeros in front of the next line", []string{a, b, strings.Repeat("\x00", 300) + c, d}, "", "A B C D"},
		{"every line twice", []string{a, a, b, b, c, c, d, d}, "", "A B C D"},
		{"a part of the file again at its end", []string{a, b, c, d, a, b}, "", "A B C D"},
		{"null, numbers and strings", []string{"null", a, "1", b, `"x"`, "[]", "{}", c, d}, "", "A B C D"},
		{"of two branches, the last one goes on", []string{a, b, c, d, userLine("c2", "b", "C2")}, "", "A B C2"},
		{"at a message, on the branch it is on", []string{a, b, c, d, userLine("c2", "b", "C2")}, "d", "A B C D"},
		{"a circle ends", []string{strings.Replace(a, "null", `"d"`, 1), b, c, d}, "", "A B C D"},
		{"a sub-agent's lines are not the conversation's", []string{a, b, side, c, d, side}, "", "A B C D"},
		{"lines that others will invent", []string{a, b, `{"type":"queue-operation","operation":"x"}`, `{"type":"user"}`, c, d}, "", "A B C D"},
		{"a message of no known form", []string{a, b, chainLine("user", "c", "b", `{"role":"user","content":[{"type":"hologram","x":1}]}`), d}, "", "A B  D"},
		{"a message that is no message", []string{a, b, chainLine("user", "c", "b", `"oops"`), d}, "", "A BD"},
		{"results beside the chain, as others write them", []string{a, useLine("u1", "a", "m1", "1"), useLine("u2", "u1", "m1", "2"),
			resultLine("r1", "u1", "1", "one"), resultLine("r2", "u2", "2", "two"), answerLine("z", "r2", "m2", "Z")}, "", "A 1? 2? 1=one 2=two Z"},
		{"the only result beside the chain", []string{a, useLine("u1", "a", "m1", "1"), resultLine("r1", "u1", "1", "one"), userLine("c", "u1", "C")}, "", "A 1? 1=one C"},
		{"results without a call", []string{a, resultLine("r", "a", "9", "nine"), answerLine("b", "r", "m1", "B")}, "", "A B"},
		{"the same id for two calls", []string{a, useLine("u1", "a", "m1", "1"), resultLine("r1", "u1", "1", "one"),
			useLine("u2", "r1", "m2", "1"), resultLine("r2", "u2", "1", "two")}, "", "A 1? 1=one 1? 1=two"},
		{"a result that comes after what was said next", []string{a, useLine("u1", "a", "m1", "1"), userLine("c", "u1", "C"), resultLine("r1", "c", "1", "one")},
			"", "A 1? 1=one C"},
		{"a compaction", []string{a, b, boundary, part("p1", "x", "P1"), part("p2", "p1", "P2"), answerLine("d", "p2", "m2", "D")}, "", "P1 P2 D"},
		{"before a compaction", []string{a, b, boundary, part("p1", "x", "P1"), part("p2", "p1", "P2")}, "b", "A B"},
		{"a compaction that was not finished did not happen", []string{a, b, boundary, part("p1", "x", "P1")}, "", "A B"},
		{"nor did one that was not begun", []string{a, b, boundary}, "", "A B"},
		{"a garbled line after a compaction", []string{a, b, boundary, part("p1", "x", "P1"), part("p2", "p1", "P2"), c[:30], d}, "", "P1 P2 D"},
		{"an error that stood for an answer", []string{a, strings.TrimSuffix(answerLine("e", "a", "m0", "no"), "}") + `,"isApiErrorMessage":true}`, userLine("c", "e", "C")}, "", "A C"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := told(t, write(t, tt.lines...), tt.at)
			// Texts of one message are joined without a space by a provider; here they are not told apart.
			if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(tt.want, " ", "") {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAnUnknownMessageCannotBeResumedAt(t *testing.T) {
	_, err := resume(t.Context(), write(t, userLine("a", "", "A")), &ResumeOptions{At: "nope"})
	if !errors.Is(err, ErrNoMessage) || !strings.Contains(err.Error(), "nope") {
		t.Errorf("error %v", err)
	}
}

func TestResumingAtSetsTheStatesBack(t *testing.T) {
	state := func(name, value string) string {
		return `{"type":"haft-state","haft":{"state":{"name":"` + name + `","value":` + value + `}}}`
	}
	path := write(t, state("mode", `1`), userLine("a", "", "A"), state("mode", `2`), state("new", `3`), userLine("b", "a", "B"))
	s, err := resume(t.Context(), path, &ResumeOptions{At: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), userText("C")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	again, err := resume(t.Context(), path, &ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Restored{s.Restored(), again.Restored()} {
		if len(r.States) != 1 || string(r.States["mode"]) != "1" {
			t.Errorf("states %s", r.States)
		}
	}
	if got := told(t, path, ""); got != "A C" {
		t.Errorf("told %s", got)
	}
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
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "nothing that was written before is lost") {
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
		if err := checkSendable(s.Restored().History); err != nil {
			t.Errorf("%v\n%s", err, raw)
		}
	})
}
