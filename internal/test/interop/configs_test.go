package interop_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/model/script"
)

// A config is what somebody has configured, one call of the model, and what comes of it. The
// shapes are those of public repositories; the texts are ours.
type config struct {
	name string
	// settings is the user's settings file; files are others, by their path below the home
	// folder, or the project's if it begins with P/.
	settings string
	files    map[string]string
	// tool and input are the model's call; "" means none. prompt is what the user types; ""
	// means something of no importance.
	tool, input, prompt string
	// want says whether the call is denied, or what the requests to the model contain:
	// "denied", "runs", "sees TEXT", "sees no TEXT", or how the program exits: "exits with N".
	want string
	// reference is what Claude Code does instead, and why haft does not; "" means the same.
	reference, why string
}

// bashRules are lists of rules with one rule, and a command: list, rule, command, verdict.
var bashRules = []string{
	"allow|Bash(make:*)|make all|runs",
	"allow|Bash(make:*)|makeshift all|denied",
	"allow|Bash(make *)|make all|runs",
	"allow|Bash(make all)|make all|runs",
	"allow|Bash(make all)|make all install|denied",
	"allow|Bash(npm run test:*)|npm run test:unit|denied",
	"allow|Bash(npm run:*)|npm run build|runs",
	"allow|Bash(npm run:*)|npm install|denied",
	"allow|Bash(go test:*)|go test ./...|runs",
	"allow|Bash(go test:*)|go test ./... && go build ./...|denied",
	"allow|Bash(git commit:*)|git commit -m 'a message'|runs",
	"allow|Bash(git commit:*)|git commit -m \"a message\"|runs",
	"allow|Bash(git push:*)|git push origin main|runs",
	"allow|Bash(git push:*)|git pull|denied",
	"allow|Bash(touch \"a b\")|touch \"a b\"|runs",
	"allow|Bash(touch \"a b\")|touch \"a c\"|denied",
	"allow|Bash(\"./tools/pack\" --all)|\"./tools/pack\" --all|runs",
	"allow|Bash(FLAVOR=\"plain x\" make)|FLAVOR=\"plain x\" make|runs",
	"allow|Bash(node -e 'console.log(1)')|node -e 'console.log(1)'|runs",
	"allow|Bash(docker compose:*)|docker compose up -d|runs",
	"allow|Bash(timeout 5 make:*)|timeout 5 make x|runs",
	"allow|Bash(./gradlew:*)|./gradlew check|runs",
	"allow|Bash(./scripts/release.sh:*)|./scripts/release.sh 1.2|runs",
	"allow|Bash(curl:*)|curl -s http://127.0.0.1:1/x|runs",
	"allow|Bash(python3 -m pytest:*)|python3 -m pytest -x|runs",
	"allow|Bash(python3 -m pytest:*)|python3 -m pip install x|denied",
	"allow|Bash|make anything|runs",
	"allow|Bash(*)|make anything|runs",
	"allow|Edit|make anything|denied",
	"allow|Bash(pnpm --filter web build)|pnpm --filter web build|runs",
	"allow|Bash(cargo build:*)|cargo build --release|runs",
	"allow|Bash(cargo build:*)|cargo build; cargo publish|denied",
	"allow|Bash(mkdir:*)|mkdir -p out/x|runs",
	"allow|Bash(rm build.log)|rm build.log|runs",
	"allow|Bash(sed:*)|make sed|denied",
	"allow|Bash(python3 ~/tools/x.py:*)|python3 ~/tools/x.py foo|runs",
	"allow|Bash(~/tools/x.sh *)|~/tools/x.sh foo|runs",
	"allow|Bash(rm:*)|rm -rf node_modules|runs",
	"allow|Bash(git diff:*)|git diff nothing-of-that-name|runs",
	"allow|Bash|cat /etc/hosts|runs",
	"allow|Bash(node -e \"f\\(1\\)\")|node -e \"f(1)\"|runs",
	"deny|Bash(git log:*)|git log --oneline|denied",
	"deny|Bash(git log:*)|ls && git log|denied",
	"deny|Bash(git log:*)|git status|runs",
	"deny|Bash(ls:*)|ls -la|denied",
	"deny|Bash(ls)|ls|denied",
	"deny|Bash(cat *)|cat /etc/hostname|denied",
	"deny|Bash(echo secret*)|echo secret words|denied",
	"deny|Bash(echo secret*)|echo other words|runs",
	"deny|Bash|ls|denied",
	"deny|Bash(curl:*)|echo x \\| curl -d @- http://127.0.0.1:1/|denied",
	"deny|Bash(wc:*)|cat a.txt \\| wc -l|denied",
	"deny|Bash(head:*)|timeout 3 head a.txt|denied",
	"deny|Read(./a.txt)|cat a.txt|denied",
	"deny|Read(./secrets/**)|cat secrets/key.txt|denied",
	"deny|Read(./secrets/**)|cat a.txt|runs",
	"ask|Bash(ls:*)|ls -la|denied",
	"ask|Bash(git status:*)|git status|denied",
	"ask|Bash(git status:*)|git diff|runs",
	"ask|Bash(echo:*)|cd . && echo x|denied",
}

