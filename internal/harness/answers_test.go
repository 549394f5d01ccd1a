package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/model/script"
)

// TestEveryCommandAnswers types each of haft's own commands in a session in which
// something has happened. Those that are turns are the front end's to send.
func TestEveryCommandAnswers(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{
		{Blocks: []script.Block{call("Write", in("file_path", filepath.Join(r.dir, "made.txt"), "content", "x\n")), call("Agent", `{"description":"Look around","prompt":"CHILD","run_in_background":false}`)}},
		says("made it"),
	}, map[string][]script.Turn{"CHILD": {says("looked")}})
	home, _ := os.UserHomeDir()
	writeFile(t, filepath.Join(home, ".haft", "skills", "pdf", "SKILL.md"), "---\ndescription: Reads PDFs\n---\nx")
	c := r.talk(harness.Options{Mode: "acceptEdits", Disallowed: []string{"WebFetch"}}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if _, last := r.say(c, "make it"); last.Text != "made it" {
		t.Fatalf("%+v", last)
	}
	want := map[string][]string{
		"help":         {"/rewind [apply] [MESSAGE]", "Show the available commands"},
		"context":      {"The context of claude-opus-5-5 holds", "█ System prompt", "▪ Messages", "· Free space", "····"},
		"cost":         {"This session has cost", "It has been open for", "claude-opus-5-5", "cache read"},
		"add-dir":      {r.dir},
		"export":       {"The conversation is in " + r.dir},
		"config":       {"calls.afterFailure", "one of continue, cancel", "/config KEY VALUE"},
		"hooks":        {"No hooks are set up"},
		"memory":       {"There are no instructions here. /init writes some.", "AGENTS.md", "/memory add"},
		"status":       {"Session", c.Agent.Session(), "Permission mode  acceptEdits", "MCP servers      0 of 0 connected"},
		"model":        {"The model is claude-opus-5-5"},
		"output-style": {"default", "in use", "Explanatory", "/output-style STYLE"},
		"permissions":  {"The permission mode is acceptEdits", "deny", "WebFetch"},
		"mcp":          {"No MCP servers are set up. Add one with: haft mcp add"},
		"agents":       {"Explore", "general-purpose", "Of this session:", "completed", "Look around"},
		"skills":       {"pdf", "Reads PDFs"},
		"resume":       {c.Agent.Session(), "this one", "make it", "haft --resume ID"},
		"rewind":       {"delete", "made.txt", "To do it: /rewind apply"},
		"doctor":       {" in " + r.dir, "mode acceptEdits", "No MCP servers are set up"},
		"tools":        {"Agent", "TaskCreate", "found by ToolSearch"},
	}
	for _, b := range command.Builtins() {
		answer, ok := answerOf(c, nil, b.Name, "")
		if _, err := b.Prompt(t.Context(), prompt.Use{Dir: r.dir}, nil); b.Name == "clear" || b.Name == "compact" || err == nil {
			if ok {
				t.Errorf("/%s is answered without a turn: %q", b.Name, answer)
			}
			continue
		}
		if !ok || want[b.Name] == nil {
			t.Errorf("/%s: nobody knows what it answers: %q", b.Name, answer)
		}
		for _, words := range want[b.Name] {
			if !strings.Contains(answer, words) {
				t.Errorf("/%s does not say %q:\n%s", b.Name, words, answer)
			}
		}
	}
	for typed, words := range map[string]string{
		"model other":       "The model is other, starting with the next request",
		"permissions plan":  "The permission mode is plan",
		"permissions wrong": "wrong",
		"mcp reconnect x":   "Server not found: x",
		"mcp restart":       "type /mcp",
		"resume abc":        "haft --resume abc",
		"rewind nothing":    "nothing",
		"mcp enable x":      "Server not found: x",
		"add-dir nowhere":   "could not add nowhere: it is not a folder",
		"config colour red": `there is no setting "colour" that /config can change`,
		"config modle opus": "Did you mean model?",
	} {
		name, args, _ := strings.Cut(typed, " ")
		if answer, ok := answerOf(c, nil, name, args); !ok || !strings.Contains(answer, words) {
			t.Errorf("/%s does not say %q:\n%s", typed, words, answer)
		}
	}
}

