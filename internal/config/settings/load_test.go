package settings_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/tool"
)

// A place is a machine with settings files.
type place struct {
	t             *testing.T
	home, project string
	managed       string
}

func newPlace(t *testing.T) *place {
	dir := t.TempDir()
	p := &place{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), managed: filepath.Join(dir, "managed.json")}
	for _, d := range []string{p.home, p.project} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *place) write(base, name, text string) string {
	p.t.Helper()
	path := filepath.Join(base, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *place) options() *settings.Options {
	return &settings.Options{Home: p.home, Project: p.project, Managed: []string{p.managed}}
}

func (p *place) load() *settings.Settings {
	p.t.Helper()
	s, err := settings.Load(p.options())
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// at is an origin written short.
func (p *place) at(o settings.Origin) string {
	s := strings.NewReplacer(p.home, "~", p.project, "P", p.managed, "M").Replace(o.String())
	return o.Source.String() + " " + filepath.ToSlash(s)
}

func (p *place) problems(s *settings.Settings) []string {
	var all []string
	for _, problem := range s.Problems() {
		all = append(all, strings.NewReplacer(p.home, "~", p.project, "P", p.managed, "M").Replace(problem.String()))
	}
	return all
}

func TestEveryFileIsReadInOrder(t *testing.T) {
	p := newPlace(t)
	p.write(p.home, ".claude/settings.json", "{\"permissions\": {\n\"allow\": [\n\"UserClaude\"]}}")
	p.write(p.home, ".haft/settings.json", `{"permissions": {"allow": ["UserHaft"]}}`)
	p.write(p.project, ".claude/settings.json", `{"permissions": {"allow": ["ProjectClaude"]}}`)
	p.write(p.project, ".haft/settings.json", `{"permissions": {"allow": ["ProjectHaft"]}}`)
	p.write(p.project, ".claude/settings.local.json", `{"permissions": {"allow": ["LocalClaude"]}}`)
	p.write(p.project, ".haft/settings.local.json", "// mine\n{\"permissions\": {\"allow\": [\n  \"LocalHaft\", // a\n  /* b\n */ \"Second\",\n]}}")
	p.write(p.managed, "", `{"permissions": {"allow": ["Managed"]}}`)
	opts := p.options()
	opts.Flag = `{"permissions": {"allow": ["Flag"]}}`
	s, err := settings.Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	session, err := settings.Parse(settings.Session, "", []byte(`{"permissions": {"allow": ["Session"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.With(session).Rules(tool.Allow) {
		got = append(got, r.Text+" "+p.at(r.Origin))
	}
	want := []string{
		"Managed managed M:1",
		"Session session session settings",
		"Flag flag flag settings",
		"LocalHaft local P/.haft/settings.local.json:3",
		"Second local P/.haft/settings.local.json:5",
		"LocalClaude local P/.claude/settings.local.json:1",
		"ProjectHaft project P/.haft/settings.json:1",
		"ProjectClaude project P/.claude/settings.json:1",
		"UserHaft user ~/.haft/settings.json:1",
		"UserClaude user ~/.claude/settings.json:3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if problems := p.problems(s); problems != nil {
		t.Errorf("problems: %q", problems)
	}
}

func TestSingleValuesComeFromTheFirstThatHasThem(t *testing.T) {
	p := newPlace(t)
	p.write(p.home, ".claude/settings.json", `{"model": "user", "permissions": {"defaultMode": "plan", "additionalDirectories": ["/a"]}, "env": {"A": "user", "B": "user"}, "mcpServers": {"x": {"command": "user"}}}`)
	p.write(p.project, ".claude/settings.json", `{"model": "project", "permissions": {"additionalDirectories": ["../b"]}, "env": {"A": "project"}}`)
	p.write(p.project, ".mcp.json", `{"mcpServers": {"x": {"command": "mcp"}, "y": {"url": "u"}}}`)
	s := p.load()
	model, _ := s.Text("model")
	mode, _ := s.Mode()
	got := []string{model.Text + " " + p.at(model.Origin), mode.Text + " " + p.at(mode.Origin)}
	for _, d := range s.Directories() {
		got = append(got, d.Text+" "+p.at(d.Origin))
	}
	for _, v := range s.Env() {
		got = append(got, v.Name+"="+v.Text.Text+" "+p.at(v.Origin))
	}
	for _, m := range s.MCPServers() {
		got = append(got, m.Name+" "+string(m.JSON)+" "+p.at(m.Origin))
	}
	want := []string{
		"project project P/.claude/settings.json:1",
		"plan user ~/.claude/settings.json:1",
		"../b project P/.claude/settings.json:1",
		"/a user ~/.claude/settings.json:1",
		"A=project project P/.claude/settings.json:1",
		"B=user user ~/.claude/settings.json:1",
		`x {"command":"mcp"} project P/.mcp.json:1`,
		`y {"url":"u"} project P/.mcp.json:1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestFaultsAreReportedAndNotFatal(t *testing.T) {
	p := newPlace(t)
	p.write(p.home, ".claude/settings.json", "{\n  \"permissions\": {\"allow\": \"Bash\", \"deny\": [\"A\", 1], \"denny\": []},\n  \"model\": 3,\n  \"modle\": \"x\",\n  \"mine\": {\"kept\": true},\n  \"env\": {\"A\": 1, \"B\": \"b\"},\n  \"theme\": null,\n  \"language\": \"x\", \"language\": \"y\"\n}")
	p.write(p.home, ".haft/settings.json", "{\n  \"permissions\": {,}\n}")
	p.write(p.project, ".claude/settings.json", `[1]`)
	p.write(p.project, ".haft/settings.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "oracle"}, {"type": "command"}, {"type": "command", "command": "x", "timeout": "1", "on_error": "deny"}, {"type": "command", "command": "x", "onerror": "block"}]}, {"matcher": 1, "hooks": []}, 1, {}, {"matcher": "Bash", "if": "Bash(rm:*)", "hooks": []}], "Nothing": []}}`)
	p.write(p.project, ".haft/settings.local.json", strings.Repeat(" ", 1<<20)+"{}")
	p.write(p.project, ".claude/settings.local.json", "{\n  \"model\": \"opus\"\n\n")
	p.write(p.project, ".mcp.json", `{"permissions": {"allow": ["Bash"]}, "mcpServers": {"x": 1}}`)
	p.write(p.managed, "", strings.Repeat(`{"a":`, 1000))
	s := p.load()
	want := []string{
		`M:1: it could not be understood: line 1: values are nested more than 200 deep`,
		`P/.haft/settings.local.json:1: it could not be read: larger than 1048576 bytes`,
		`P/.claude/settings.local.json:2: it could not be understood: line 2: the file ends too early`,
		`P/.haft/settings.json:1: hooks.PreToolUse[0].hooks[0]: haft does not support the type "oracle", only command, http, prompt and agent: the hook does not run, and what it guards is blocked`,
		`P/.haft/settings.json:1: hooks.PreToolUse[0].hooks[1]: a command hook needs a command: the hook does not run, and what it guards is blocked`,
		`P/.haft/settings.json:1: hooks.PreToolUse[0].hooks[2]: timeout must be a number of seconds, at most a day: the hook does not run, and what it guards is blocked`,
		`P/.haft/settings.json:1: hooks.PreToolUse[0].hooks[3].onerror is not a known key; did you mean on_error?`,
		`P/.haft/settings.json:1: hooks.PreToolUse[1]: the matcher must be a string`,
		`P/.haft/settings.json:1: hooks.PreToolUse[2] must be an object with a matcher (a string) and hooks (a list): it is ignored`,
		`P/.haft/settings.json:1: hooks.PreToolUse[3] has no list of hooks: it is ignored`,
		`P/.haft/settings.json:1: hooks.PreToolUse[4].if has no effect beside the matcher: write it into each of the hooks`,
		`P/.haft/settings.json:1: hooks.Nothing is not a known event, so its hooks never run`,
		`P/.claude/settings.json:1: it could not be understood: line 1: settings must be a JSON object, such as {}`,
		`P/.mcp.json:1: permissions is not a known key`,
		`P/.mcp.json:1: mcpServers.x must contain an object, not a number: the entry is ignored`,
		`~/.haft/settings.json:2: it could not be understood: line 2, column 19: invalid character ',' at start of value`,
		`~/.claude/settings.json:8: language occurs twice: only the last one is used`,
		`~/.claude/settings.json:2: permissions.allow must be a list of strings, not a string: it is ignored`,
		`~/.claude/settings.json:2: permissions.deny must contain a string, not a number: the entry is ignored`,
		`~/.claude/settings.json:2: permissions.denny is not a known key; did you mean deny?`,
		`~/.claude/settings.json:3: model must be a string, not a number: it is ignored`,
		`~/.claude/settings.json:4: modle is not a known key; did you mean model?`,
		`~/.claude/settings.json:5: mine is not a known key`,
		`~/.claude/settings.json:6: env.A must contain a string, not a number: the entry is ignored`,
		`~/.claude/settings.json:8: language has no effect in haft`,
	}
	if diff := cmp.Diff(want, p.problems(s)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if v, ok := s.Lookup("mine", "kept"); !ok || string(v.JSON) != "true" {
		t.Errorf("an unknown key is lost: %q", v.JSON)
	}
	if v, ok := s.Text("language"); !ok || v.Text != "y" {
		t.Errorf("language is %q, want the last one", v.Text)
	}
	if rules := s.Rules(tool.Allow); rules != nil {
		t.Errorf("allow rules: %v", rules)
	}
	if _, ok := s.Lookup("theme"); ok {
		t.Error("null counts as a value")
	}
}

func TestALinkOutOfTheProjectIsRefused(t *testing.T) {
	for _, link := range []string{".claude", ".claude/settings.json"} {
		p := newPlace(t)
		target := p.write(p.home, "evil/settings.json", `{"permissions": {"allow": ["Bash"]}}`)
		from := filepath.Join(p.project, link)
		if strings.Contains(link, "/") {
			p.write(p.project, ".claude/x", "")
		} else {
			target = filepath.Dir(target)
		}
		if err := os.Symlink(target, from); err != nil {
			t.Skipf("no links here: %v", err)
		}
		s := p.load()
		want := []string{"P/.claude/settings.json:1: it could not be read: path escapes from parent"}
		got := p.problems(s)
		if link == ".claude" {
			want = append([]string{"P/.claude/settings.local.json:1: it could not be read: path escapes from parent"}, want...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", link, diff)
		}
		if rules := s.Rules(tool.Allow); rules != nil {
			t.Errorf("%s: rules from outside count: %v", link, rules)
		}
	}
}

func TestAUsersFileMayBeALink(t *testing.T) {
	p := newPlace(t)
	target := p.write(p.home, "dotfiles/claude.json", `{"model": "x"}`)
	p.write(p.home, ".claude/x", "")
	if err := os.Symlink(target, filepath.Join(p.home, ".claude/settings.json")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if v, _ := p.load().Text("model"); v.Text != "x" {
		t.Errorf("model is %q", v.Text)
	}
}

func TestSourcesCanBeLeftOut(t *testing.T) {
	p := newPlace(t)
	p.write(p.home, ".claude/settings.json", `{"model": "user"}`)
	p.write(p.project, ".claude/settings.json", `{"model": "project"}`)
	p.write(p.managed, "", `{"language": "managed"}`)
	opts := p.options()
	opts.Sources = []settings.Source{settings.User}
	s, err := settings.Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Files() {
		got = append(got, f.Source.String())
	}
	if diff := cmp.Diff([]string{"managed", "user"}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

func TestAHomeThatIsTheProjectIsReadOnce(t *testing.T) {
	p := newPlace(t)
	p.project = p.home
	p.write(p.home, ".claude/settings.json", `{"permissions": {"allow": ["A"]}}`)
	rules := p.load().Rules(tool.Allow)
	if len(rules) != 1 || rules[0].Source != settings.User {
		t.Errorf("rules: %v", rules)
	}
}

func TestTheFlagIsAFileOrJSON(t *testing.T) {
	p := newPlace(t)
	file := p.write(p.home, "x.json", `{"model": "file"}`)
	tests := []struct {
		name, flag, model, want string
	}{
		{"a file", file, "file", ""},
		{"JSON", ` {"model": "json"} `, "json", ""},
		{"a file that is not there", filepath.Join(p.home, "y"), "", "no such file"},
		{"JSON with a fault", `{"model" "x"}`, "", "line 1, column 10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := p.options()
			opts.Flag = tt.flag
			s, err := settings.Load(opts)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error %v, want one with %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := s.Text("model"); v.Text != tt.model {
				t.Errorf("model is %q, want %q", v.Text, tt.model)
			}
		})
	}
}

func TestTheAdministratorCanReserveRulesAndHooks(t *testing.T) {
	p := newPlace(t)
	hook := func(command string) string {
		return `"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "` + command + `"}]}]}`
	}
	p.write(p.home, ".claude/settings.json", `{"allowManagedHooksOnly": false, "permissions": {"allow": ["U"], "deny": ["D"], "disableBypassPermissionsMode": "disable"}, `+hook("user")+`}`)
	p.write(p.managed, "", `{"allowManagedPermissionRulesOnly": true, "allowManagedHooksOnly": true, "permissions": {"allow": ["M"]}, `+hook("managed")+`}`)
	s := p.load()
	var got []string
	for _, b := range []tool.Behavior{tool.Allow, tool.Deny} {
		for _, r := range s.Rules(b) {
			got = append(got, b.String()+" "+r.Text)
		}
	}
	for _, h := range s.Hooks() {
		got = append(got, h.Command)
	}
	if diff := cmp.Diff([]string{"allow M", "deny D", "managed"}, got); diff != "" {
		t.Errorf("what counts (-want +got):\n%s", diff)
	}
	_, bypass := s.Disabled("bypassPermissions")
	_, auto := s.Disabled("auto")
	_, plan := s.Disabled("plan")
	if !bypass || auto || plan {
		t.Error("the disabled modes are wrong")
	}
}

func TestPruneDropsByPath(t *testing.T) {
	p := newPlace(t)
	p.write(p.project, ".claude/settings.json", "{\"permissions\": {\"allow\": [\"A\",\n\"B\"], \"deny\": [\"C\"]}, \"model\": \"x\", \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"a\"}, {\"type\": \"command\", \"command\": \"b\"}]}]}}")
	s := p.load()
	hook := strings.Join(s.Hooks()[1].Path, "/")
	pruned := s.Prune(func(p settings.Place) settings.Choice {
		switch path := strings.Join(p.Path, "/"); {
		case path == "permissions/allow/1", path == "permissions/deny", path == hook:
			return settings.Keep
		case path == "permissions", path == "permissions/allow", strings.HasPrefix(hook, path):
			return settings.Enter
		}
		return settings.Drop
	})
	var got []string
	for _, b := range []tool.Behavior{tool.Allow, tool.Deny} {
		for _, r := range pruned.Rules(b) {
			got = append(got, r.Text+" "+p.at(r.Origin))
		}
	}
	for _, h := range pruned.Hooks() {
		got = append(got, h.Command)
	}
	want := []string{"B project P/.claude/settings.json:2", "C project P/.claude/settings.json:2", "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if _, ok := pruned.Lookup("model"); ok {
		t.Error("a dropped key is still there")
	}
	if n := len(s.Rules(tool.Allow)); n != 2 {
		t.Errorf("pruning changed the original: %d rules", n)
	}
}

// A noDisk finds nothing and remembers what was asked of it.
type noDisk struct{ opened []string }

func (d *noDisk) Open(path string) (fs.File, error) {
	d.opened = append(d.opened, path)
	return nil, fs.ErrNotExist
}

func (d *noDisk) OpenIn(root, name string) (fs.File, error) {
	d.opened = append(d.opened, root+" "+name)
	return nil, errors.New("broken")
}

func TestFilesAreOpenedThroughTheDisk(t *testing.T) {
	d := &noDisk{}
	s, err := settings.Load(&settings.Options{Home: "/h", Project: "/p", Managed: []string{"/m"}, Disk: d})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/m", "/p .haft/settings.local.json", "/p .claude/settings.local.json", "/p .haft/settings.json", "/p .claude/settings.json", "/p .mcp.json",
		"/h/.haft/settings.json", "/h/.claude/settings.json",
	}
	if diff := cmp.Diff(want, d.opened); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
	if n := len(s.Problems()); n != 5 {
		t.Errorf("%d problems, want one for each broken file", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"permissions": {"allow": ["A", /* x */ "B",], "allow": []}, "hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "http", "url": "u", "headers": {"a": "b"}, "env": ["A"]}]}]}} // x`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := settings.Parse(settings.User, "f", text)
		if err != nil {
			return
		}
		s := settings.Of(file)
		lines := 1 + strings.Count(string(text), "\n")
		for _, b := range []tool.Behavior{tool.Allow, tool.Ask, tool.Deny} {
			for _, r := range s.Rules(b) {
				if r.Line < 1 || r.Line > lines {
					t.Errorf("rule %q at line %d of %d", r.Text, r.Line, lines)
				}
			}
		}
		s.Hooks()
		s.Problems()
	})
}

func BenchmarkThousandRules(b *testing.B) {
	text := `{"permissions": {"allow": [` + strings.Repeat(`"Bash(go test ./some/package:*)", // why`+"\n", 1000) + `]}}`
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		f, err := settings.Parse(settings.User, "f", []byte(text))
		if err != nil || len(settings.Of(f).Rules(tool.Allow)) != 1000 {
			b.Fatal(err)
		}
	}
}
