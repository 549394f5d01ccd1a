package harness_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// TestHabits plays dialogues that a model had when it worked through haft: what it called, in its own way, with its slips. Each
// says what the results must tell, so that no turn is lost again to a refusal, a riddle or a repetition.
//
// A dialogue is a small repository and a file "dialogue" with lines of these kinds:
//
//	prompt TEXT    what the user says; every prompt but the first resumes the session
//	mode NAME      the permission mode of the sessions that follow; acceptEdits if none is named
//	call TOOL JSON a call of the answer that is being written; $DIR is the repository, $TASK the last background command
//	agent TEXT     the answer of a sub-agent, in order
//	say TEXT       the answer that ends the turn
//	fails N        how many calls of the answer above must fail; none if it is missing
//	want TEXT      what the results of the answer above must hold
//	not TEXT       what they must not hold
func TestHabits(t *testing.T) {
	needtest.Program(t, "git")
	files, err := filepath.Glob("testdata/habits/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dialogues: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			playHabits(t, archive)
		})
	}
}

// A habit is one answer of the model, and what it must lead to.
type habit struct {
	line      int
	blocks    []script.Block
	fails     int
	want, not []string
}

// An episode is a prompt and the answers to it.
type episode struct {
	mode, prompt string
	answers      []*habit
}

func playHabits(t *testing.T, archive *txtar.Archive) {
	r := newRig(t)
	var dialogue string
	for _, f := range archive.Files {
		if f.Name == "dialogue" {
			dialogue = string(f.Data)
			continue
		}
		text := string(f.Data)
		if strings.HasSuffix(f.Name, ".bat") || strings.HasSuffix(f.Name, ".csv") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		r.put(f.Name, text)
	}
	episodes, agents := readHabits(t, dialogue)
	git := exec.Command("bash", "-c", "git init -q -b main . && git config user.name a && git config user.email a@b && git config core.autocrlf false && git add -A && git commit -qm begin")
	git.Dir = r.dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	session := ""
	for _, e := range episodes {
		p := &player{t: t, dir: r.dir, answers: e.answers, agents: &agents}
		r.serve(p.answer)
		c := r.talk(harness.Options{Mode: e.mode, Allowed: []string{"Bash(git:*)", "Bash(go:*)"}}, harness.TalkOptions{Resume: session})
		session = c.Agent.Session()
		p.session = session
		r.say(c, e.prompt)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if p.next < len(e.answers) {
			t.Errorf("after %d of %d answers the conversation ended", p.next, len(e.answers))
		}
	}
}

// A player answers as the model did, and looks at what each answer led to.
type player struct {
	t       *testing.T
	dir     string
	session string
	answers []*habit
	agents  *[]string

	mu   sync.Mutex
	next int
	task string
}

func (p *player) answer(q *script.Request) script.Turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.Contains(string(q.Body), `"name":"Agent"`) { // agents of these kinds start none
		if len(*p.agents) == 0 {
			return says("There is nothing to say.")
		}
		text := (*p.agents)[0]
		*p.agents = (*p.agents)[1:]
		return p.agentTurn(text)
	}
	results, failed := resultsIn(p.t, q.Body)
	if m := regexp.MustCompile(`\bid (b[a-z0-9]{6,})`).FindAllStringSubmatch(results, -1); m != nil {
		p.task = m[len(m)-1][1]
	}
	if p.next > 0 && p.next <= len(p.answers) {
		p.check(p.answers[p.next-1], results, failed)
	}
	if p.next >= len(p.answers) {
		return says("That is all.")
	}
	p.next++
	return script.Turn{Blocks: p.filled(p.answers[p.next-1].blocks)}
}

// agentTurn is what a sub-agent answers: calls as lines of TOOL JSON, or text.
func (p *player) agentTurn(text string) script.Turn {
	if name, input, ok := strings.Cut(text, " {"); ok && !strings.Contains(name, " ") {
		return script.Turn{Blocks: p.filled([]script.Block{call(name, "{"+input)})}
	}
	return says(text)
}

// filled puts names that are only known now into calls.
func (p *player) filled(blocks []script.Block) []script.Block {
	out := make([]script.Block, len(blocks))
	for i, b := range blocks {
		b.Input = json.RawMessage(strings.NewReplacer("$DIR", filepath.ToSlash(p.dir), "$TASK", p.task).Replace(string(b.Input)))
		out[i] = b
	}
	return out
}

func (p *player) check(h *habit, results string, failed int) {
	if failed != h.fails {
		p.t.Errorf("line %d: %d calls failed, want %d:\n%s", h.line, failed, h.fails, results)
	}
	fill := strings.NewReplacer("$DIR", filepath.ToSlash(p.dir), "$TASK", p.task)
	for _, want := range h.want {
		if !strings.Contains(results, fill.Replace(want)) {
			p.t.Errorf("line %d: the results do not hold %q:\n%s", h.line, want, results)
		}
	}
	for _, not := range h.not {
		if strings.Contains(results, fill.Replace(not)) {
			p.t.Errorf("line %d: the results hold %q:\n%s", h.line, not, results)
		}
	}
}

// resultsIn returns what the last message of a request tells, and how many calls failed.
func resultsIn(t *testing.T, body []byte) (text string, failed int) {
	t.Helper()
	type block struct {
		Type, Text string
		IsError    bool `json:"is_error"`
		Content    json.RawMessage
	}
	var req struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var blocks []block
	if err := json.Unmarshal(req.Messages[len(req.Messages)-1].Content, &blocks); err != nil {
		return string(req.Messages[len(req.Messages)-1].Content), 0
	}
	for _, bl := range blocks {
		if bl.IsError {
			failed++
		}
		fmt.Fprintln(&b, bl.Text)
		var parts []block
		var plain string
		if json.Unmarshal(bl.Content, &parts) == nil {
			for _, part := range parts {
				fmt.Fprintln(&b, part.Text)
			}
		} else if json.Unmarshal(bl.Content, &plain) == nil {
			fmt.Fprintln(&b, plain)
		}
	}
	return b.String(), failed
}

func readHabits(t *testing.T, dialogue string) (episodes []*episode, agents []string) {
	t.Helper()
	mode := "acceptEdits"
	var now *habit // the answer that is being written or was written last
	open := false
	for i, line := range strings.Split(strings.TrimSpace(dialogue), "\n") {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		answer := func() *habit {
			if now = (&habit{line: i + 1}); len(episodes) == 0 {
				t.Fatalf("line %d: no prompt", i+1)
			}
			e := episodes[len(episodes)-1]
			e.answers, open = append(e.answers, now), true
			return now
		}
		switch kind {
		case "", "#":
			open = false
		case "mode":
			mode = rest
		case "prompt":
			episodes, open = append(episodes, &episode{mode: mode, prompt: rest}), false
		case "agent":
			agents = append(agents, rest)
		case "call":
			if !open {
				answer()
			}
			name, input, _ := strings.Cut(rest, " ")
			if !json.Valid([]byte(input)) {
				t.Fatalf("line %d: not JSON: %s", i+1, input)
			}
			now.blocks = append(now.blocks, call(name, input))
		case "say":
			open = false
			answer().blocks = []script.Block{{Text: rest}}
		case "fails":
			n, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			now.fails = n
		case "want":
			now.want = append(now.want, rest)
		case "not":
			now.not = append(now.not, rest)
		default:
			t.Fatalf("line %d: what is %q?", i+1, kind)
		}
	}
	return episodes, agents
}
