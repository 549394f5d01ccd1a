package guard_test

import (
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/guard"
)

func TestLookalikeNames(t *testing.T) {
	dir := t.TempDir()
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".gıt/config", ".GİT/hooks/x", ".gіt/config", ".сlaude/settings.json", ".еnv", "．git/config", ".vscоde/tasks.json", ".ripgreprc", "gradle/wrapper/gradle-wrapper.properties", "sub/.gdbinit", "conf/.curlrc"} {
		if v := g.Look(name).Verdict(guard.Write); v.Decision == guard.Allow {
			t.Errorf("%s may be written unasked", name)
		}
	}
	for _, name := range []string{"größe.txt", "файл.txt", "src/gradle.go", "κείμενο.md", "git/config", "claude/x"} {
		if v := g.Look(name).Verdict(guard.Write); v.Decision != guard.Allow {
			t.Errorf("%s: %s", name, v.Reason)
		}
	}
}
