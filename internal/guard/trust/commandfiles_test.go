package trust_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
)

// TestWhatAHookRunsIsBound has hooks run scripts in all the ways that people write, and
// looks up which files trust is bound to.
func TestWhatAHookRunsIsBound(t *testing.T) {
	m := newMachine(t)
	for name, text := range map[string]string{
		"check.sh": "", "guard.py": "", "lib.mjs": "", "hooks/a.sh": "", "hooks/b.sh": "", "hooks/sub/c.sh": "", "with blank.sh": "",
		"tools/check/__init__.py": "", "tools/check/__main__.py": "", "tools/check/rules.py": "", "tools/__init__.py": "", "tools/one.py": "",
		"app/package.json": `{"main": "lib/start", "scripts": {"x": "node other.js"}}`, "app/lib/start.js": "", "app/other.js": "",
		"package.json": `{"main": "main.js", "scripts": {"lint": "node scripts/lint.js src/a.js", "prelint": "sh check.sh", "test": "jest", "deep": "npm run lint", "dyn": "node $TARGET_UNSET"}}`,
		".npmrc":       "", "main.js": "", "index.js": "", "scripts/lint.js": "", "src/a.js": "", "node_modules/.bin/jest": "", "node_modules/.bin/eslint": "",
		"Makefile": "SCRIPT = scripts/verify.sh\ninclude more.mk\nall: build\nbuild: src/a.js\n\tcc src/a.js\ncheck: fmt\n\t@sh $(SCRIPT) \\\n\t  --all\nfmt:\n\t./hooks/a.sh\nodd:\n\tsh $(shell find .)\nloop:\n\tfor f in hooks/*.sh; do sh $$f; done\n",
		"more.mk":  "extra:\n\tpython3 guard.py\n", "scripts/verify.sh": "", "cmd/gate/main.go": "", "cmd/gate/rest.go": "",
		"justfile": "", "sub/Makefile": "all:\n\tsh do.sh\n", "sub/do.sh": "",
	} {
		m.write("project/"+name, text)
	}
	t.Setenv("TRUST_TEST_DIR", "hooks")
	t.Setenv("HOME", m.path("home"))
	tests := []struct {
		command string
		files   string // in order
		unbound string // a part of it
	}{
		{"sh check.sh --fast", "check.sh", ""},
		{"./check.sh", "check.sh", ""},
		{`bash "$CLAUDE_PROJECT_DIR"/check.sh`, "check.sh", ""},
		{`"${HAFT_PROJECT_DIR}/check.sh"`, "check.sh", ""},
		{`bash './with blank.sh'`, "with blank.sh", ""},
		{`bash with\ blank.sh`, "with blank.sh", ""},
		{"exec timeout 5 env A=b python3 -u guard.py", "guard.py", ""},
		{"bash -c 'python3 guard.py && ./check.sh'", "check.sh guard.py", ""},
		{"node --import ./lib.mjs main.js", "lib.mjs main.js", ""},
		{"cat | sh < check.sh", "check.sh", ""},
		{"source check.sh; . hooks/a.sh", "check.sh hooks/a.sh", ""},
		{"cd hooks && ./a.sh", "hooks/a.sh", ""},
		{`cd "$(git rev-parse --show-toplevel)" && sh check.sh`, "check.sh", ""},
		{"if test -x check.sh; then ./check.sh; else exit 2; fi", "check.sh", ""},
		{"if [ -f check.sh ]; then ./check.sh; fi", "check.sh", ""},
		{"[ -n \"$X\" ] && ./hooks/[a.sh; ./check.sh", "check.sh", ""},
		{`python3 -c "import json,sys; d=json.load(sys.stdin); print([x for x in d if '[' in x])"`, "", ""},
		{`node -e 'const s = "[*"; require("./lib.mjs")'`, "", ""},

		{"python3 -m tools.check", "tools/__init__.py tools/check/__init__.py tools/check/__main__.py tools/check/rules.py", ""},
		{"python3 -m tools.one", "tools/__init__.py tools/one.py", ""},
		{"python3 -m pytest", "", ""},
		{"node .", "index.js main.js package.json", ""},
		{"node app", "app/lib/start.js app/package.json", ""},
		{"node main", "main.js", ""},
		{"go run ./cmd/gate", "cmd/gate/main.go cmd/gate/rest.go", ""},

		{"npm run lint", ".npmrc check.sh package.json scripts/lint.js", ""},
		{"npm run -s deep", ".npmrc check.sh package.json scripts/lint.js", ""},
		{"npm test", ".npmrc node_modules/.bin/jest package.json", ""},
		{"npx eslint .", ".npmrc node_modules/.bin/eslint package.json", ""},
		{"yarn lint", "check.sh package.json scripts/lint.js", ""},
		{"cd app && npm run x", ".npmrc app/other.js app/package.json package.json", ""},
		{"npm --prefix app run x", ".npmrc app/other.js app/package.json package.json", ""},
		{"npm run dyn", ".npmrc package.json", "$TARGET_UNSET"},

		{"make check", "Makefile hooks/a.sh more.mk scripts/verify.sh", ""},
		{"make extra", "Makefile guard.py more.mk", ""},
		{"make", "Makefile more.mk", ""},
		{"make loop", "Makefile hooks/a.sh hooks/b.sh more.mk", ""},
		{"make odd", "Makefile more.mk", "MAKE_COMPUTES"},
		{"make -C sub", "Makefile more.mk sub/Makefile sub/do.sh", ""},
		{"just gate", "justfile", ""},

		{"bash hooks/*.sh", "hooks/a.sh hooks/b.sh", ""},
		{`for f in hooks/*.sh; do bash "$f" || exit 2; done`, "hooks/a.sh hooks/b.sh", ""},
		{`D=hooks; sh $D/a.sh`, "hooks/a.sh", ""},
		{`sh "$TRUST_TEST_DIR/a.sh"`, "hooks/a.sh", ""},
		{`sh "${TRUST_TEST_UNSET:-hooks}/a.sh"`, "hooks/a.sh", ""},
		{`sh "$TRUST_TEST_UNSET/a.sh"`, "", `"$TRUST_TEST_UNSET/a.sh"`},
		{`$TRUST_TEST_UNSET`, "", "the program $TRUST_TEST_UNSET"},
		{`bash "$(cat which)"`, "", `"$(cat which)"`},
		{`while read -r f; do sh $f; done < list`, "", "$f"},
		{`eval "$(cat x)" && if then`, "", "cannot be parsed"},
		{`files=$(gofmt -l .); test -z "$files" || { echo "Run gofmt on: $files" >&2; exit 2; }`, "", ""},
		{`grep -q x || exit 2`, "", ""},
	}
	for _, tt := range tests {
		item := m.folder().Hook(settings.Hook{Event: "PreToolUse", Type: "command", Command: tt.command, JSON: fmt.Appendf(nil, `{"command": %q}`, tt.command)})
		if diff := cmp.Diff(tt.files, strings.Join(item.Files, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.command, diff)
		}
		if (item.Unbound == "") != (tt.unbound == "") || !strings.Contains(item.Unbound, tt.unbound) {
			t.Errorf("%s: unbound %q, want %q", tt.command, item.Unbound, tt.unbound)
		}
	}
}

