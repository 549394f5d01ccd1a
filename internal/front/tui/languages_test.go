package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// screens are those that a user calls for or is asked in, each with how it comes about.
func screens() map[string]func(b *bed, ctx context.Context) {
	return map[string]func(b *bed, ctx context.Context){
		"begin":       func(b *bed, _ context.Context) {},
		"keys":        func(b *bed, _ context.Context) { b.type_("/keys\r") },
		"help":        func(b *bed, _ context.Context) { b.type_("/help\r") },
		"commands":    func(b *bed, _ context.Context) { b.type_("/") },
		"resume":      func(b *bed, _ context.Context) { b.talk.earlier(); b.type_("/resume\r") },
		"resume-none": func(b *bed, _ context.Context) { b.type_("/resume\r") },
		"set-up": func(b *bed, _ context.Context) {
			b.app.later(func() { b.app.opts.Setup = &deadSetup{} })
			b.type_("/login\r")
			b.type_("2\r")
			b.type_("http://nowhere/v1\rqwen3\r\r")
		},
		"permissions": func(b *bed, _ context.Context) { b.type_("/permissions\r") },
		"add-rule":    func(b *bed, _ context.Context) { b.type_("/permissions\r\r") },
		"config":      func(b *bed, _ context.Context) { b.type_("/config\r") },
		"set":         func(b *bed, _ context.Context) { b.type_("/config\r\x1b[B\r") },
		"memory":      func(b *bed, _ context.Context) { b.type_("/memory\r") },
		"note":        func(b *bed, _ context.Context) { b.type_("#use tabs\r") },
		"theme":       func(b *bed, _ context.Context) { b.type_("/theme\r") },
		"vim": func(b *bed, _ context.Context) {
			b.type_("/vim\r")
			b.type_("text\x1b")
			b.pause(escapeDelay + frame)
		},
		"model": func(b *bed, _ context.Context) { b.type_("/model\r") },
		"mcp": func(b *bed, _ context.Context) {
			b.talk.servers = []mcp.Status{{Name: "files", State: mcp.Connected, Tools: []mcp.ToolStatus{{Name: "read", Offered: "mcp__files__read"}}}, {Name: "hub", State: mcp.NeedsAuth}, {Name: "db", State: mcp.Failed, Error: "connection refused"}}
			b.type_("/mcp\r")
		},
		"server": func(b *bed, ctx context.Context) { screens()["mcp"](b, ctx); b.type_("\r") },
		"transcript": func(b *bed, _ context.Context) {
			b.tell(agent.TurnStarted{}, prompted("say it"), delta(0, "## What it is\n\nA *word* of `text`:\n\n- one\n- two\n"), stop(0), agent.Result{Reason: agent.Completed})
			b.type_("\x0f")
		},
		"search": func(b *bed, ctx context.Context) { screens()["transcript"](b, ctx); b.type_("/word\r") },
		"review": func(b *bed, _ context.Context) {
			b.type_("/review\r")
			b.tell(agent.TurnStarted{}, agent.Added{Kind: agent.Prompted, Prompt: &b.talk.prompts[0]}, delta(0, "Two things stand out.\n"))
		},
		"form": func(b *bed, ctx context.Context) {
			go func() {
				_, _ = (person{b.app}).Elicit(ctx, mcp.Elicitation{Server: "shop", Message: "Where should we send it?", Mode: "form",
					Schema: json.RawMessage(`{"properties":{"city":{"type":"string","title":"City"},"days":{"type":"integer","title":"Days until it has to arrive","minimum":1,"maximum":9},"fast":{"type":"boolean","default":true},"extras":{"type":"array","title":"Extras","items":{"anyOf":[{"const":"m","title":"Gift wrapping"},{"const":"i","title":"Insurance"}]}}},"required":["city"]}`)})
			}()
			b.turnTo()
			b.type_("Bern\r12\r")
		},
		"choice": func(b *bed, ctx context.Context) {
			b.ask(ctx, tool.Case{Call: &tool.Call{Tool: "AskUserQuestion", Input: json.RawMessage(
				`{"questions":[{"question":"Which databases should the tests use?","header":"DB","multiSelect":true,"options":[{"label":"SQLite","description":"a file, nothing to install"},{"label":"PostgreSQL","description":"needs a server on this machine, as in production"}]}]}`)}}, tool.Verdict{Behavior: tool.Ask, NeedsPerson: true})
			b.turnTo()
			b.type_("2")
		},
		"plan": func(b *bed, ctx context.Context) {
			b.ask(ctx, tool.Case{Call: &tool.Call{Tool: "ExitPlanMode", Input: json.RawMessage(`{"plan":"1. Read the parser.\n2. Fix the loop in the lexer and add a test for it."}`)}}, tool.Verdict{Behavior: tool.Ask, NeedsPerson: true})
			b.turnTo()
		},
		"edit": func(b *bed, ctx context.Context) {
			c, q := editCase(3)
			b.ask(ctx, c, q)
			b.turnTo()
		},
		"diff": func(b *bed, ctx context.Context) {
			c, q := editCase(3)
			before := "a line\na lime\na line\n"
			c.Preview.Files[0].Before = &tool.Version{Text: []byte(before), Raw: []byte(before), Size: int64(len(before)), Digest: "before"}
			b.ask(ctx, c, q)
			b.turnTo()
		},
		"long": func(b *bed, ctx context.Context) {
			c, q := editCase(300)
			b.ask(ctx, c, q)
			b.turnTo()
		},
		"long-end": func(b *bed, ctx context.Context) { screens()["long"](b, ctx); b.type_("G") },
		"input": func(b *bed, _ context.Context) {
			b.type_("a prompt that is longer than the line of a narrow terminal goes on in the next one, and no word of it is broken in two unless-it-is-itself-longer-than-a-line")
		},
		"agents": func(b *bed, _ context.Context) {
			b.tell(agent.TurnStarted{}, prompted("look around"))
			for i, name := range []string{"Find the parser", "Read the tests"} {
				b.tell(agent.TaskChanged{Task: agent.Task{ID: name, Type: "local_agent", AgentType: "Explore", Description: name, Status: "running", Background: true, ToolUses: 3 + i, Tokens: 12_000, LastTool: "Grep"}})
			}
		},
		"task-list": func(b *bed, _ context.Context) {
			b.tell(agent.TurnStarted{}, prompted("go"), agent.Changed{What: agent.Tasks, Value: []map[string]string{{"subject": "Find it", "status": "completed"}, {"subject": "Fix it", "status": "in_progress"}, {"subject": "Test it", "status": "pending"}}})
		},
		"rewind": func(b *bed, _ context.Context) {
			b.talk.past = []session.Entry{
				{UUID: "u1", Time: time.Now().Add(-2 * time.Hour), Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf("Move the settings of the parser into a file of their own")}}},
				{UUID: "u2", Time: time.Now().Add(-time.Minute), Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf("run the tests")}}},
			}
			b.talk.restored = map[string][]string{"u1": {"/nowhere/project/parser/parser.go", "/nowhere/project/parser/settings.go"}, "u2": {"/nowhere/project/parser/parser.go"}}
			b.type_("/rewind\r")
		},
		"rewind-files": func(b *bed, ctx context.Context) {
			b.talk.steps = []checkpoint.Step{{Path: "/nowhere/project/parser/settings.go", Insertions: 0, Deletions: 42}, {Path: "/nowhere/project/parser/parser.go", Insertions: 40, Deletions: 3, Foreign: true}}
			screens()["rewind"](b, ctx)
			b.type_("\r")
		},
		"history": func(b *bed, _ context.Context) { b.type_("run all tests\rfix the parser\r\x12") },
		"files":   func(b *bed, _ context.Context) { b.type_("看一下@ma") },
		"login": func(b *bed, _ context.Context) {
			b.app.later(func() { b.app.opts.Setup = &deadSetup{} })
			b.type_("/login\r")
		},
		"tasks": func(b *bed, _ context.Context) {
			b.tell(agent.TaskChanged{Task: agent.Task{ID: "t", Description: "make serve", Background: true, Status: "running", Started: time.Now().Add(-time.Minute)}})
			b.type_("/tasks\r")
		},
		"question": func(b *bed, ctx context.Context) {
			c, q := bashCase("git push --force origin main")
			q.Reason, q.Suggestions = "git push --force can lose what others have pushed", []tool.Suggestion{{Rule: "Bash(git push:*)", Behavior: tool.Allow}}
			b.ask(ctx, c, q)
			b.pause(arming + frame)
			b.type_("\t")
			b.pause(settling)
		},
		"word": func(b *bed, ctx context.Context) { screens()["question"](b, ctx); b.type_("y") },
		"why":  func(b *bed, ctx context.Context) { screens()["question"](b, ctx); b.type_("e") },
		"held": func(b *bed, ctx context.Context) {
			c, q := bashCase("make")
			b.ask(ctx, c, q)
			b.pause(arming + frame)
			b.type_("y\r")
		},
		"trust": func(b *bed, _ context.Context) {
			b.talk.held = []trust.Item{{Kind: trust.Hook, Name: "format", Text: "gofmt -w ."}, {Kind: trust.Server, Name: "files", Text: "npx files"}}
			b.app.later(func() { b.app.open(Opening{}) })
			b.pause(arming + frame)
		},
	}
}

