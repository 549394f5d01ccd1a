package cli

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/world/shellrun"
)

func TestResumeMayStandAlone(t *testing.T) {
	for name, c := range map[string]struct{ args, want []string }{
		"at the end":          {[]string{"--resume"}, []string{"--resume="}},
		"before a flag":       {[]string{"-r", "--model=x"}, []string{"--resume=", "--model=x"}},
		"with a session's id": {[]string{"--resume", "id"}, []string{"--resume", "id"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, normalize(c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListsTakeTheWordsThatFollow(t *testing.T) {
	for name, c := range map[string]struct{ args, want []string }{
		"rules, then the prompt":          {[]string{"-p", "--allowedTools", "Read", "Bash(go test:*)", "say hi"}, []string{"-p", "--allowedTools", "Read", "--allowedTools=Bash(go test:*)", "say hi"}},
		"the prompt first":                {[]string{"-p", "say hi", "--allowedTools", "Read", "mcp__a__b"}, []string{"-p", "say hi", "--allowedTools", "Read", "--allowedTools=mcp__a__b"}},
		"a flag after them":               {[]string{"--tools", "Read", "Edit", "-p", "Go"}, []string{"--tools", "Read", "--tools=Edit", "-p", "Go"}},
		"a list in one word":              {[]string{"--disallowedTools=Read", "Go"}, []string{"--disallowedTools=Read", "Go"}},
		"what is said to be words":        {[]string{"--tools", "Read", "--", "Edit"}, []string{"--tools", "Read", "--", "Edit"}},
		"configurations":                  {[]string{"--mcp-config", "a.json", `{"mcpServers":{}}`, "args.go", "say hi"}, []string{"--mcp-config", "a.json", `--mcp-config={"mcpServers":{}}`, "--mcp-config=args.go", "say hi"}},
		"betas":                           {[]string{"--betas", "context-1m-2025-08-07", "files-api-2025-04-14", "hi"}, []string{"--betas", "context-1m-2025-08-07", "--betas=files-api-2025-04-14", "hi"}},
		"a filter":                        {[]string{"-d", "api,!hooks", "say hi"}, []string{"--debug=api,!hooks", "say hi"}},
		"a worktree":                      {[]string{"-w", "fix-it", "-p", "say hi"}, []string{"--worktree=fix-it", "-p", "say hi"}},
		"an empty word stays":             {[]string{"--tools", "", "-d", "api", "-w", "x", "hi there"}, []string{"--tools", "", "--debug=api", "--worktree=x", "hi there"}},
		"a name that is none":             {[]string{"-w", "../x", "-p", "say hi"}, []string{"--worktree=../x", "-p", "say hi"}},
		"no filter":                       {[]string{"--debug", "say hi"}, []string{"--debug", "say hi"}},
		"files":                           {[]string{"--file", "file_a:x.txt", "file_b:y.txt", "say: hi"}, []string{"--file", "file_a:x.txt", "--file=file_b:y.txt", "say: hi"}},
		"a configuration that is missing": {[]string{"--mcp-config", "a.json", "missing.json", "hi"}, []string{"--mcp-config", "a.json", "--mcp-config=missing.json", "hi"}},
		"a value that may be left out":    {[]string{"--prompt-suggestions", "false", "--teleport", "say hi"}, []string{"--prompt-suggestions=false", "--teleport", "say hi"}},
		"folders":                         {[]string{"--add-dir", "/", "/", "go"}, []string{"--add-dir", "/", "--add-dir=/", "go"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, normalize(c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFlagsOfTheReference holds that every flag of Claude Code is known, with the kind of value and the short name that
// it has there: it does what it does there, or has no effect and says so. That the list is complete is a test of
// internal/test/interop, which asks the program.
func TestFlagsOfTheReference(t *testing.T) {
	raw, err := os.ReadFile("testdata/reference-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, shellrun.Reexec{})
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	guide, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		name, kind := words[0], words[1]
		names = append(names, name)
		if !strings.Contains(string(guide), "`"+name+"`") && name != "--version" && name != "--help" {
			t.Errorf("docs/reference.md does not have %s", name)
		}
		flag := root.Flags().Lookup(name[2:])
		if flag == nil {
			t.Errorf("%s is not known", name)
			continue
		}
		if len(words) == 3 && flag.Shorthand != words[2][1:] && optionalValues[words[2]] != name {
			t.Errorf("%s has the short name %q, want %s", name, flag.Shorthand, words[2])
		}
		takes := normalize([]string{name, "word"})
		switch alone := flag.NoOptDefVal != ""; {
		case (kind == "none") != (alone && takes[0] == name), kind == "optional" != (optionalValues[name] != "" || name == "--resume"):
			t.Errorf("%s takes a value that is %s there; here it can stand alone: %v, and takes a word that follows: %q", name, kind, alone, takes)
		case (kind == "list") != (lists[name] != nil), (kind == "list") != slices.Contains(launch.Lists, flag.Name):
			t.Errorf("%s: want %s, and that is not what it takes here", name, kind)
		}
	}
	for _, name := range launch.Lists {
		if !slices.Contains(names, "--"+name) {
			t.Errorf("--%s is a list only here", name)
		}
	}
}