// TestTrustEndsWhenWhatAHookRunsChanges changes what stands behind commands that name
// no script themselves.
func TestTrustEndsWhenWhatAHookRunsChanges(t *testing.T) {
	for _, tt := range []struct{ name, command, file, text string }{
		{"a script of package.json", "npm run guard", "package.json", `{"scripts": {"guard": "true"}}`},
		{"what a script of package.json runs", "npm run guard", "guard.js", "process.exit(0)"},
		{"a makefile", "make guard", "Makefile", "guard:\n\ttrue\n"},
		{"what a recipe runs", "make guard", "guard.sh", "exit 0"},
		{"a module", "python3 -m gate", "gate/__main__.py", "pass"},
		{"a module that comes to hide an installed one", "python3 -m pytest", "pytest.py", "pass"},
		{"one more file of a pattern", "for f in hooks/*.sh; do sh $f; done", "hooks/z.sh", "kill $PPID"},
		{"the main file of a folder", "node .", "start.js", ""},
		{"an installed program", "npx lint", "node_modules/.bin/lint", "#!/bin/true"},
		{"a folder that cd goes to", "cd hooks && sh a.sh", "hooks/a.sh", "exit 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			for name, text := range map[string]string{
				"package.json": `{"main": "start.js", "scripts": {"guard": "node guard.js"}}`, "guard.js": "x", "start.js": "x", "Makefile": "guard:\n\tsh guard.sh\n", "guard.sh": "x",
				"gate/__main__.py": "x", "hooks/a.sh": "x", "node_modules/.bin/lint": "x", "unrelated.js": "x",
			} {
				m.write("project/"+name, text)
			}
			m.write("project/.claude/settings.json", fmt.Sprintf(`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": %q}]}]}}`, tt.command))
			if err := grantAll(t.Context(), m.folder(), m.load()); err != nil {
				t.Fatal(err)
			}
			m.write("project/unrelated.js", "y")
			if held := m.untrusted(m.folder(), m.load()); held != nil {
				t.Fatalf("held back before anything changed: %q", held)
			}
			m.write("project/"+tt.file, tt.text)
			if held := m.untrusted(m.folder(), m.load()); len(held) != 1 {
				t.Errorf("it is still trusted")
			}
		})
	}
}

