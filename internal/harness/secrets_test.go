package harness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/servers"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/sched"
)

// secretFiles are one of each kind on the list, below the project and below home.
var secretFiles = map[string][]string{
	"project": strings.Fields(".env .env.local prod.env .envrc .git/config .npmrc .netrc server.key cert.pem id_rsa deploy/id_ed25519 credentials.json secrets.yaml terraform.tfstate x.tfvars .bash_history sub/.aws/credentials .docker/config.json auth.json kubeconfig link-to-env"),
	"home":    strings.Fields(".ssh/id_rsa .aws/credentials .gnupg/x .netrc .config/gh/hosts.yml .kube/config .git-credentials .haft/credentials.json .claude/.credentials.json"),
}

// TestNoDoorShowsASecret tries each way by which text of files reaches a model on each kind of secret. What is the user's own
// is shown in no mode; what lies in a project is not shown unasked.
func TestNoDoorShowsASecret(t *testing.T) {
	r := newRig(t)
	c := r.talk(harness.Options{Allowed: []string{"ReadMcpResource"}},
		harness.TalkOptions{MCP: servers.Given{InProcess: map[string]*mcp.Manifest{"depot": nil}, Send: depot{}.send, Wait: 10 * time.Second}})
	defer c.Close(t.Context())
	project, home := c.World.Project.Dir, c.World.Project.Home
	put := func(dir string, names []string) (paths []string) {
		for _, name := range names {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if name == "link-to-env" {
				if err := os.Symlink(".env", path); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(path, []byte("HUSHHUSH\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		return paths
	}
	doors := map[string]func(path string) (tool, input string){
		"Read": func(p string) (string, string) { return "Read", fmt.Sprintf(`{"file_path":%q}`, p) },
		"Grep": func(p string) (string, string) {
			return "Grep", fmt.Sprintf(`{"pattern":"HUSH","path":%q,"output_mode":"content"}`, p)
		},
		"Grep its folder": func(p string) (string, string) {
			return "Grep", fmt.Sprintf(`{"pattern":"HUSH","path":%q,"output_mode":"content","glob":%q}`, filepath.Dir(p), filepath.Base(p))
		},
		"cat":     func(p string) (string, string) { return "Bash", fmt.Sprintf(`{"command":"cat %s"}`, p) },
		"head":    func(p string) (string, string) { return "Bash", fmt.Sprintf(`{"command":"head -n 3 < %s"}`, p) },
		"program": func(p string) (string, string) { return "Bash", fmt.Sprintf(`{"command":"nl %s | tac"}`, p) },
	}
	modes := map[string][]permission.Mode{
		"project": {permission.DontAsk, permission.Plan},
		"home":    {permission.DontAsk, permission.Plan, permission.Bypass},
	}
	for where, dir := range map[string]string{"project": project, "home": home} {
		for _, path := range put(dir, secretFiles[where]) {
			for door, call := range doors {
				for _, mode := range modes[where] {
					name, input := call(path)
					out := callIn(t, c, mode, name, input)
					if out.Status == sched.Succeeded && strings.Contains(out.Result.Text(), "HUSHHUSH") {
						t.Errorf("%s in mode %s shows %s", door, mode, path)
					}
				}
			}
			if c.World.MayShow(path) {
				t.Errorf("instructions may include %s", path)
			}
			uri := fmt.Sprintf(`{"server":"depot","uri":"file://%s"}`, strings.ReplaceAll(path, ".", "%2e"))
			for _, mode := range modes[where] {
				if out := callIn(t, c, mode, "ReadMcpResource", uri); out.Status != sched.Denied {
					t.Errorf("in mode %s a server may be asked for %s: %v", mode, path, out.Status)
				}
			}
		}
	}
}
