package plugin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/plugin"
)

// layOut writes an archive below a new folder; names that end in -> are links.
func layOut(t *testing.T, archive string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name, isLink := strings.CutSuffix(f.Name, "->")
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if isLink {
			err = os.Symlink(strings.TrimSpace(string(f.Data)), path)
		} else {
			err = os.WriteFile(path, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return base
}

const acme = `
-- home/.haft/plugins/acme/.claude-plugin/plugin.json --
{"name": "acme", "version": "1.2", "description": "Tools of Acme", "author": {"name": "A"},
 "commands": ["./special/extra.md", "../../../outside"], "skills": "./more-skills", "mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db"}}}
-- home/.haft/plugins/acme/commands/deploy.md --
Deploy with ${CLAUDE_PLUGIN_ROOT}/deploy.sh.
-- home/.haft/plugins/acme/special/extra.md --
Extra.
-- home/.haft/plugins/acme/skills/pdf/SKILL.md --
PDF.
-- home/.haft/plugins/acme/more-skills/csv/SKILL.md --
CSV.
-- home/.haft/plugins/acme/agents/reviewer.md --
---
description: Reviews
---
You review.
-- home/.haft/plugins/acme/hooks/hooks.json --
{"description": "d", "permissions": {"allow": ["Bash"]}, "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check.sh"}]}]}}
-- home/.haft/plugins/acme/.mcp.json --
{"mcpServers": {"web": {"command": "web"}}}
`

func TestAPluginBringsEverythingTogether(t *testing.T) {
	base := layOut(t, acme)
	plugins, problems := plugin.Load(plugin.Find(filepath.Join(base, "home"), ""))
	if len(plugins) != 1 {
		t.Fatalf("%d plugins, problems %v", len(plugins), problems)
	}
	p := plugins[0]
	if p.Name != "acme" || p.Version != "1.2" || p.Description != "Tools of Acme" || p.Source != settings.User {
		t.Errorf("plugin %+v", p)
	}
	if len(problems) != 1 || problems[0].Text != `"../../../outside" under commands is skipped: it is outside the plugin` {
		t.Errorf("problems %v", problems)
	}
	names := map[knowledge.Kind]string{knowledge.Skill: "acme:csv acme:pdf", knowledge.Command: "acme:deploy acme:extra", knowledge.Agent: "acme:reviewer"}
	for kind, want := range names {
		var got []string
		list := knowledge.NewLibrary(kind, []knowledge.Place{p.Place}, nil).List()
		for _, piece := range list.Pieces {
			got = append(got, piece.Name)
			if piece.PluginDir != p.Dir {
				t.Errorf("%s comes from %q", piece.Name, piece.PluginDir)
			}
		}
		if strings.Join(got, " ") != want || list.Problems != nil {
			t.Errorf("%ss are %v, want %s; problems %v", kind, got, want, list.Problems)
		}
	}
	all := settings.Of(p.Settings...)
	var got []string
	for _, h := range all.Hooks() {
		got = append(got, h.Event+" "+h.Matcher+" "+strings.TrimPrefix(h.Command, p.Dir))
	}
	for _, s := range all.MCPServers() {
		got = append(got, s.Name+" "+strings.ReplaceAll(string(s.JSON), p.Dir, ""))
	}
	for _, r := range all.Files() {
		if v, ok := r.Value("permissions"); ok {
			t.Errorf("a plugin set permissions: %s", v.JSON)
		}
	}
	want := []string{"PreToolUse Bash /check.sh", `plugin:acme:db {"command":"/db"}`, `plugin:acme:web {"command":"web"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestAProjectsPluginIsTheProjects(t *testing.T) {
	base := layOut(t, `
-- project/.haft/plugins/evil/.claude-plugin/plugin.json --
{"name": "evil"}
-- project/.haft/plugins/evil/skills/x/SKILL.md --
x
-- project/.haft/plugins/evil/hooks/hooks.json --
{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}
-- secret/commands/a.md --
secret
-- project/.haft/plugins/out-> --
../../../secret
-- project/.haft/plugins/evil/commands-> --
../../../../secret/commands
`)
	plugins, problems := plugin.Load(plugin.Find("", filepath.Join(base, "project")))
	if len(plugins) != 1 || problems != nil {
		t.Fatalf("plugins %v, problems %v", plugins, problems)
	}
	list := knowledge.NewLibrary(knowledge.Skill, []knowledge.Place{plugins[0].Place}, nil).List()
	if len(list.Pieces) != 0 || len(list.Held) != 1 || list.Held[0].Name != "evil:x" {
		t.Errorf("pieces %v, held %v", list.Pieces, list.Held)
	}
	commands := knowledge.NewLibrary(knowledge.Command, []knowledge.Place{plugins[0].Place}, func(knowledge.Claim) bool { return true }).List()
	if len(commands.Pieces) != 0 {
		t.Errorf("a link led out of the project: %v", commands.Pieces)
	}
	for _, f := range plugins[0].Settings {
		if f.Source != settings.Project {
			t.Errorf("%s is of the source %s: it would count without trust", f.Path, f.Source)
		}
	}
}

func TestBrokenPluginsAreProblems(t *testing.T) {
	base := layOut(t, `
-- home/.haft/plugins/a/.claude-plugin/plugin.json --
{"name": "same"}
-- home/.haft/plugins/b/.claude-plugin/plugin.json --
{"name": "same"}
-- home/.haft/plugins/badname/.claude-plugin/plugin.json --
{"name": "has: colon"}
-- home/.haft/plugins/hooks/hooks/hooks.json --
not json
-- home/.haft/plugins/nojson/.claude-plugin/plugin.json --
{"name":
-- home/.haft/plugins/notes/README.md --
no plugin
-- home/.haft/plugins/types/.claude-plugin/plugin.json --
{"name": "types", "commands": 5}
-- home/.haft/plugins/unnamed/commands/x.md --
x
`)
	plugins, problems := plugin.Load(plugin.Find(filepath.Join(base, "home"), ""))
	var got []string
	for _, p := range plugins {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"same", "hooks", "unnamed"}, got); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	var texts []string
	for _, p := range problems {
		texts = append(texts, strings.TrimPrefix(strings.ReplaceAll(p.String(), base, ""), "/home/.haft/plugins/"))
	}
	want := []string{
		"b: skipped: the plugin in /home/.haft/plugins/a has the same name",
		`badname/.claude-plugin/plugin.json: skipped: "has: colon" is not a valid plugin name; use letters, digits, dashes and underscores`,
		"hooks/hooks/hooks.json: skipped: it is not valid JSON",
		"nojson/.claude-plugin/plugin.json: the plugin is skipped: its manifest is invalid: unexpected end of JSON input",
		"types/.claude-plugin/plugin.json: the plugin is skipped: its manifest is invalid: commands cannot be a number",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestPluginsThatWereInstalledAndEnabled(t *testing.T) {
	base := layOut(t, `
-- cache/review/1.0/commands/x.md --
old
-- cache/review/2.0/commands/x.md --
new
-- cache/older/commands/x.md --
older
-- cache/off/commands/x.md --
off
`)
	write := func(text string) {
		path := filepath.Join(base, "home/.claude/plugins/installed_plugins.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "BASE", base)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	find := func(project string) (got, wrong []string) {
		dirs, problems := plugin.Installed(filepath.Join(base, "home", ".claude"), project, func(name string) bool { return !strings.HasPrefix(name, "off") })
		for _, d := range dirs {
			got = append(got, strings.TrimPrefix(d.Path, base+"/"))
		}
		for _, p := range problems {
			wrong = append(wrong, strings.ReplaceAll(p.Text, base, ""))
		}
		return got, wrong
	}
	if got, wrong := find(""); got != nil || wrong != nil {
		t.Errorf("without a registry: %v, %v", got, wrong)
	}
	write(`{"version": 2, "plugins": {
		"review@m": [{"scope": "project", "projectPath": "/p", "installPath": "BASE/cache/review/1.0"}, {"scope": "user", "installPath": "BASE/cache/review/2.0"}],
		"theirs@m": [{"scope": "project", "projectPath": "/other", "installPath": "BASE/cache/off"}],
		"older@m": {"version": "1", "installPath": "BASE/cache/older"},
		"off@m": [{"scope": "user", "installPath": "BASE/cache/off"}],
		"gone@m": [{"scope": "user", "installPath": "BASE/cache/gone"}],
		"odd@m": 5}}`)
	missing := []string{`the plugin gone@m is no longer in "/cache/gone", where it was installed: install it again`}
	for project, want := range map[string][]string{"": {"cache/older", "cache/review/2.0"}, "/p": {"cache/older", "cache/review/1.0"}} {
		got, wrong := find(project)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in %q (-want +got):\n%s", project, diff)
		}
		if diff := cmp.Diff(missing, wrong); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
	write("{")
	if got, wrong := find(""); got != nil || len(wrong) != 1 {
		t.Errorf("a broken registry: %v, %v", got, wrong)
	}
}

// official has the shapes of the marketplace with which most people begin: one folder for
// several plugins, each an entry without a manifest that lists its skills, and a folder that
// is listed and lies where skills are looked for as well.
const official = `
-- plugins/installed_plugins.json --
{"version": 2, "plugins": {
 "papers@studio": [{"scope": "user", "installPath": "BASE/plugins/cache/studio"}],
 "drawing@studio": [{"scope": "user", "installPath": "BASE/plugins/cache/studio"}]}}
-- plugins/marketplaces/studio/.claude-plugin/marketplace.json --
{"name": "studio", "owner": {"name": "S"}, "metadata": {"version": "1.0.0"}, "plugins": [
 {"name": "papers", "description": "P", "source": "./", "strict": false, "skills": ["./skills/letters", "./skills/tables/", "skills/slides"]},
 {"name": "drawing", "description": "D", "source": "./", "strict": false, "skills": ["./skills/posters", "./skills/icons", "./skills/icons"]}]}
-- plugins/cache/studio/skills/letters/SKILL.md --
Letters.
-- plugins/cache/studio/skills/tables/SKILL.md --
Tables.
-- plugins/cache/studio/skills/slides/SKILL.md --
Slides.
-- plugins/cache/studio/skills/posters/SKILL.md --
Posters.
-- plugins/cache/studio/skills/icons/SKILL.md --
Icons.
-- plugins/cache/studio/skills/unlisted/SKILL.md --
Unlisted.
-- plugins/cache/studio/template/SKILL.md --
Template.
-- listed/.claude-plugin/plugin.json --
{"name": "listed", "skills": ["./skills/one"]}
-- listed/skills/one/SKILL.md --
One.
-- listed/skills/two/SKILL.md --
Two.
`

func TestWhatAMarketplaceListsIsAllThereIs(t *testing.T) {
	base := layOut(t, official)
	registry := filepath.Join(base, "plugins", "installed_plugins.json")
	text, err := os.ReadFile(registry)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(registry, []byte(strings.ReplaceAll(string(text), "BASE", base)), 0o600); err != nil {
		t.Fatal(err)
	}
	dirs, problems := plugin.Installed(base, "", func(string) bool { return true })
	found, more := plugin.Load(append(dirs, plugin.Dir{Path: filepath.Join(base, "listed"), Source: settings.User}))
	var places []knowledge.Place
	for _, p := range found {
		places = append(places, p.Place)
	}
	list := knowledge.NewLibrary(knowledge.Skill, places, nil).List()
	var names []string
	for _, p := range list.Pieces {
		names = append(names, p.Name)
	}
	want := []string{"drawing:icons", "drawing:posters", "listed:one", "listed:two", "papers:letters", "papers:slides", "papers:tables"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if all := append(append(problems, more...), list.Problems...); len(all) > 0 {
		t.Errorf("problems %v", all)
	}
}

// languageServers are the programs of plugins that bring nothing but a language server: an
// entry of a marketplace, and a folder with a text for people.
var languageServers = []struct{ plugin, command, args, ending, language string }{
	{"c-lsp", "clangd", `["--background-index"]`, ".c", "c"},
	{"sharp-lsp", "csharp-ls", "", ".cs", "csharp"},
	{"go-lsp", "gopls", "", ".go", "go"},
	{"java-lsp", "jdtls", "", ".java", "java"},
	{"kotlin-lsp", "kotlin-lsp", `["--stdio"]`, ".kt", "kotlin"},
	{"lua-lsp", "lua-language-server", "", ".lua", "lua"},
	{"php-lsp", "intelephense", `["--stdio"]`, ".php", "php"},
	{"python-lsp", "pyright-langserver", `["--stdio"]`, ".py", "python"},
	{"ruby-lsp", "ruby-lsp", "", ".rb", "ruby"},
	{"rust-lsp", "rust-analyzer", "", ".rs", "rust"},
	{"swift-lsp", "sourcekit-lsp", "", ".swift", "swift"},
	{"script-lsp", "typescript-language-server", `["--stdio"]`, ".ts", "typescript"},
}

func TestPluginsBringLanguageServers(t *testing.T) {
	var dirs []plugin.Dir
	for i, l := range languageServers {
		server := fmt.Sprintf(`{"command": %q, "extensionToLanguage": {%q: %q}, "startupTimeout": 120000, "restartOnCrash": true}`, l.command, l.ending, l.language)
		if l.args != "" {
			server = strings.Replace(server, "{", `{"args": `+l.args+`, `, 1)
		}
		servers := fmt.Sprintf(`{%q: %s}`, l.command, server)
		d := plugin.Dir{Path: filepath.Join(t.TempDir(), l.plugin), Source: settings.User}
		files := map[string]string{"README.md": "For people."}
		switch i % 3 { // the ways in which they are written
		case 0:
			d.Name, d.Entry = l.plugin, json.RawMessage(fmt.Sprintf(`{"name": %q, "source": "./x", "strict": false, "lspServers": %s}`, l.plugin, servers))
		case 1:
			files[".lsp.json"] = servers
		case 2:
			files[".claude-plugin/plugin.json"] = fmt.Sprintf(`{"name": %q, "lspServers": "./servers.json"}`, l.plugin)
			files["servers.json"] = servers
		}
		for name, text := range files {
			path := filepath.Join(d.Path, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, d)
	}
	plugins, problems := plugin.Load(dirs)
	if len(plugins) != len(languageServers) || len(problems) > 0 {
		t.Fatalf("%d plugins, problems %v", len(plugins), problems)
	}
	for i, p := range plugins {
		l := languageServers[i]
		servers := settings.Of(p.Settings...).LanguageServers()
		if len(servers) != 1 || servers[0].Name != "plugin:"+l.plugin+":"+l.command || !strings.Contains(string(servers[0].JSON), l.command) {
			t.Errorf("%s: servers %+v", l.plugin, servers)
		}
	}
}

func TestWhatAPluginBringsInVain(t *testing.T) {
	base := layOut(t, `
-- odd/.lsp.json --
{"none": {"command": "x"}, "socket": {"command": "x", "transport": "socket", "extensionToLanguage": {".x": "x"}}, "good": {"command": "x", "extensionToLanguage": {".x": "x"}}}
-- odd/workflows/release.js --
run()
`)
	plugins, problems := plugin.Load([]plugin.Dir{{Path: filepath.Join(base, "odd"), Source: settings.User}})
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.Text)
	}
	slices.Sort(texts)
	want := []string{
		"haft does not run workflows: they are ignored",
		"the language server none is skipped: it needs a command and extensionToLanguage",
		"the language server socket is skipped: haft talks to such servers over stdio only",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if servers := settings.Of(plugins[0].Settings...).LanguageServers(); len(servers) != 1 {
		t.Errorf("servers %v, want one", servers)
	}
}