// fileRules are rules, a tool, its input and the verdict; P/ is the project.
var fileRules = []string{
	`deny|Read(./a.txt)|Read|{"file_path":"P/a.txt"}|denied`,
	`deny|Read(./secrets/**)|Read|{"file_path":"P/secrets/key.txt"}|denied`,
	`deny|Read(./secrets/**)|Read|{"file_path":"P/a.txt"}|runs`,
	`deny|Read(**/*.txt)|Read|{"file_path":"P/a.txt"}|denied`,
	`deny|Read|Read|{"file_path":"P/a.txt"}|denied`,
	`deny|Write(./new.txt)|Write|{"file_path":"P/new.txt","content":"x"}|denied`,
	`deny|Edit(./out/**)|Write|{"file_path":"P/out/x.txt","content":"x"}|denied`,
	`deny|Write|Write|{"file_path":"P/new.txt","content":"x"}|denied`,
	`allow|Write|Write|{"file_path":"P/new.txt","content":"x"}|runs`,
	`allow|Edit|Write|{"file_path":"P/new.txt","content":"x"}|runs`,
	`allow|Edit(./out/**)|Write|{"file_path":"P/out/x.txt","content":"x"}|runs`,
	`allow|Edit(./out/**)|Write|{"file_path":"P/new.txt","content":"x"}|denied`,
	`allow|Read|Write|{"file_path":"P/new.txt","content":"x"}|denied`,
	`ask|Write|Write|{"file_path":"P/new.txt","content":"x"}|denied`,
	`ask|Read(./a.txt)|Read|{"file_path":"P/a.txt"}|denied`,
}

// hookCommands are hooks of Bash as one-liners: event, matcher, command, verdict on a call of
// Bash that would run.
var hookCommands = []string{
	`PreToolUse|Bash|exit 0|runs`,
	`PreToolUse|Bash|exit 2|denied`,
	`PreToolUse|Bash|exit 1|runs`,
	`PreToolUse|Bash|exit 127|runs`,
	`PreToolUse|Bash|no-such-program-here check|runs`,
	`PreToolUse|Bash|"$CLAUDE_PROJECT_DIR"/no/such/hook.sh|runs`,
	`PreToolUse|Bash|echo no >&2; exit 2|denied`,
	`PreToolUse|Edit|exit 2|runs`,
	`PreToolUse|Edit\|Bash|exit 2|denied`,
	`PreToolUse||exit 2|denied`,
	`PreToolUse|*|exit 2|denied`,
	`PreToolUse|.*|exit 2|denied`,
	`PreToolUse|Ba.h|exit 2|denied`,
	`PreToolUse|bash|exit 2|runs`,
	`PreToolUse|Bash|echo '{"decision":"block","reason":"no"}'|denied`,
	`PreToolUse|Bash|echo '{"decision":"approve"}'|runs`,
	`PreToolUse|Bash|echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}'|denied`,
	`PreToolUse|Bash|echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'|runs`,
	`PreToolUse|Bash|echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}'|denied`,
	`PreToolUse|Bash|echo just words|runs`,
	`PreToolUse|Bash|grep -q 'echo hello' && exit 2; exit 0|denied`,
	`PreToolUse|Bash|grep -q 'rm -rf' && exit 2; exit 0|runs`,
	`PreToolUse|Bash|if [ -f a.txt ]; then exit 2; fi|denied`,
	`PreToolUse|Bash|if [ -f missing.txt ]; then exit 2; fi|runs`,
	`PreToolUse|Bash|test -n "$CLAUDE_PROJECT_DIR" \|\| exit 2|runs`,
	`PreToolUse|Bash|cat >/dev/null; true|runs`,
	`PostToolUse|Bash|exit 2|runs`,
	`PostToolUse|Bash|exit 1|runs`,
	`UserPromptSubmit||exit 1|runs`,
	`SessionStart||exit 2|runs`,
	`Stop||exit 1|runs`,
}