// turnTo turns to the question that has just been asked.
func (b *bed) turnTo() {
	b.pause(arming + 2*frame)
	b.type_("\t")
	b.pause(settling)
}

// translated are the screens that are held in the other languages too: what is wide, long,
// or asked. The words themselves are the catalogue's.
var translated = []string{"begin", "question", "form", "help", "permissions", "rewind-files"}

// TestEveryScreen holds each of them in English, and some in each language, at three sizes.
func TestEveryScreen(t *testing.T) {
	answer := realAnswers(t)
	shown := screens()
	for _, name := range answeredCommands {
		shown[name] = func(b *bed, _ context.Context) { b.type_("/" + name + "\r") }
	}
	for _, language := range lang.Names() {
		words, err := lang.Load(language)
		if err != nil {
			t.Fatal(err)
		}
		answers := map[string]string{}
		for _, name := range answeredCommands {
			answers[name] = answer(words, name) // outside the bubble
		}
		for name, show := range shown {
			if language != "en" && !slices.Contains(translated, name) {
				continue
			}
			t.Run(name+"-"+language, func(t *testing.T) {
				var all strings.Builder
				for _, size := range []Size{{80, 24}, {120, 40}, {40, 12}} {
					sized(t, size, func(t *testing.T, b *bed) {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						b.talk.answers = answers
						b.app.later(func() { b.app.lang, b.app.dirty = words, true })
						b.pause(2 * frame)
						show(b, ctx)
						b.pause(2 * frame)
						fmt.Fprintf(&all, "%s %dx%d %s\n%s", strings.Repeat("=", 4), size.Width, size.Height, strings.Repeat("=", size.Width-13), b.screen())
					})
				}
				asExpected(t, "screen-"+name+"-"+language, "The screen "+name+" in "+language+" at three sizes.", all.String())
			})
		}
	}
}

// TestTheSettingChoosesTheLanguage: the setting counts from the opening of the conversation on,
// unless the command line says another.
func TestTheSettingChoosesTheLanguage(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.talk.language = "zh"
		b.type_("/new\r")
		b.sees("要 haft 做什么？")
	})
	in(t, func(t *testing.T, b *bed) {
		b.app.later(func() { b.app.opts.FixedLang = true })
		b.talk.language = "zh"
		b.type_("/new\r")
		b.sees("what should haft do?")
	})
}
