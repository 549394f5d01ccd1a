// Command refresh reads the list of the Models API on standard input and brings the file
// that is named up to date with it. What it changed, and what it could not find out, it
// says on standard error.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/models/catalog"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: refresh FILE <LIST")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdin, time.Now(), os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "refresh:", err)
		os.Exit(1)
	}
}

func run(name string, list io.Reader, now time.Time, say io.Writer) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var f catalog.File
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	var models listing
	if err := json.NewDecoder(list).Decode(&models); err != nil {
		return fmt.Errorf("read the list of models: %w", err)
	}
	if len(models.Data) == 0 {
		return fmt.Errorf("the list has no models")
	}
	update(&f, &models, say)
	f.Date = now.Format(time.DateOnly)
	return os.WriteFile(name, encode(&f), 0o644)
}

// A listing is what the Models API answers, as far as it matters here.
type listing struct {
	Data []listed `json:"data"`
}

type listed struct {
	ID        string `json:"id"`
	Name      string `json:"display_name"`
	Context   int    `json:"max_input_tokens"`
	MaxOutput int    `json:"max_tokens"`
	Can       struct {
		Effort   map[string]json.RawMessage `json:"effort"`
		Thinking struct {
			Types map[string]support `json:"types"`
		} `json:"thinking"`
	} `json:"capabilities"`
}

type support struct {
	Supported bool `json:"supported"`
}

// update takes over what the list says.
func update(f *catalog.File, models *listing, say io.Writer) {
	there := map[string]bool{}
	for _, m := range models.Data {
		id := regexp.MustCompile(`-20\d{6}$`).ReplaceAllString(m.ID, "")
		there[id] = true
		at := slices.IndexFunc(f.Models, func(e catalog.Entry) bool { return e.ID == id })
		if at < 0 {
			f.Models = append(f.Models, catalog.Entry{ID: id, Name: m.Name, Context: 200_000, MaxOutput: 64_000})
			at = len(f.Models) - 1
			fmt.Fprintf(say, "%s is new: look up its price, its default effort and whether thinking can be turned off\n", id)
		}
		m.into(&f.Models[at])
	}
	for _, e := range f.Models {
		if !there[e.ID] {
			fmt.Fprintf(say, "%s is no longer listed\n", e.ID)
		}
	}
}

func (m *listed) into(e *catalog.Entry) {
	e.Context, e.MaxOutput = cmp.Or(m.Context, e.Context), cmp.Or(m.MaxOutput, e.MaxOutput)
	switch types := m.Can.Thinking.Types; {
	case types["adaptive"].Supported:
		e.Thinking = catalog.Adaptive
	case types["enabled"].Supported:
		e.Thinking = catalog.Budget
	}
	var levels []string
	for _, level := range []string{"low", "medium", "high", "xhigh", "max"} {
		var s support
		if json.Unmarshal(m.Can.Effort[level], &s) == nil && s.Supported {
			levels = append(levels, level)
		}
	}
	if levels != nil {
		e.Efforts = levels
		e.Effort = cmp.Or(e.Effort, "high")
	}
}

// encode writes a line for each model, so that a change is seen.
func encode(f *catalog.File) []byte {
	var b bytes.Buffer
	aliases, err := json.MarshalIndent(f.Aliases, "  ", "    ")
	if err != nil {
		panic("refresh: " + err.Error()) // strings encode
	}
	fmt.Fprintf(&b, "{\n  \"date\": %q,\n  \"aliases\": %s,\n  \"models\": [\n", f.Date, aliases)
	for i, e := range f.Models {
		line, err := json.Marshal(e)
		if err != nil {
			panic("refresh: " + err.Error())
		}
		comma := ","
		if i == len(f.Models)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "    %s%s\n", line, comma)
	}
	b.WriteString("  ]\n}\n")
	return b.Bytes()
}
