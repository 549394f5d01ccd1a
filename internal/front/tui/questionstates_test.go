package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

// The kinds of questions. Each begins with one and returns what was decided so far: "allow",
// with what it grants or answers, "deny", or "".
func questionKinds() map[string]func(b *bed, ctx context.Context) func() string {
	verdict := func(answer <-chan tool.Verdict) func() string {
		said := ""
		return func() string {
			select {
			case v := <-answer:
				said = v.Behavior.String()
				for _, g := range v.Grants {
					said += " " + strings.TrimSpace(g.Mode+" "+strings.Join(g.Rules, " "))
				}
				var in struct {
					Answers map[string]string `json:"answers"`
				}
				if json.Unmarshal(v.Input, &in); len(in.Answers) > 0 {
					said += " " + strings.Join([]string{in.Answers["Which?"], in.Answers["How?"]}, "|")
				}
			default:
			}
			return said
		}
	}
	about := func(c tool.Case, q tool.Verdict) func(b *bed, ctx context.Context) func() string {
		return func(b *bed, ctx context.Context) func() string { return verdict(b.ask(ctx, c, q)) }
	}
	asks := tool.Case{Call: &tool.Call{UseID: "1", Tool: "AskUserQuestion", Input: json.RawMessage(
		`{"questions":[{"question":"Which?","header":"DB","options":[{"label":"A","description":""},{"label":"B","description":""}]},{"question":"How?","header":"How","multiSelect":true,"options":[{"label":"C","description":""},{"label":"D","description":""}]}]}`)}}
	plan := tool.Case{Call: &tool.Call{UseID: "1", Tool: "ExitPlanMode", Input: json.RawMessage(`{"plan":"1. Do it."}`)}}
	command, rules := bashCase("make")
	loss, lossRules := bashCase("git push --force")
	edit, edits := editCase(3)
	long, longs := editCase(60)
	return map[string]func(b *bed, ctx context.Context) func() string{
		"command": about(command, rules),
		"loss":    about(loss, lossRules),
		"edit":    about(edit, edits),
		"long":    about(long, longs),
		"plan":    about(plan, tool.Verdict{Behavior: tool.Ask, NeedsPerson: true}),
		"asks":    about(asks, tool.Verdict{Behavior: tool.Ask, NeedsPerson: true}),
		"visit": func(b *bed, ctx context.Context) func() string {
			return b.elicited(ctx, mcp.Elicitation{Server: "shop", Message: "Log in.", Mode: "url", URL: "http://x"})
		},
		"form": func(b *bed, ctx context.Context) func() string {
			return b.elicited(ctx, mcp.Elicitation{Server: "shop", Message: "Where to?", Mode: "form", Schema: json.RawMessage(`{"properties":{"city":{"type":"string","title":"City"}}}`)})
		},
		"trust": func(b *bed, _ context.Context) func() string {
			b.talk.held = []trust.Item{{Kind: trust.Hook, Name: "format", Text: "gofmt -w ."}}
			b.app.later(func() { b.app.open(Opening{}) })
			return func() string {
				switch {
				case b.talk.trusted != nil:
					return "allow"
				case len(b.app.declined) > 0:
					return "deny"
				}
				return ""
			}
		},
	}
}

// elicited has a server ask something.
func (b *bed) elicited(ctx context.Context, e mcp.Elicitation) func() string {
	answer := make(chan mcp.Answer, 1)
	go func() {
		if a, err := (person{b.app}).Elicit(ctx, e); err == nil {
			answer <- a
		}
	}()
	said := ""
	return func() string {
		select {
		case a := <-answer:
			said = map[string]string{"accept": "allow", "decline": "deny"}[a.Action]
		default:
		}
		return said
	}
}

// keysOf are what a sequence in words sends: names of keys, or text as it is typed.
func keysOf(sequence string) []string {
	named := map[string]string{"tab": "\t", "enter": "\r", "esc": "\x1b", "up": "\x1b[A", "down": "\x1b[B", "left": "\x1b[D", "right": "\x1b[C", "shift+tab": "\x1b[Z", "end": "\x1b[F", "space": " ", "pagedown": "\x1b[6~"}
	var keys []string
	for word := range strings.FieldsSeq(sequence) {
		if k, ok := named[word]; ok {
			word = k
		}
		keys = append(keys, word)
	}
	return keys
}

// highlighted is what the screen shows as selected, "" for nothing.
var highlighted = regexp.MustCompile(`▸ (.*)`)

func (b *bed) highlighted() string {
	lit := ""
	for _, m := range highlighted.FindAllStringSubmatch(b.screen(), -1) {
		lit = strings.TrimSpace(m[1]) // of a form, the option of the field
	}
	return lit
}