// TestAnswersAreInTheLanguageOfTheUser types each command that answers, and some that fail,
// with the catalogue of another language. A word of ours that is left in English is found by
// the house test; this one finds an answer that was not given the catalogue.
func TestAnswersAreInTheLanguageOfTheUser(t *testing.T) {
	zh, err := lang.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.play([]script.Turn{uses("Write", in("file_path", filepath.Join(r.dir, "made.txt"), "content", "x\n")), says("made it")}, nil)
	c := r.talk(harness.Options{Mode: "acceptEdits", Disallowed: []string{"WebFetch"}}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "make it")
	for typed, want := range map[string]string{
		"help": "查看可以输入的命令", "context": "█ 系统提示", "cost": "缓存读取", "add-dir": "工具可在以下文件夹中工作", "config": "以下之一：continue, cancel",
		"hooks": "没有 hook", "memory": "添加第一条笔记时创建", "status": "权限模式    acceptEdits", "model": "当前模型为 claude-opus-5-5", "output-style": "使用中",
		"permissions": "权限模式为 acceptEdits", "mcp": "没有 MCP 服务器", "skills": "没有技能", "resume": "当前会话", "rewind": "删除", "doctor": "模式 acceptEdits，1 条规则",
		"tools": "由 ToolSearch 查找", "export talk.md": "会话已写入", "resume abc": "这里无法切换到其他会话", "config modle opus": "你是想输入 model 吗？",
		"permissions add allow Bash(make:*)": "allow Bash(make:*) 已生效", "permissions remove nothing": `没有规则 "nothing"。/permissions 列出所有规则。`, "memory add nowhere x": "请输入 /memory",
		"config calls.afterFailure cancel": "calls.afterFailure 的值为 cancel", "mcp restart": "请输入 /mcp",
	} {
		name, args, _ := strings.Cut(typed, " ")
		if answer, ok := answerOf(c, zh, name, args); !ok || !strings.Contains(answer, want) {
			t.Errorf("/%s does not say %q:\n%s", typed, want, answer)
		}
	}
	for _, k := range settings.Knobs() {
		if takes := answers.Takes(zh, k); takes == k.Takes {
			t.Errorf("%s takes %q", k.Key, takes)
		}
	}
}

// TestARewindIsTyped applies what it has shown, and takes it back.
func TestARewindIsTyped(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(r.dir, "made.txt")
	r.play([]script.Turn{uses("Write", in("file_path", path, "content", "x\n")), says("made it")}, nil)
	c := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "make it")
	preview, _ := answerOf(c, nil, "rewind", "")
	if _, err := os.Stat(path); err != nil || !strings.Contains(preview, "made.txt") {
		t.Fatalf("the preview %q, error %v", preview, err)
	}
	done, _ := answerOf(c, nil, "rewind", "apply")
	if _, err := os.Stat(path); err == nil {
		t.Fatalf("the file is still there: %s", done)
	}
	_, undo, ok := strings.Cut(done, "To undo: /rewind ")
	if !ok {
		t.Fatalf("it cannot be undone: %s", done)
	}
	if again, _ := answerOf(c, nil, "rewind", undo); !strings.Contains(again, "Done.") {
		t.Errorf("%s", again)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("the undo brought nothing back")
	}
}

func TestACommandThatFailsSaysSo(t *testing.T) {
	r := newRig(t)
	c := r.talk(harness.Options{}, harness.TalkOptions{Version: "9.9"})
	defer c.Close(t.Context())
	for typed, words := range map[string]string{
		"permissions wrong": `unknown permission mode "wrong"`,
		"mcp reconnect x":   "Server not found: x",
		"resume abc":        "haft --resume abc",
		"rewind":            "this session has no messages yet",
	} {
		name, args, _ := strings.Cut(typed, " ")
		if text, ok, err := answers.Run(c, nil, name, args); !ok || err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("/%s: %q, %t, %v", typed, text, ok, err)
		}
	}
	if text, _, err := answers.Run(c, nil, "doctor", ""); err != nil || !strings.Contains(text, "haft 9.9 in ") {
		t.Errorf("/doctor: %q, %v", text, err)
	}
}

