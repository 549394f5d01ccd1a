package harness_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// The home folder is closed to commands that nobody was asked about, whatever is in it: no list
// has these names. What programs need to do their work is open, but for credentials in it.
func TestTheHomeFolderIsClosed(t *testing.T) {
	secret := []string{
		// credentials beside the settings of programs
		".quux.cnf", ".zorbrc", ".florpcfg", ".wibble-token", ".blargcredentials",
		".config/quux/hosts.yml", ".config/zorb", ".config/florp/auth/key.txt", ".config/wibble.toml", ".config/blarg/session",
		".local/share/quux/auth.json", ".local/share/zorb/keys/1", ".local/share/florp", ".local/state/wibble/token", ".local/share/blarg/db",
		// histories
		".quux_history", ".zorb_hist", ".florp-history", ".wibblehist", ".blarg/history",
		// wallets and keys
		".quuxcoin/wallet.dat", ".zorb/keystore/1", ".florp/id.json", "wibble/wallet", ".config/blarg/age/keys.txt",
		// logins of other agents
		".quux/auth.json", ".zorb/oauth.json", ".florp.json", ".config/wibble-cli/login", ".local/share/blarg-agent/auth.json",
		// what caches keep
		".cache/quux/token", ".cache/zorb/cookies", ".cache/florp/x", ".cache/wibble.json", ".cache/blarg/sessions/1",
		// other projects and documents
		"quux/.env", "work/zorb/main.go", "Documents/florp.txt", "Downloads/wibble.pdf", "src/blarg/README.md",
		// haft's own
		".cache/haft/serve/token", ".cache/haft/history.jsonl", ".haft/audit.jsonl", ".claude/projects/-elsewhere/x.jsonl", ".config/haft/other.json",
		// credentials in folders of toolchains
		".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".npmrc", ".yarnrc.yml", ".composer/auth.json",
	}
	open := []string{".gitconfig", "remote.git/HEAD", "messages/template", ".config/git/ignore", "go/pkg/mod/x", ".cargo/registry/x", ".nvm/versions/x", ".local/bin/x", ".claude/skills/s/run.py", ".cache/go-build/00/x"}
	for name, c := range map[string]struct {
		sandbox     map[string]any
		confinement tool.Confinement
	}{
		"previewed":               {nil, tool.Previewed},
		"confined to the project": {map[string]any{"enabled": true}, tool.ProjectOnly},
	} {
		t.Run(name, func(t *testing.T) {
			r := previewRig(t, "./gen.sh")
			home := os.Getenv("HOME")
			t.Setenv("XDG_CACHE_HOME", "")
			put := func(name, text string) {
				t.Helper()
				path := filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range secret {
				put(name, "SECRET "+name+"\n")
			}
			put("remote.git/HEAD", "OPEN remote.git/HEAD\n")
			put("messages/template", "OPEN messages/template\n")
			put(".gitconfig", "[commit]\n\ttemplate = ~/messages/template\n[a]\n\tb = OPEN .gitconfig\n")
			r.put(".git/config", "[remote \"o\"]\n\turl = "+home+"/remote.git\n[remote \"p\"]\n\turl = "+home+"/Documents\n")
			script := "cd ~\n"
			for _, name := range open {
				if name == "remote.git/HEAD" || name == "messages/template" || name == ".gitconfig" {
					script += "cat " + name + "\n"
					continue
				}
				put(name, "[a]\n\tb = OPEN "+name+"\n")
				script += "cat " + name + "\n"
			}
			r.script(script + "cat " + strings.Join(secret, " ") + "\ngrep -rsh SECRET ~\necho end\n")
			set, err := json.Marshal(map[string]any{"sandbox": c.sandbox})
			if err != nil {
				t.Fatal(err)
			}
			talk := r.talk(harness.Options{Settings: string(set), Reexec: shellrun.Supervise()}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			events, _ := r.say(talk, "look")
			out := bashOutcome(t, events)
			text := out.Result.Text()
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "SECRET") {
					t.Errorf("the model reads %q", line)
				}
			}
			for _, name := range open {
				if !strings.Contains(text, "OPEN "+name) {
					t.Errorf("%s is closed", name)
				}
			}
			if !strings.Contains(text, "end") || out.Verdict.Confinement != c.confinement {
				t.Errorf("in %q, the model reads %q", out.Verdict.Confinement, text)
			}
		})
	}
}