// A hook that keeps a log stays trusted when it has written to it. A file that it also reads or runs is another matter.
func TestTrustOutlastsAHooksOwnLog(t *testing.T) {
	for command, held := range map[string]int{
		"cat >> edits.log":                     0,
		"echo done &> logs/edits.log":          0,
		`cat >> "$HAFT_PROJECT_DIR/edits.log"`: 0,
		"sort < edits.log > edits.log":         1,
		"cat > edits.log; sh edits.log":        1,
		"cat > edits.log && . \"./edits.log\"": 1,
	} {
		m := newMachine(t)
		m.write("project/logs/edits.log", "")
		m.write("project/.claude/settings.json", fmt.Sprintf(`{"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": %q}]}]}}`, command))
		if err := grantAll(t.Context(), m.folder(), m.load()); err != nil {
			t.Fatal(err)
		}
		m.write("project/edits.log", "a.txt")
		m.write("project/logs/edits.log", "a.txt")
		if got := m.untrusted(m.folder(), m.load()); len(got) != held {
			t.Errorf("%s: held back %q, want %d", command, got, held)
		}
	}
}

func TestWhatCannotBeBoundIsAskedForAtEachStart(t *testing.T) {
	m := newMachine(t)
	m.write("project/.claude/settings.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sh \"$TRUST_TEST_UNSET/x.sh\""}]}]}}`)
	os.Unsetenv("TRUST_TEST_UNSET")
	f := m.folder()
	if err := grantAll(t.Context(), f, m.load()); err != nil {
		t.Fatal(err)
	}
	if held := m.untrusted(f, m.load()); held != nil {
		t.Errorf("agreed to for now, and held back: %q", held)
	}
	if held := m.untrusted(m.folder(), m.load()); len(held) != 1 {
		t.Error("the next start does not ask")
	}
	_, held, err := m.folder().Filter(m.load())
	if err != nil {
		t.Fatal(err)
	}
	if text := trust.NewUnguarded("P", held).Error(); strings.Contains(text, "haft trust") || !strings.Contains(text, "--trust-project") {
		t.Errorf("the way out does not work: %s", text)
	}
	if text := held[0].String(); !strings.Contains(text, "asked at each start") {
		t.Errorf("it is not told: %s", text)
	}
}

// TestWhatAHookMayRunUnseenIsAskedFor: these run content that their text does not name as a script.
// Either trust is bound to it, or the hook is asked about at each start.
func TestWhatAHookMayRunUnseenIsAskedFor(t *testing.T) {
	for command, file := range map[string]string{
		"cat hk.sh | sh":                             "hk.sh",
		"cat < hk.sh | bash -s":                      "hk.sh",
		"sh <<X\n. ./hk.sh\nX":                       "hk.sh",
		"sh <<'X'\nsh hk.sh\nX":                      "hk.sh",
		"BASH_ENV=hk.sh bash -c true":                "hk.sh",
		"ENV=./hk.sh sh -i -c true":                  "hk.sh",
		"PATH=./bin:$PATH tool":                      "bin/tool",
		"export PATH=$PWD/bin:$PATH; tool":           "bin/tool",
		"git -c core.hooksPath=hooks commit -m x":    "hooks/pre-commit",
		"git -c core.fsmonitor=./hk.sh status":       "hk.sh",
		"run-parts hooks":                            "hooks/pre-commit",
		"find hooks -type f -exec sh {} ';'":         "hooks/pre-commit",
		"find . -name hk.sh -exec sh {} +":           "hk.sh",
		"ls hk.sh | xargs sh":                        "hk.sh",
		"perl -Ilib -MCheck -e 1":                    "lib/Check.pm",
		"perl -I lib check.pl":                       "lib/Check.pm",
		"PERL5LIB=lib perl -MCheck -e 1":             "lib/Check.pm",
		"PYTHONPATH=lib python3 -m check":            "lib/check.py",
		"PYTHONPATH=lib python3 -c 'import check'":   "lib/check.py",
		"NODE_PATH=lib node -e 'require(\"check\")'": "lib/check.js",
		"node -r ./lib/check.js -e 1":                "lib/check.js",
		"ruby -Ilib -rcheck -e 1":                    "lib/check.rb",
		"awk -f hk.awk /dev/null":                    "hk.awk",
		"sed -f hk.sed a":                            "hk.sed",
		"make -f build.mk":                           "build.mk",
		"xargs -a list sh -c":                        "list",
		"sh out/x.sh":                                "out/x.sh",
		"eval \"$(cat hk.sh)\"":                      "hk.sh",
		"sh -c \"$(cat hk.sh)\"":                     "hk.sh",
		". <(cat hk.sh)":                             "hk.sh",
		"bash --rcfile hk.sh -ic true":               "hk.sh",
		"env -S 'sh hk.sh'":                          "hk.sh",
		"GIT_SSH_COMMAND=./hk.sh git fetch":          "hk.sh",
		"EDITOR=./hk.sh git commit":                  "hk.sh",
		"LD_PRELOAD=./lib/x.so ls":                   "lib/x.so",
	} {
		m := newMachine(t)
		for _, name := range []string{"hk.sh", "bin/tool", "hooks/pre-commit", "lib/Check.pm", "lib/check.py", "lib/check.js", "lib/check.rb", "lib/x.so", "check.pl", "hk.awk", "hk.sed", "build.mk", "list", "a"} {
			m.write("project/"+name, "# one\n")
		}
		m.write("outside/x.sh", "# one\n")
		if err := os.Symlink(m.path("outside"), m.path("project/out")); err != nil {
			t.Fatal(err)
		}
		m.write("project/.claude/settings.json", fmt.Sprintf(`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": %q}]}]}}`, command))
		if err := grantAll(t.Context(), m.folder(), m.load()); err != nil {
			t.Fatal(err)
		}
		before := m.untrusted(m.folder(), m.load())
		if file == "out/x.sh" {
			file = "../outside/x.sh"
		}
		m.write("project/"+file, "# two\n")
		if after := m.untrusted(m.folder(), m.load()); len(after) == 0 {
			t.Errorf("%s: runs %s, which has changed (asked before: %v)", command, file, len(before) > 0)
		}
	}
}