func settingsWith(list, rule string) string {
	text, _ := json.Marshal(map[string]any{"permissions": map[string]any{list: []string{rule}}})
	return string(text)
}

// fields splits a line at bars; \| is a bar.
func fields(line string) []string {
	parts := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\x00", "|")
	}
	return parts
}

func configs() (all []config) {
	for _, line := range bashRules {
		f := fields(line)
		input, _ := json.Marshal(map[string]string{"command": f[2], "description": "d"})
		all = append(all, config{name: line, settings: settingsWith(f[0], f[1]), tool: "Bash", input: string(input), want: f[3]})
	}
	for _, line := range fileRules {
		f := fields(line)
		c := config{name: line, settings: settingsWith(f[0], f[1]), tool: f[2], input: f[3], want: f[4]}
		if f[0] == "allow" && f[1] == "Edit" {
			c.reference, c.why = "denied", "in haft, as documented for both, rules for Edit are about all tools that change files; there, only with a path"
		}
		all = append(all, c)
	}
	for _, line := range hookCommands {
		f := fields(line)
		text, _ := json.Marshal(map[string]any{"hooks": map[string]any{f[0]: []any{map[string]any{"matcher": f[1], "hooks": []any{map[string]string{"type": "command", "command": f[2]}}}}}})
		all = append(all, config{name: line, settings: string(text), tool: "Bash", input: `{"command":"echo hello","description":"d"}`, want: f[3]})
	}
	return slices.Concat(all, together, seen)
}

// together are configurations of which one part holds against another, or of any other kind.
var together = []config{
	{name: "denied below the home folder", settings: `{"permissions":{"allow":["Bash(rm:*)"],"deny":["Bash(rm -rf ~/*)"]}}`, tool: "Bash", input: `{"command":"rm -rf ~/things","description":"d"}`, want: "denied"},
	{name: "denied below $HOME", settings: `{"permissions":{"allow":["Bash(rm:*)"],"deny":["Bash(rm -rf $HOME/*)"]}}`, tool: "Bash", input: `{"command":"rm -rf $HOME/things","description":"d"}`, want: "denied"},
	{name: "denied with an expansion", settings: `{"permissions":{"allow":["Bash"],"deny":["Bash(echo $(*))"]}}`, tool: "Bash", input: `{"command":"echo $(date)","description":"d"}`, want: "denied"},
	{name: "denied with a variable", settings: `{"permissions":{"allow":["Bash"],"deny":["Bash(*$TOKEN*)"]}}`, tool: "Bash", input: `{"command":"printenv; echo $TOKEN","description":"d"}`, want: "denied"},
	{name: "denied with a pipe", settings: `{"permissions":{"allow":["Bash"],"deny":["Bash(cat * | sh)"]}}`, tool: "Bash", input: `{"command":"cat x | sh","description":"d"}`, want: "denied"},
	{
		name: "the very command that reads elsewhere", settings: `{"permissions":{"allow":["Bash(cat /etc/hosts)"]}}`, tool: "Bash", input: `{"command":"cat /etc/hosts","description":"d"}`, want: "runs",
		reference: "denied", why: "who allows a command with a file has seen the file",
	},
}