// TestSequencesOfKeys types sequences of keys at every kind of question, a second apart, and holds
// what is highlighted before the last of them, and what is decided after it.
func TestSequencesOfKeys(t *testing.T) {
	for _, c := range []struct{ kind, typed, lit, decided string }{
		{"command", "tab", "", ""},
		{"command", "tab enter", "", ""},
		{"command", "tab y", "", "allow"},
		{"command", "tab n", "", "deny"},
		{"command", "n tab", "", ""},
		{"command", "n tab enter", "n Deny", "deny"},
		{"command", "no tab enter", "n Deny", "deny"},
		{"command", "no enter tab enter", "n Deny", "deny"},
		{"command", "n esc esc tab enter", "n Deny", "deny"},
		{"command", "y tab enter", "y Allow this once", "allow"},
		{"command", "nope tab enter", "", ""},
		{"command", "tab down enter", "y Allow this once", "allow"},
		{"command", "tab s", "", ""},
		{"command", "tab s enter", "s Allow for this session: Bash(make:*)", "allow Bash(make:*)"},
		{"command", "tab s n", "s Allow for this session: Bash(make:*)", "deny"},
		{"command", "tab s x enter", "", ""},
		{"command", "tab a enter", "a Allow always: Bash(make:*) in .claude/settings.local.json (left and", "allow Bash(make:*)"},
		{"command", "tab a esc tab enter", "a Allow always: Bash(make:*) in .claude/settings.local.json (left and", "allow Bash(make:*)"},
		{"command", "tab up enter", "e Deny and explain", ""},
		{"command", "tab e later enter", "", "deny"},
		{"command", "tab e esc", "", ""},
		{"command", "tab e no esc enter no enter", "", "deny"},
		{"command", "tab 4 enter", "n Deny", "deny"},
		{"command", "tab shift+tab enter", "", ""},
		{"loss", "tab y enter", "", ""},
		{"loss", "tab y no enter", "", ""},
		{"loss", "tab y allow enter", "", "allow"},
		{"loss", "tab y esc enter", "y Allow this once", ""},
		{"loss", "n tab enter", "n Deny", "deny"},
		{"edit", "tab enter", "", ""},
		{"edit", "n tab enter", "n Deny", "deny"},
		{"edit", "tab down enter", "y Allow this once", "allow"},
		{"edit", "tab m", "", ""},
		{"edit", "tab m enter", "m Allow all edits this session (mode acceptEdits)", "allow acceptEdits"},
		{"edit", "shift+tab", "", ""},
		{"edit", "shift+tab shift+tab tab enter", "", ""},
		{"edit", "tab m esc tab esc", "m Allow all edits this session (mode acceptEdits)", ""},
		{"edit", "no esc tab n", "n Deny", "deny"},
		{"long", "tab y", "", ""},
		{"long", "tab end y", "", "allow"},
		{"long", "tab pagedown y", "", ""},
		{"plan", "tab enter", "", ""},
		{"plan", "n tab enter", "e Not yet: say what to change", ""},
		{"plan", "no enter tab enter", "e Not yet: say what to change", ""},
		{"plan", "no enter tab enter smaller enter", "e smaller▏", "deny"},
		{"plan", "tab n enter", "e ▏", "deny"},
		{"plan", "tab down enter", "y Approve, and ask about each edit", "allow default"},
		{"plan", "tab m", "", ""},
		{"plan", "tab m enter", "m Approve, and allow all edits this session (mode acceptEdits)", "allow acceptEdits"},
		{"plan", "tab n esc esc tab enter", "e Not yet: say what to change", ""},
		{"asks", "tab enter", "", ""},
		{"asks", "n tab enter", "", ""},
		{"asks", "tab 1 enter 2 enter", "2 ☑ D", ""},
		{"asks", "tab 1 enter 2 enter enter", "Send these answers", "allow A|D"},
		{"asks", "tab 1 enter 2 enter left left 2 enter enter enter", "Send these answers", "allow B|D"},
		{"asks", "tab 1 enter 1 3 too esc 2 enter enter", "Send these answers", "allow A|C, D, too"},
		{"asks", "tab tab tab enter", "Send these answers", ""},
		{"asks", "tab shift+tab 2 enter 1 enter enter", "Send these answers", "allow B|C"},
		{"asks", "no enter tab enter no enter enter", "Send these answers", "allow no|no"},
		{"visit", "tab enter", "1 No, thanks", "deny"},
		{"visit", "tab down enter", "2 I have done it", "allow"},
		{"visit", "n tab enter", "1 No, thanks", "deny"},
		{"form", "tab enter enter", "1 no", "deny"},
		{"form", "tab Bern enter 2 enter", "2 yes", "allow"},
		{"form", "n tab enter enter", "1 no", "deny"},
		{"trust", "tab enter", "1 Not now: nothing listed here is used", "deny"},
		{"trust", "n tab enter", "1 Not now: nothing listed here is used", "deny"},
		{"trust", "tab 2 enter", "2 Trust everything listed here, exactly as it is now", "allow"},
	} {
		t.Run(c.kind+" "+c.typed, func(t *testing.T) {
			in(t, func(t *testing.T, b *bed) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				decided := questionKinds()[c.kind](b, ctx)
				b.pause(arming + 2*frame)
				lit := ""
				for _, k := range keysOf(c.typed) {
					b.pause(time.Second)
					lit = b.highlighted()
					b.type_(k)
				}
				b.pause(time.Second)
				if lit != c.lit {
					t.Errorf("%q was highlighted, want %q", lit, c.lit)
				}
				if got := decided(); got != c.decided {
					t.Errorf("decided %q, want %q:\n%s", got, c.decided, b.screen())
				}
			})
		})
	}
}

