package cli

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/shellrun"
)

// named finds a command line of haft in a text: in quotes, on a line of its own, or after
// words that tell the reader to run it.
var named = regexp.MustCompile("(?m)(?:['`]|^    |(?:running|with:|in:) )haft ((?:--?)?[a-z][^'`\\n·;]*)")

// TestEveryCommandThatIsNamedExists takes the command lines of haft out of every string
// of the source and out of the documents: each is a command that haft has, with flags
// that it takes.
func TestEveryCommandThatIsNamedExists(t *testing.T) {
	lines := make(map[string]string) // command line → where
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bench"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			return collectStrings(path, lines)
		case strings.HasSuffix(path, ".md"):
			text, err := os.ReadFile(path)
			collect(string(text), path, lines)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 40 {
		t.Fatalf("only %d command lines were found", len(lines))
	}
	for line, where := range lines {
		if problem := misnames(line); problem != "" {
			t.Errorf("%s names 'haft %s': %s", where, line, problem)
		}
	}
}

func collectStrings(path string, lines map[string]string) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				collect(text, path, lines)
			}
		}
		return true
	})
	return nil
}

func collect(text, where string, lines map[string]string) {
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		lines[strings.TrimSpace(m[1])] = where
	}
}

var (
	commandWord = regexp.MustCompile(`^[a-z]+(\|[a-z]+)*$`)
	flagWord    = regexp.MustCompile(`^--[a-z][a-zA-Z-]*|^-[a-z]$`)
)

// misnames says what of a command line haft does not have; "" if it has all of it.
func misnames(line string) string {
	root := newRoot(Streams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, shellrun.Reexec{})
	root.InitDefaultHelpCmd() // as running it does
	command, rest := root, strings.Fields(line)
	for command.HasSubCommands() && len(rest) > 0 && commandWord.MatchString(rest[0]) {
		found := command
		for name := range strings.SplitSeq(rest[0], "|") { // add|remove
			var err error
			if found, _, err = command.Find([]string{name}); err != nil || found == command {
				return fmt.Sprintf("there is no command %q", name)
			}
		}
		command, rest = found, rest[1:]
	}
	for _, word := range rest {
		flag := flagWord.FindString(word)
		name := strings.TrimLeft(flag, "-")
		if word == "--" {
			break
		}
		if flag == "" || name == "help" || name == "version" {
			continue
		}
		if command.Flag(name) == nil && (len(name) != 1 || command.Flags().ShorthandLookup(name) == nil) {
			return fmt.Sprintf("%s has no flag %s", command.CommandPath(), flag)
		}
	}
	return ""
}

// ownVariables are set by haft for processes of its own or used by its tests: users have no use for them.
var ownVariables = map[string]bool{
	"HAFT_SHELLRUN_TIDY": true, "HAFT_SHELLRUN_KEEPER": true, "HAFT_SHELLRUN_BOX": true, "HAFT_TEST_LANGUAGE_SERVER": true,
	"HAFT_AUTH_TOKEN": true, "HAFT_API_KEY": true, // kept from commands, should somebody set them
	"HAFT_NIGHTLY": true, // of tests
}

// TestEveryVariableIsDocumented compares the variables of haft in the source with those in the guides.
func TestEveryVariableIsDocumented(t *testing.T) {
	variable := regexp.MustCompile(`\bHAFT_[A-Z_]*[A-Z]\b`)
	used, named := map[string]string{}, map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "test" || d.Name() == "bench"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			texts := map[string]string{}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					texts[lit.Value] = path
				}
				return true
			})
			for text := range texts {
				for _, name := range variable.FindAllString(text, -1) {
					used[name] = path
				}
			}
		case strings.HasPrefix(path, "../../docs/") && strings.HasSuffix(path, ".md"):
			text, err := os.ReadFile(path)
			for _, name := range variable.FindAllString(string(text), -1) {
				named[name] = path
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range used {
		if named[name] == "" && !ownVariables[name] {
			t.Errorf("%s uses %s, which no guide names", path, name)
		}
	}
	for name, path := range named {
		if used[name] == "" && !ownVariables[name] {
			t.Errorf("%s names %s, which nothing reads", path, name)
		}
	}
}
