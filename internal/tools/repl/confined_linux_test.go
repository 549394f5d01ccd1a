package repl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// TestEachConfinementHasAProcessOfItsOwn: code that may less is not evaluated by a
// process that may more, and the kernel holds it to what it may.
func TestEachConfinementHasAProcessOfItsOwn(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	newRig(t, nil) // needs what the others need
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "project"), filepath.Join(dir, "outside")
	for _, d := range []string{inside, outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec := &sandbox.Spec{Write: []string{inside}, Read: []string{dir}}
	boxes := func(c tool.Confinement) *sandbox.Spec {
		switch c {
		case tool.ProjectOnly:
			return spec
		case tool.ReadOnly:
			return &sandbox.Spec{Read: []string{dir}}
		}
		return nil
	}
	r := newRawRig(&shellrun.Options{}, &repl.Options{Dir: func(string) string { return inside }, Box: boxes})
	defer r.host.Close()
	eval := func(c tool.Confinement, language, code string) repl.Output {
		t.Helper()
		input := fmt.Sprintf(`{"language":%q,"code":%q}`, language, code)
		result, err := r.set.Lookup("REPL").Run(t.Context(), &tool.Call{Tool: "REPL", Confinement: c, Input: []byte(input)})
		if err != nil {
			t.Fatal(err)
		}
		return result.Output.(repl.Output)
	}
	write := map[string]string{"python": "open('%s/x', 'w').close()", "javascript": "require('fs').writeFileSync('%s/x', '')"}
	for _, language := range []string{"python", "javascript"} {
		for c, may := range map[tool.Confinement][2]bool{tool.Unconfined: {true, true}, tool.ProjectOnly: {true, false}, tool.ReadOnly: {false, false}} {
			eval(c, language, "mine = '"+string(c)+"'")
			for i, place := range []string{inside, outside} {
				out := eval(c, language, fmt.Sprintf(write[language], place))
				if may[i] != (out.State == "ok") {
					t.Errorf("%s, %s writes in %s: %+v", c, language, filepath.Base(place), out)
				}
				_ = os.Remove(filepath.Join(place, "x"))
			}
		}
		for _, c := range []tool.Confinement{tool.Unconfined, tool.ProjectOnly, tool.ReadOnly} { // none has taken the place of another
			if out := eval(c, language, "mine"); out.Output != "'"+string(c)+"'" {
				t.Errorf("%s, %s: %+v", c, language, out)
			}
		}
	}
	spec = &sandbox.Spec{Write: []string{inside}, Read: []string{dir}, Hide: []string{outside}}
	out := eval(tool.ProjectOnly, "python", "mine")
	if notes := strings.Join(out.Notes, " "); out.State != "error" || !strings.Contains(notes, "What code may access has changed") || !strings.Contains(notes, "with other rights is not available here") {
		t.Errorf("after what it may touch has changed: %+v", out)
	}
	if out := eval(tool.ProjectOnly, "python", "import os; os.listdir('"+outside+"')"); out.Output != "[]" || out.Confinement != tool.ProjectOnly {
		t.Errorf("got %+v", out)
	}
}
