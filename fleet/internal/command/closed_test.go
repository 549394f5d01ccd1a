//go:build linux

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// No run reads what the fleet keeps on the machine of its worker, in any mode: the worker's key, the keys and journals
// in the store of a server, and a key that a link leads to.
func TestNoRunOpensKeysOrTheStore(t *testing.T) {
	t.Parallel()
	needtest.Need(t, needtest.Namespaces)
	f := newFleet(t)
	key := filepath.Join(f.dir, "copied [1].key")
	seed, err := os.ReadFile(f.key("worker"))
	if err == nil {
		err = os.WriteFile(key, seed, 0o600)
	}
	if err == nil {
		err = os.Symlink(key, filepath.Join(f.dir, "link.key"))
	}
	if err != nil {
		t.Fatal(err)
	}
	w := f.start("worker", "--join", f.url, "--key", filepath.Join(f.dir, "link.key"), "--dir", filepath.Join(f.dir, "sessions"))
	t.Cleanup(func() { kill(w) })
	secret := strings.Fields(string(seed))
	// What a program opens is not in the text of the command that starts it.
	steal := "cd '" + f.dir + "'; echo listed; cat link.key 'copied [1].key'; find . -type f -exec cat {} + | base64 -w 0; tar cf - store link.key | base64 -w 0; " +
		"echo x >>store/operator.creds; mv store stolen; ln 'copied [1].key' hard; cat hard; cp link.key /tmp/x; cat /tmp/x"
	if err := os.WriteFile(filepath.Join(f.dir, "project", "steal.sh"), []byte(steal), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := []script.Block{{Tool: "Bash", Input: json.RawMessage(`{"command": "bash steal.sh 2>/dev/null"}`)}}
	for _, path := range []string{key, filepath.Join(f.dir, "link.key"), f.key("worker"), f.key("operator")} {
		input, err := json.Marshal(map[string]string{"file_path": path})
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, script.Block{Tool: "Read", Input: input})
	}
	said, step := &strings.Builder{}, 0
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		said.WriteString(q.LastText())
		if step < len(commands) {
			step++
			return script.Turn{Blocks: commands[step-1 : step]}, true
		}
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}, true
	})
	before, err := os.ReadFile(f.key("operator"))
	if err != nil {
		t.Fatal(err)
	}
	id, prompts := f.submit(1)
	f.mustEnd(t, id, prompts)
	text := said.String()
	if step != len(commands) || !strings.Contains(text, "listed") {
		t.Fatalf("%d of %d calls were made:\n%s", step, len(commands), text)
	}
	for _, word := range append(secret, strings.TrimSpace(string(before))) {
		if len(word) > 20 && strings.Contains(text, word) {
			t.Errorf("a run read %.12s…", word)
		}
	}
	if after, err := os.ReadFile(f.key("operator")); err != nil || string(after) != string(before) {
		t.Errorf("a run changed a key: %v", err)
	}
}