// TestNoSequenceOfRefusalsAllows tries every sequence of up to four of n, no, esc and tab, with
// enter among them: none of them allows anything, whatever the question is.
func TestNoSequenceOfRefusalsAllows(t *testing.T) {
	keys := []string{"n", "no", "\x1b", "\t", "\r", "\x1b[Z"}
	n, every := 0, needtest.Every(37) // no divisor of the sequences: each key comes at each place
	for kind, begin := range questionKinds() {
		for code := range 6 * 6 * 6 * 6 {
			if n++; n%every != 0 {
				continue
			}
			in(t, func(t *testing.T, b *bed) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				decided := begin(b, ctx)
				b.pause(arming + 2*frame)
				var typed []string
				for at := code; len(typed) < 4; at /= 6 {
					typed = append(typed, keys[at%6])
				}
				for _, k := range append(typed, "\t", "\r", "\r") {
					b.pause(time.Second)
					b.type_(k)
				}
				if got := decided(); strings.HasPrefix(got, "allow") {
					t.Errorf("%s: %q decides %s", kind, typed, got)
				}
			})
		}
	}
}

// TestOnlyWhatIsHighlightedIsAllowed presses random keys after random pauses: whatever allows
// something was highlighted on the screen for the guard time before enter was pressed, or was its
// own letter, with the question turned to for as long; and only enter allows more than the call.
func TestOnlyWhatIsHighlightedIsAllowed(t *testing.T) {
	keys := []string{"\t", "\r", "\r", "\x1b", "\x1b[A", "\x1b[B", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[Z", "\x1b[F", " ", "y", "n", "s", "a", "m", "e", "x", "1", "2", "3", "5", "no", "allow", "/", "\x1b[200~y\x1b[201~", "\x1b[O"}
	pauses := []time.Duration{0, 40 * time.Millisecond, 120 * time.Millisecond, 200 * time.Millisecond, time.Second, time.Second}
	kinds := questionKinds()
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	allowed, every := 0, needtest.Every(7) // no divisor of the kinds of questions and of beginnings
	for round := range uint64(3000) {
		if int(round)%every != 0 {
			continue
		}
		in(t, func(t *testing.T, b *bed) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := rand.New(rand.NewPCG(round, 41))
			name := names[int(round)%len(names)]
			decided := kinds[name](b, ctx)
			var typed []string
			lit, since := "", time.Now() // what is highlighted, and since when it is on the screen
			look := func() {
				if now := b.highlighted(); now != lit {
					lit, since = now, time.Now()
				}
			}
			for i := range 40 {
				k := keys[r.IntN(len(keys))]
				b.pause(pauses[r.IntN(len(pauses))])
				if i == 0 && round%4 > 0 { // most begin in the question
					b.pause(arming)
					k = "\t"
				}
				look()
				focused := b.app.dialog != nil && b.app.dialog.focused
				seen := time.Since(since)
				typing := b.app.dialog != nil && b.app.dialog.typing()
				typed = append(typed, fmt.Sprintf("%q", k))
				select {
				case <-b.done: // /e completes to /exit
					return
				default:
				}
				if _, err := b.keys.Write([]byte(k)); err != nil {
					t.Fatal(err)
				}
				b.pause(escapeDelay + frame)
				got := decided()
				if got == "" {
					look()
					continue
				}
				if strings.HasPrefix(got, "deny") {
					return
				}
				allowed++
				switch {
				case !focused:
					t.Errorf("%s: %s allows %q without being turned to", name, typed, got)
				case typing && k == "\r": // what was typed is what is sent
				case k == "y" && (got == "allow" || got == "allow default"):
				case k != "\r" || lit == "" || seen < settling-2*frame:
					t.Errorf("%s: %s allows %q while %q was highlighted for %v", name, typed, got, lit, seen)
				}
				return
			}
		})
	}
	if allowed < 10 {
		t.Errorf("only %d rounds allowed something: the keys try nothing", allowed)
	}
	t.Logf("%d rounds allowed something", allowed)
}
