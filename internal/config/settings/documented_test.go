package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/golden"
)

var (
	jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")
	dotted    = regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Za-z]+)+)`")
	codeSpan  = regexp.MustCompile("`([A-Za-z.]+)`")
)

// documented returns the keys of settings that a page names: in tables of settings,
// in examples, and by their path in the text.
func documented(page string) (keys []string) {
	table := false
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			table = false
			continue
		}
		first, _, _ := strings.Cut(line[1:], "|")
		switch {
		case strings.TrimSpace(first) == "setting":
			table = true
		case table:
			for _, m := range codeSpan.FindAllStringSubmatch(first, -1) {
				keys = append(keys, m[1])
			}
		}
	}
	for _, m := range dotted.FindAllStringSubmatch(page, -1) {
		if top, _, _ := strings.Cut(m[1], "."); topLevel()[top].members != nil {
			keys = append(keys, m[1])
		}
	}
	for _, m := range jsonBlock.FindAllStringSubmatch(page, -1) {
		var example map[string]map[string]any
		if json.Unmarshal([]byte(m[1]), &example) != nil {
			continue
		}
		for top, members := range example {
			for name := range members {
				if topLevel()[top].members != nil {
					keys = append(keys, top+"."+name)
				}
			}
		}
	}
	return keys
}

func TestEveryDocumentedKeyIsKnown(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, page := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range documented(string(text)) {
			found[key] = true
			if !isKnown(key) && !strings.HasSuffix(key, ".go") { // a file, such as agents.go
				t.Errorf("%s names the setting %s, which settings files must not have", page, key)
			}
		}
	}
	for _, key := range []string{"agents.maxRunning", "bash.passEnv", "webFetch.model"} {
		if !found[key] {
			t.Errorf("%s was not found in docs: what does this test look at?", key)
		}
	}
}

// Every setting that haft acts on is in a guide, by its path or, within the example of one, by its name.
func TestEveryKeyIsDocumented(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	docs := all.String()
	var look func(prefix string, members map[string]shape)
	look = func(prefix string, members map[string]shape) {
		for name, s := range members {
			switch key := prefix + name; {
			case s.effect != acts || name == "$schema":
			case s.members != nil:
				look(key+".", s.members)
			case !strings.Contains(docs, "`"+key) && !strings.Contains(docs, `"`+name+`"`):
				t.Errorf("no guide in docs names the setting %s", key)
			}
		}
	}
	look("", topLevel())
}

// What is said to have no effect must have none, and be told of.
func TestKeysWithoutAnEffect(t *testing.T) {
	for text, want := range map[string]string{
		`{"sandbox":{"enabled":true}}`:         "",
		`{"sandbox":{"ripgrep":{}}}`:           "3 has no effect in haft",
		`{"sandbox":{"credentials":{}}}`:       "1 has no effect in haft, so what it should protect is not protected",
		`{"sandbox":{"enabled":false}}`:        "",
		`{"availableModels":["sonnet"]}`:       "1 has no effect in haft, so what it should protect is not protected",
		`{"spinnerTipsEnabled":true}`:          "3 has no effect in haft",
		`{"spinnerTipsEnabled":false}`:         "",
		`{"effortLevel":"high"}`:               "",
		`{"allowedHttpHookUrls":["http://*"]}`: "",
	} {
		f, err := Parse(User, "settings.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range Of(f).Problems() {
			got = append(got, fmt.Sprint(int(p.Kind), " ", p.Text))
		}
		if joined := strings.Join(got, "\n"); joined != want {
			t.Errorf("%s\ngot  %q\nwant %q", text, joined, want)
		}
	}
	read := regexp.MustCompile(`Counts\.(?:Text|Flag|ManagedFlag|Lookup)\("(\w+)"`)
	sources, err := filepath.Glob("../../harness/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sources {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range read.FindAllSubmatch(source, -1) {
			if s, ok := topLevel()[string(m[1])]; !ok || s.effect != acts {
				t.Errorf("%s reads %s, which is not said to have an effect", path, m[1])
			}
		}
	}
}

func isKnown(key string) bool {
	shapes := topLevel()
	for name := range strings.SplitSeq(key, ".") {
		s, ok := shapes[name]
		if !ok {
			return false
		}
		shapes = s.members
	}
	return true
}

func TestNumbersAndChoicesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{"agents":{"maxRunning":2}}`:                     "",
		`{"agents":{"maxRunning":"2"}}`:                   "must be a whole number of at least 0, not a string: it is ignored",
		`{"agents":{"maxRunning":-1}}`:                    "must be a whole number of at least 0, not -1: it is ignored",
		`{"agents":{"maxRunning":1.5}}`:                   "must be a whole number of at least 0, not 1.5: it is ignored",
		`{"agents":{"maxRuning":2}}`:                      "is not a known key; did you mean maxRunning?",
		`{"autoAllowBashIfSandboxed":true}`:               `is not a known key here; it belongs into "sandbox"`,
		`{"calls":{"afterFailure":"cancel"}}`:             "",
		`{"calls":{"afterFailure":"stop"}}`:               `must be one of continue, cancel, not "stop": it is ignored`,
		`{"calls":{"sameResults":{"warn":-1,"stop":9}}}`:  "",
		`{"calls":{"sameResults":{"warn":-2}}}`:           "must be a whole number of at least -1, not -2: it is ignored",
		`{"agents":{"idleSeconds":99999999999999999999}}`: "must be a whole number of at least 0, not 99999999999999999999: it is ignored",
	} {
		f, err := Parse(User, "settings.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range Of(f).Problems() {
			got = append(got, p.Text)
		}
		if joined := strings.Join(got, "\n"); joined != want {
			t.Errorf("%s\ngot  %q\nwant %q", text, joined, want)
		}
	}
}

// TestTheGuideListsWhatHasNoEffect writes two lists of the guide about settings.
func TestTheGuideListsWhatHasNoEffect(t *testing.T) {
	lists := map[effect][]string{}
	var look func(prefix string, members map[string]shape)
	look = func(prefix string, members map[string]shape) {
		for name, s := range members {
			if s.effect != acts {
				lists[s.effect] = append(lists[s.effect], "`"+prefix+name+"`")
			} else {
				look(prefix+name+".", s.members)
			}
		}
	}
	look("", topLevel())
	for _, l := range lists {
		slices.Sort(l)
	}
	golden.Part(t, "../../../docs/settings.md", "settings without an effect", strings.Join(lists[idles], ", ")+"\n\n"+strings.Join(lists[unkept], ", ")+"\n")
}