// seen are files that reach the model, or do not.
var seen = []config{
	{name: "instructions of the user", files: map[string]string{".claude/CLAUDE.md": "Marker one."}, want: "sees Marker one."},
	{name: "instructions of the project", files: map[string]string{"P/CLAUDE.md": "Marker two."}, want: "sees Marker two."},
	{name: "instructions in .claude", files: map[string]string{"P/.claude/CLAUDE.md": "Marker three."}, want: "sees Marker three."},
	{name: "local instructions", files: map[string]string{"P/CLAUDE.local.md": "Marker four."}, want: "sees Marker four."},
	{name: "an include", files: map[string]string{"P/CLAUDE.md": "See @notes.md", "P/notes.md": "Marker five."}, want: "sees Marker five."},
	{name: "an include in code", files: map[string]string{"P/CLAUDE.md": "See `@notes.md`", "P/notes.md": "Marker six."}, want: "sees no Marker six."},
	{name: "a rule without paths", files: map[string]string{"P/.claude/rules/style.md": "Marker seven."}, want: "sees Marker seven."},
	{name: "a rule for other files", files: map[string]string{"P/.claude/rules/style.md": "---\npaths: \"**/*.rb\"\n---\nMarker eight."}, want: "sees no Marker eight."},
	{name: "a skill is listed", files: map[string]string{".claude/skills/boats/SKILL.md": "---\nname: boats\ndescription: Folds boats of paper\n---\nFold."}, want: "sees Folds boats of paper"},
	{name: "its text is not", files: map[string]string{".claude/skills/boats/SKILL.md": "---\nname: boats\ndescription: Folds boats\n---\nMarker nine."}, want: "sees no Marker nine."},
	{name: "a skill only for users", files: map[string]string{".claude/skills/boats/SKILL.md": "---\nname: boats\ndescription: Marker ten\ndisable-model-invocation: true\n---\nFold."}, want: "sees no Marker ten"},
	{name: "a skill with a sloppy description", files: map[string]string{".claude/skills/boats/SKILL.md": "---\nname: boats\ndescription: Use when: folding boats\n---\nFold."}, want: "sees folding boats"},
	{name: "a skill is loaded", files: map[string]string{".claude/skills/boats/SKILL.md": "---\nname: boats\ndescription: Folds\n---\nMarker eleven."}, tool: "Skill", input: `{"skill":"boats"}`, want: "sees Marker eleven."},
	{name: "a command is typed", files: map[string]string{".claude/commands/fold.md": "Fold a boat of $ARGUMENTS."}, prompt: "/fold tin", want: "sees Fold a boat of tin."},
	{name: "a command with arguments by number", files: map[string]string{".claude/commands/fold.md": "Fold $1 and $2."}, prompt: "/fold tin lead", want: "sees Fold tin and lead.", reference: "sees no Fold tin and lead.", why: "it counts arguments from zero; files are written with $1 for the first"},
	{name: "a command in a folder", files: map[string]string{".claude/commands/paper/fold.md": "Fold in a folder."}, prompt: "/paper:fold", want: "sees Fold in a folder."},
	{name: "a skill is typed", files: map[string]string{".claude/skills/boats/SKILL.md": "---\nname: boats\ndescription: Folds\n---\nMarker twelve."}, prompt: "/boats", want: "sees Marker twelve."},
	{name: "an agent is listed", files: map[string]string{".claude/agents/smith.md": "---\nname: smith\ndescription: Forges tin boats\n---\nYou forge."}, want: "sees Forges tin boats"},
	{name: "an agent with tools", files: map[string]string{".claude/agents/smith.md": "---\nname: smith\ndescription: Forges lead boats\ntools: Read, Grep\nmodel: haiku\ncolor: blue\n---\nYou forge."}, want: "sees Forges lead boats"},
	{name: "a prompt hook's text", settings: `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo Marker thirteen."}]}]}}`, want: "sees Marker thirteen."},
	{name: "a start hook's text", settings: `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo Marker fourteen."}]}]}}`, want: "sees Marker fourteen."},
	{name: "a start hook for resumed sessions", settings: `{"hooks":{"SessionStart":[{"matcher":"resume","hooks":[{"type":"command","command":"echo Marker fifteen."}]}]}}`, want: "sees no Marker fifteen."},
	{name: "a hook's context", settings: `{"hooks":{"PostToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"Marker sixteen.\"}}'"}]}]}}`, tool: "Bash", input: `{"command":"echo x","description":"d"}`, want: "sees Marker sixteen."},
	{name: "the reason of a hook", settings: `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo Marker seventeen. >&2; exit 2"}]}]}}`, tool: "Bash", input: `{"command":"echo x","description":"d"}`, want: "sees Marker seventeen."},
	{name: "a variable of the settings", settings: `{"env":{"BOAT":"marker-eighteen"},"permissions":{"allow":["Bash"]}}`, tool: "Bash", input: `{"command":"echo \"$BOAT\"","description":"d"}`, want: "sees marker-eighteen"},
	{name: "a default mode", settings: `{"permissions":{"defaultMode":"acceptEdits"}}`, tool: "Write", input: `{"file_path":"P/new.txt","content":"x"}`, want: "runs"},
	{name: "plan mode", settings: `{"permissions":{"defaultMode":"plan"}}`, tool: "Write", input: `{"file_path":"P/new.txt","content":"x"}`, want: "denied"},
	{name: "instructions that are very long", files: map[string]string{"P/CLAUDE.md": strings.Repeat("Paint each boat.\n", 8000) + "Marker nineteen."}, want: "sees Marker nineteen."},
	{name: "a hook that ends the turn", settings: `{"hooks":{"PostToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo '{\"continue\":false,\"stopReason\":\"enough\"}'"}]}]}}`, tool: "Bash", input: `{"command":"echo x","description":"d"}`, want: "exits with 0"},
	{name: "keys that nobody knows", settings: `{"theme":"dark","somethingElse":{"a":1},"permissions":{"allow":["Bash(make:*)"]}}`, tool: "Bash", input: `{"command":"make x","description":"d"}`, want: "runs"},
}

