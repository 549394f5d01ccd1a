package house

import (
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// translated are the packages whose messages have translations.
var translated = []string{"./internal/drive", "./internal/front/tui", "./internal/front/tui/composer", "./internal/front/plain", "./internal/knowledge/command", "./internal/cli", "./internal/harness/answers", "./internal/harness/doctor", "./internal/sys/platform", "./internal/harness/slash", "./internal/front/card", "./internal/world/mcp/elicit", "./internal/text/lang", "./internal/cli/demo"}

const messageType = "github.com/haftdev/haft/internal/text/lang.Text"

// TestMessagesAreTranslated compares the messages in the code with the catalogue of each
// language: none is left over, and each takes the same arguments. One that is missing is
// only reported: it is shown in English until somebody translates it.
func TestMessagesAreTranslated(t *testing.T) {
	used := messages(t)
	if len(used) < 100 {
		t.Fatalf("only %d messages were found", len(used))
	}
	if out := os.Getenv("HAFT_MESSAGES"); out != "" { // for a translator: all that there is to say
		raw, _ := json.MarshalIndent(slices.Sorted(mapKeys(used)), "", " ")
		if err := os.WriteFile(out, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("../../text/lang/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("catalogues: %v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]string
		if err := json.Unmarshal(raw, &texts); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		missing, faults := catalogueFaults(filepath.Base(file), texts, used)
		for _, text := range missing {
			t.Log(text)
		}
		report(t, faults, "Remove what nobody says, and keep the arguments: %[2]s puts the second one first.")
	}
}

func mapKeys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func catalogueFaults(file string, texts map[string]string, used map[string]bool) (missing, faults []string) {
	for text := range used {
		switch translation, ok := texts[text]; {
		case !ok:
			missing = append(missing, file+": is not translated yet: "+strconv.Quote(text))
		case translation == "":
			faults = append(faults, file+": is empty: "+strconv.Quote(text))
		case !slices.Equal(formatArgs(text), formatArgs(translation)):
			faults = append(faults, file+": takes other arguments: "+strconv.Quote(text)+" and "+strconv.Quote(translation))
		}
	}
	for text := range texts {
		if !used[text] {
			faults = append(faults, file+": nobody says "+strconv.Quote(text))
		}
	}
	slices.Sort(missing)
	slices.Sort(faults)
	return missing, faults
}

var formatVerb = regexp.MustCompile(`%(%|(?:\[(\d+)\])?[-+# 0-9.]*([a-zA-Z]))`)

// formatArgs are the arguments that a format takes, each with its verb, in their order.
func formatArgs(format string) []string {
	args, next := []string{}, 1
	for _, m := range formatVerb.FindAllStringSubmatch(format, -1) {
		if m[1] == "%" {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			next = n
		}
		args = append(args, strconv.Itoa(next)+m[3])
		next++
	}
	slices.Sort(args)
	return slices.Compact(args)
}

// TestSentencesAreMessages finds sentences for users that no catalogue could translate.
func TestSentencesAreMessages(t *testing.T) {
	said := map[string]bool{}
	for _, dir := range []string{"./internal/drive", "./internal/front/tui", "./internal/front/plain", "./internal/front/card", "./internal/harness/answers"} {
		texts, others := constants(t, dir)
		if len(texts) == 0 {
			t.Errorf("%s has no messages", dir)
		}
		for s := range others {
			said[s] = said[s] || sentence.MatchString(s) && !texts[s]
		}
	}
	var faults []string
	for s, is := range said {
		if _, known := notShown[s]; is && !known {
			faults = append(faults, strconv.Quote(s))
		}
	}
	slices.Sort(faults)
	report(t, faults, "Make it a lang.Text, by T or lang.Errorf, or say in notShown who reads it.")
	for s := range notShown {
		if !said[s] {
			t.Errorf("notShown has %q, which nobody says", s)
		}
	}
}

var sentence = regexp.MustCompile(`[A-Za-z]+ [a-z]+ [a-z]+`)

// notShown are sentences that users do not read.
var notShown = map[string]string{
	`^(Cancelled (before|while) it ran|The command was interrupted and stopped|\[[\w-]+ (was interrupted|never ran): the session ended)`: "the model's texts are recognized by it",
	"the user denied it":                        "reasons of verdicts are kept and told to the model",
	"the user allowed it once":                  "the same",
	"the user does not approve the plan yet":    "the same",
	"the user approved the plan":                "the same",
	"the user allowed all edits in the project": "the same",
	"could not send the answers: ":              "the same",
	"the input ended before an answer":          "the same",
	"the user answered":                         "the same",
	"/memory add project|local|user NOTE":       "it is to be typed",
	"a whole number of at least ":               "what a setting takes is recognized by it",
	"the clipboard as «class PNGf»":             "AppleScript",
	"it is not a picture":                       "another error takes its place",
	"it is too large":                           "the same",
}

// messages are the constants of the type of messages in the packages that have them.
func messages(t *testing.T) map[string]bool {
	t.Helper()
	texts, _ := constants(t, translated...)
	return texts
}

// constants are the texts in packages: those of the type of messages, and all others.
func constants(t *testing.T, packages ...string) (texts, others map[string]bool) {
	t.Helper()
	exports := map[string]string{}
	var ours []*listedPackage
	for _, p := range goList(t, "../../..", append([]string{"-export", "-deps"}, packages...)...) {
		exports[p.ImportPath] = p.Export
		if slices.Contains(packages, "./"+strings.TrimPrefix(p.ImportPath, "github.com/haftdev/haft/")) {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	texts, others = map[string]bool{}, map[string]bool{}
	for _, p := range ours {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		if _, err := (&types.Config{Importer: from}).Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		for _, tv := range info.Types {
			switch {
			case tv.Value == nil || tv.Value.Kind() != constant.String || constant.StringVal(tv.Value) == "":
			case tv.Type.String() == messageType:
				texts[constant.StringVal(tv.Value)] = true
			default:
				others[constant.StringVal(tv.Value)] = true
			}
		}
	}
	return texts, others
}
