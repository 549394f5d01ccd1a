package command

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/shellrun"
)

// The commands in the files for Docker and Kubernetes are commands with flags that exist.
func TestDeploymentsAreCommandLines(t *testing.T) {
	lists, found := regexp.MustCompile(`(?m)^\s*(?:command|args): \[(.*)\]$`), 0
	for _, name := range []string{"docker-compose.yml", "kubernetes.yaml"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lists.FindAllStringSubmatch(string(raw), -1) {
			var args []string
			for word := range strings.SplitSeq(m[1], ", ") {
				args = append(args, strings.Trim(word, `"`))
			}
			cmd, rest, err := newRoot(io.Discard, shellrun.Reexec{}).Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil || !cmd.HasParent() || cmd.Args(cmd, cmd.Flags().Args()) != nil {
				t.Errorf("%s: %q: %v", name, args, err)
			}
			found++
		}
	}
	if found != 5 {
		t.Errorf("%d command lines were found", found)
	}
}