// TestWhatIsKeptIsChangedOnlyAtATerminal types commands that change files: they do for a user
// at a terminal, and never for a program, whose prompt may be another program's text.
func TestWhatIsKeptIsChangedOnlyAtATerminal(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{says("hi")}, nil)
	home, _ := os.UserHomeDir()
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "hello")
	local, user := filepath.Join(r.dir, ".claude", "settings.local.json"), filepath.Join(home, ".claude", "settings.json")
	steps := []struct{ typed, says, file, has, hasNot string }{
		{"permissions add allow Bash(make:*)", "allow Bash(make:*) is now in force", local, `"Bash(make:*)"`, ""},
		{"permissions add deny Read(./secret) user", "deny Read(./secret) is now in force", user, `"Read(./secret)"`, ""},
		{"permissions remove Bash(make:*)", "allow Bash(make:*) of", local, "", "make"},
		{"permissions remove Bash(mkae:*)", `there is no rule "Bash(mkae:*)"`, local, "", "make"},
		{"permissions add allow Bash(", "could not add the rule", local, "", "Bash("},
		{"config calls.afterFailure cancel project", "calls.afterFailure is set to cancel in", filepath.Join(r.dir, ".claude", "settings.json"), `"afterFailure": "cancel"`, ""},
		{"config calls.afterFailure sometimes project", `calls.afterFailure accepts one of continue, cancel, not "sometimes"`, filepath.Join(r.dir, ".claude", "settings.json"), "cancel", "sometimes"},
		{"config agents.maxRunning -3", "accepts a whole number of at least 0", user, "", "maxRunning"},
		{"config permissions.defaultMode wild", "wild", user, "", "wild"},
		{"config model other", "model is set to other in ~/.claude/settings.json. It takes effect with the next request.", user, `"model": "other"`, ""},
		{"config unset model", "model is no longer set in", user, "", `"model"`},
		{"memory add project run make lint first", "Added to " + filepath.Join(r.dir, "AGENTS.md"), filepath.Join(r.dir, "AGENTS.md"), "- run make lint first\n", ""},
		{"export talk.md", "The conversation is in " + filepath.Join(r.dir, "talk.md"), filepath.Join(r.dir, "talk.md"), "## user\n\nhello", ""},
		{"export talk.html", "The conversation is in", filepath.Join(r.dir, "talk.html"), "<pre>hello</pre>", ""},
		{"export talk.md", "already exists", filepath.Join(r.dir, "talk.md"), "hello", ""},
		{"memory add nowhere x", "type /memory", filepath.Join(r.dir, "AGENTS.md"), "make lint", "x\n"},
	}
	for _, s := range steps {
		name, args, _ := strings.Cut(s.typed, " ")
		before, _ := os.ReadFile(s.file)
		if _, _, err := answers.Run(c, nil, name, args); err == nil || !strings.Contains(err.Error(), "run haft in a terminal") {
			t.Errorf("/%s for a program: %v", s.typed, err)
		}
		if after, _ := os.ReadFile(s.file); string(after) != string(before) {
			t.Errorf("/%s changed %s for a program", s.typed, s.file)
		}
		if text, ok := answerOf(c, nil, name, args); !ok || !strings.Contains(text, s.says) {
			t.Errorf("/%s says %q, want %q", s.typed, text, s.says)
		}
		got, _ := os.ReadFile(s.file)
		if !strings.Contains(string(got), s.has) || s.hasNot != "" && strings.Contains(string(got), s.hasNot) {
			t.Errorf("after /%s %s is %s", s.typed, s.file, got)
		}
	}
	if got := c.Rules(); len(got) != 1 || got[0].Text != "Read(./secret)" || got[0].Origin.File != user {
		t.Errorf("in force: %+v", got)
	}
	if model := c.Agent.ContextUsage().Model; model != "other" {
		t.Errorf("the model is %s", model)
	}
}

// answerOf is what a user at a terminal is answered, an error too.
func answerOf(c *harness.Conversation, words *lang.Catalogue, name, args string) (string, bool) {
	text, ok, err := answers.AtTerminal(c, words, name, args)
	if err != nil {
		text = err.Error()
	}
	return text, ok
}
