package sessiontest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func damaged(t *testing.T, st *Stage) {
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
		{"whole", []string{a, b, c, d}, "", "A B C D"},
		{"garbage at the end", []string{a, b, c, d, `{"type":"user","uu`}, "", "A B C D"},
		{"garbage between the lines", []string{"%$&", a, b, "\x00\xff{{", c, d}, "", "A B C D"},
		{"a garbled line is left out and the rest kept", []string{a, b, c[:40], d}, "", "A BD"},
		{"a garbled first line", []string{a[:40], b, c, d}, "", "[The beginning of this conversation could not be read from the session's file.] B C D"},
		{"zeros after a power failure", []string{a, b, c, d, strings.Repeat("\x00", 5000)}, "", "A B C D"},
		{"zeros in front of the next line", []string{a, b, strings.Repeat("\x00", 300) + c, d}, "", "A B C D"},
		{"every line twice", []string{a, a, b, b, c, c, d, d}, "", "A B C D"},
		{"a part of the file again at its end", []string{a, b, c, d, a, b}, "", "A B C D"},
		{"null, numbers and strings", []string{"null", a, "1", b, `"x"`, "[]", "{}", c, d}, "", "A B C D"},
		{"of two branches, the last one continues", []string{a, b, c, d, userLine("c2", "b", "C2")}, "", "A B C2"},
		{"at a message, on the branch it is on", []string{a, b, c, d, userLine("c2", "b", "C2")}, "d", "A B C D"},
		{"a circle ends", []string{strings.Replace(a, "null", `"d"`, 1), b, c, d}, "", "A B C D"},
		{"a sub-agent's lines are not the conversation's", []string{a, b, side, c, d, side}, "", "A B C D"},
		{"lines that others will invent", []string{a, b, `{"type":"queue-operation","operation":"x"}`, `{"type":"user"}`, c, d}, "", "A B C D"},
		{"a message of no known form", []string{a, b, chainLine("user", "c", "b", `{"role":"user","content":[{"type":"hologram","x":1}]}`), d}, "", "A B  D"},
		{"a message that is not one", []string{a, b, chainLine("user", "c", "b", `"oops"`), d}, "", "A BD"},
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
			got := st.told(t, st.lines(t, tt.lines...), tt.at)
			// Texts of one message are joined without a space by a provider; here they are not told apart.
			if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(tt.want, " ", "") {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func unknownMessage(t *testing.T, st *Stage) {
	_, err := st.Store.Resume(t.Context(), st.lines(t, userLine("a", "", "A")), &session.ResumeOptions{At: "nope"})
	if !errors.Is(err, session.ErrNoMessage) || !strings.Contains(err.Error(), "nope") {
		t.Errorf("error %v", err)
	}
}

func statesBack(t *testing.T, st *Stage) {
	state := func(name, value string) string {
		return `{"type":"haft-state","haft":{"state":{"name":"` + name + `","value":` + value + `}}}`
	}
	id := st.lines(t, state("mode", `1`), userLine("a", "", "A"), state("mode", `2`), state("new", `3`), userLine("b", "a", "B"))
	s := Resume(t, st.Store, id, &session.ResumeOptions{At: "a"})
	Add(t, s, Prompt("C"))
	Close(t, s)
	again := Resume(t, st.Store, id, nil)
	for _, r := range []*session.Restored{s.Restored(), again.Restored()} {
		if len(r.States) != 1 || string(r.States["mode"]) != "1" {
			t.Errorf("states %s", r.States)
		}
	}
	Close(t, again)
	if got := st.told(t, id, ""); got != "A C" {
		t.Errorf("told %s", got)
	}
}

func drops(t *testing.T, st *Stage) {
	id := st.lines(t, userLine("a", "", "A"), answerLine("b", "a", "m1", "B"), userLine("c", "b", "C"), answerLine("d", "c", "m2", "D"), userLine("e", "d", "E"))
	if _, err := st.Store.Resume(t.Context(), id, &session.ResumeOptions{At: "b", Drops: "c"}); !errors.Is(err, session.ErrDrops) {
		t.Errorf("two turns are left out: %v", err)
	}
	Close(t, Resume(t, st.Store, id, &session.ResumeOptions{At: "d", Drops: "e"}))
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

// cuts appends to a journal that was cut in some of its lines, and at their ends.
func cuts(t *testing.T, st *Stage) {
	whole := Create(t, st.Store, &session.CreateOptions{Cwd: "/p"})
	Add(t, whole, Prompt("start"))
	for turn := range 6 {
		id := fmt.Sprint("m", turn)
		Add(t, whole, Answer(id, model.Block{Type: model.Thinking, Text: "hm", Signature: "s"}), Answer(id, model.TextOf(fmt.Sprint("turn ", turn))))
		for n := range turn%3 + 1 {
			use := fmt.Sprintf("u%d-%d", turn, n)
			Add(t, whole, Answer(id, Use(use, "T", `{"n":1}`)))
			Record(t, whole, use, "T", tool.Pure, sched.Finished, "result")
		}
		if turn == 2 {
			Add(t, whole, session.Entry{Compaction: &session.Compaction{Trigger: "auto", Messages: []model.Message{
				{Role: model.User, Content: []model.Block{model.TextOf("summary")}}}}})
		}
	}
	Add(t, whole, Answer("last", model.TextOf("done")))
	Close(t, whole)
	raw, end, lines := st.read(t, whole.ID()), 0, 0
	for line := range strings.Lines(raw) {
		if lines++; lines%5 == 0 {
			for _, cut := range []int{end + 1, end + len(line)/2, end + len(line) - 1, end + len(line)} {
				st.continueCut(t, raw[:cut], cut)
			}
		}
		end += len(line)
	}
}