// play runs a configuration with a program, and returns its verdict on the call, all that the
// model was sent, and the exit code.
func play(t *testing.T, program string, c config, own ...string) (denied bool, sent string, code int) {
	t.Helper()
	home, project := t.TempDir(), t.TempDir()
	fill := strings.NewReplacer("P/", project+"/").Replace
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range c.files {
		if below, ok := strings.CutPrefix(path, "P/"); ok {
			write(filepath.Join(project, below), text)
		} else {
			write(filepath.Join(home, path), text)
		}
	}
	for _, name := range []string{"a.txt", "secrets/key.txt", "build.log"} {
		write(filepath.Join(project, name), "words\n")
	}
	if c.settings != "" {
		write(filepath.Join(home, ".claude", "settings.json"), c.settings)
	}
	if out, err := exec.Command("git", "-C", project, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server, err := script.Serve(&script.Options{Answer: func(q *script.Request) script.Turn {
		if c.tool != "" && q.Turn == 0 && q.Tools > 0 {
			return script.Turn{Blocks: []script.Block{{Tool: c.tool, Input: json.RawMessage(fill(c.input))}}}
		}
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	prompt := c.prompt
	if prompt == "" {
		prompt = "Work."
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-p", prompt, "--output-format", "json", "--model", "claude-opus-4-8"}, own...)...)
	cmd.Dir = project
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + server.URL(), "ANTHROPIC_API_KEY=scripted",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1", "TMPDIR=" + t.TempDir(),
	}
	out, err := cmd.Output()
	var result struct {
		Denials []json.RawMessage `json:"permission_denials"`
	}
	if json.Unmarshal(out, &result) != nil {
		t.Fatalf("%v: the program printed %q", err, out)
	}
	for _, q := range server.Requests() {
		sent += string(q.Body) + "\n"
	}
	// A tool that a rule denies as a whole is not offered. Claude Code lists a file that a rule
	// hides among the errors of the tool.
	refused := c.tool != "Bash" && strings.Contains(sent, `"is_error":true`)
	first := ""
	for _, q := range server.Requests() {
		if q.Tools > 0 {
			first = string(q.Body)
			break
		}
	}
	return refused || len(result.Denials) > 0 || c.tool != "" && !strings.Contains(first, fmt.Sprintf(`"name":%q`, c.tool)), sent, cmd.ProcessState.ExitCode()
}

// outcome says whether what comes of a configuration is what is wanted; "" means yes.
func outcome(want string, denied bool, sent string, code int) string {
	if text, ok := strings.CutPrefix(want, "exits with "); ok {
		if fmt.Sprint(code) != text {
			return fmt.Sprintf("exits with %d", code)
		}
		return ""
	}
	if text, ok := strings.CutPrefix(want, "sees no "); ok {
		if strings.Contains(sent, text) {
			return "the model sees " + text
		}
		return ""
	}
	if text, ok := strings.CutPrefix(want, "sees "); ok {
		if !strings.Contains(sent, text) {
			return "the model does not see " + text
		}
		return ""
	}
	if denied != (want == "denied") {
		return fmt.Sprintf("denied: %t", denied)
	}
	return ""
}

// TestConfigurationsAsPeopleWriteThem runs more than 120 configurations with haft.
func TestConfigurationsAsPeopleWriteThem(t *testing.T) {
	all := configs()
	if len(all) < 120 {
		t.Errorf("only %d configurations", len(all))
	}
	haft := build(t)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			denied, sent, code := play(t, haft, c, "--preview", "off")
			if wrong := outcome(c.want, denied, sent, code); wrong != "" {
				t.Errorf("%s; want %s", wrong, c.want)
			}
		})
	}
}

// TestConfigurationsBesideReference runs them with Claude Code: each is the same there, or
// says what is different and why.
func TestConfigurationsBesideReference(t *testing.T) {
	claude := reference(t)
	for _, c := range configs() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			denied, sent, code := play(t, claude, c)
			want := c.want
			if c.reference != "" {
				want = c.reference
			}
			if wrong := outcome(want, denied, sent, code); wrong != "" {
				t.Errorf("%s; want %s (%s)", wrong, want, c.why)
			}
		})
	}
}
