// Package toolcheck holds a tool against the contract of package tool. Package tooltest runs it in Go
// tests, and haft tools test for tools that are commands.
//
// It is safe for concurrent use, but sees goroutines of others as left behind by the tool.
package toolcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/tool"
)

// T is what reports; a [testing.T] is nearly one.
type T interface {
	Helper()
	Context() context.Context
	Error(args ...any)
	Errorf(format string, args ...any)
	// Fatal and Fatalf end the part.
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	// Run runs a part, which may end early, to its end.
	Run(name string, part func(T))
}

// A Subject is a tool under test.
type Subject struct {
	Tool tool.Tool
	// Session is what the tool is asked about; nil means no facts.
	Session *tool.Session
	// Tools is the set that calls see; nil means a set of the tool alone.
	Tools *tool.Set
	// Valid are inputs that the tool accepts and can run again and again. At
	// least one is needed.
	Valid []string
	// Slow is an input that takes at least 10 s unless it is cancelled; "" means that there is
	// no such input, for example because the tool only computes.
	Slow string
	// Reset restores the initial state before each run; nil means that this is not needed.
	Reset func(T)
	// Here says that the tool works in this process, so that it must leave no goroutines.
	Here bool
	// Dir is the folder that the tool works in, the [tool.Call.Dir] of its calls: only files that
	// the tool names may change there. "" watches the folders of the files that it names.
	Dir string
}

// Patience is how long a tool may take to return after it was cancelled, and a
// valid input to run. Cancelling leaves time for a program to start and to end on a
// busy machine; a tool that ignores it takes the 10 s of a slow input.
const (
	cancelPatience = 5 * time.Second
	runPatience    = 30 * time.Second
)

// Run runs the suite. It must not run in parallel to what starts goroutines.
func Run(t T, s Subject) {
	t.Helper()
	if s.Session == nil {
		s.Session = new(tool.Session)
	}
	if err := s.Tool.Check(); err != nil {
		t.Fatalf("the tool is wrongly built: %v", err)
	}
	if s.Tools == nil {
		s.Tools = tool.NewSet(s.Session, []tool.Tool{s.Tool}, nil, nil)
	}
	if len(s.Valid) == 0 {
		t.Fatal("the subject has no valid input: the suite could not fail")
	}
	t.Run("the words for the model are there", s.words)
	t.Run("the schema is valid, strict and stable", s.schema)
	t.Run("valid input is accepted as it is", s.accepts)
	t.Run("marks do not contradict each other", s.marks)
	t.Run("bad input never panics", s.survives)
	t.Run("results are what they promise", s.results)
	t.Run("what it changes is what it says", s.files)
	t.Run("safe calls run beside each other", s.concurrent)
	t.Run("cancellation is honoured", s.cancels)
}

// call returns a call with the input as the pipeline would give it.
func (s *Subject) call(t T, in string) *tool.Call {
	t.Helper()
	fixed, _, err := s.Tools.View(&s.Tool).Check([]byte(in))
	if err != nil {
		t.Fatalf("input %s: %v", in, err)
	}
	return &tool.Call{ID: "call-0", UseID: "toolu_test", Tool: s.Tool.Name, Input: fixed, Dir: s.Dir, Session: s.Session, Tools: s.Tools}
}

func (s *Subject) reset(t T) {
	t.Helper()
	if s.Reset != nil {
		s.Reset(t)
	}
}

// run runs one input to its end, within the patience of the suite.
func (s *Subject) run(ctx context.Context, c *tool.Call, patience time.Duration) (r tool.Result, err error, returned bool) {
	type end struct {
		r   tool.Result
		err error
	}
	done := make(chan end, 1)
	go func() {
		e := end{err: errors.New("Run ended without returning")}
		defer func() {
			if p := recover(); p != nil {
				e.err = fmt.Errorf("Run panicked: %v", p)
			}
			done <- e
		}()
		e.r, e.err = s.Tool.Run(ctx, c)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case e := <-done:
		return e.r, e.err, true
	case <-timer.C:
		return tool.Result{}, nil, false
	}
}

// What a tool may give back: the most characters it may ask to show, and the most
// bytes it may hold.
const (
	maxLimit  = 1_000_000
	maxResult = 64 << 20
)

func (s *Subject) results(t T) {
	for _, in := range s.Valid {
		s.reset(t)
		leak := s.watchGoroutines()
		c := s.call(t, in)
		r, err, returned := s.run(t.Context(), c, runPatience)
		switch {
		case !returned:
			t.Fatalf("input %s: still running after %s", in, runPatience)
		case err != nil:
			t.Errorf("input %s: %v", in, err)
		default:
			s.checkResult(t, in, r)
		}
		leak.check(t, in)
	}
}

func (s *Subject) checkResult(t T, in string, r tool.Result) {
	t.Helper()
	if r.Failed {
		t.Errorf("input %s: a valid input failed: %s", in, r.Text())
	}
	if len(r.Content) == 0 {
		t.Errorf("input %s: a result without content: the model would not know what happened", in)
	}
	size := len(r.Text())
	for _, b := range r.Content {
		if !b.Known() {
			t.Errorf("input %s: a block of the unknown type %q", in, b.Type)
		}
		size += len(b.Data)
	}
	if size > maxResult {
		t.Errorf("input %s: a result of %d bytes: the pipeline would cut it, but a tool must bound what it holds in memory", in, size)
	}
	if !utf8.ValidString(r.Text()) {
		t.Errorf("input %s: text that is not UTF-8", in)
	}
	if s.Tool.SummarizeResult != nil && strings.Contains(s.Tool.SummarizeResult(r), "\n") {
		t.Errorf("input %s: the result's summary has more than one line", in)
	}
	out, err := json.Marshal(r.Output)
	if err != nil {
		t.Errorf("input %s: the output is not JSON: %v", in, err)
		return
	}
	if s.Tool.Output != nil {
		if _, _, err := s.Tool.Output.View(nil).Check(out); err != nil {
			t.Errorf("input %s: the output does not match its schema: %v", in, err)
		}
	}
}

// concurrent runs calls that say they may, for the race detector to see.
func (s *Subject) concurrent(t T) {
	for _, in := range s.Valid {
		if !s.Tool.MarksOf(s.call(t, in)).ConcurrencySafe {
			continue
		}
		s.reset(t)
		var calls sync.WaitGroup
		for range 4 {
			c := s.call(t, in)
			calls.Go(func() {
				if _, err, returned := s.run(t.Context(), c, runPatience); err != nil || !returned {
					t.Errorf("input %s, beside itself: returned %t, %v", in, returned, err)
				}
			})
		}
		calls.Wait()
	}
}

func (s *Subject) cancels(t T) {
	inputs := s.Valid
	if s.Slow != "" {
		inputs = append([]string{s.Slow}, inputs...)
	}
	for i, in := range inputs {
		s.reset(t)
		leak := s.watchGoroutines()
		ctx, cancel := context.WithCancel(t.Context())
		if i == 0 && s.Slow != "" {
			time.AfterFunc(100*time.Millisecond, cancel) // in the middle of its work
		} else {
			cancel() // before it begins
		}
		began := time.Now()
		_, err, returned := s.run(ctx, s.call(t, in), cancelPatience)
		cancel()
		if !returned {
			t.Fatalf("input %s: still running %s after it was cancelled", in, cancelPatience)
		}
		var forModel *tool.Error
		if err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, &forModel) {
			t.Errorf("input %s: cancelled, it ends the turn with %v", in, err)
		}
		if i == 0 && s.Slow != "" && err == nil && time.Since(began) < 50*time.Millisecond {
			t.Errorf("input %s is not slow", in)
		}
		leak.check(t, in)
	}
}

// files holds a tool that says what it writes against what it does write: a preview
// changes nothing, what runs is what was shown, and no file is touched that the tool
// did not name.
func (s *Subject) files(t T) {
	for _, in := range s.Valid {
		s.reset(t)
		c := s.call(t, in)
		paths := s.Tool.PathsOf(c)
		if s.Tool.Preview != nil && s.Tool.Paths == nil {
			t.Fatalf("input %s: it shows changes and does not say which files it touches", in)
		}
		watched := s.watched(t, paths)
		before := look(t, watched)
		p, err := s.Tool.PreviewOf(t.Context(), c)
		if err != nil {
			t.Errorf("input %s: a valid input cannot be previewed: %v", in, err)
		}
		if changed := differences(before, look(t, watched)); len(changed) > 0 {
			t.Errorf("input %s: the preview changed %q", in, changed)
		}
		c.Approved = p.Digest()
		if _, err, returned := s.run(t.Context(), c, runPatience); err != nil || !returned {
			continue // results says so
		}
		after := look(t, watched)
		for _, path := range differences(before, after) {
			if !slices.ContainsFunc(paths.Writes, func(w string) bool { return pathin.Contains(s.absolute(t, w), path) }) {
				t.Errorf("input %s: %s was changed, and Paths does not name it", in, path)
			}
		}
		if p != nil {
			if wrong := differences(promised(before, after, p), after); len(wrong) > 0 {
				t.Errorf("input %s: not what the preview shows: %q", in, wrong)
			}
		}
	}
}

// watched are the folders whose files are looked at.
func (s *Subject) watched(t T, paths tool.Paths) []string {
	var dirs []string
	if s.Dir != "" {
		dirs = append(dirs, s.absolute(t, "."))
	}
	for _, w := range paths.Writes {
		dir := filepath.Dir(s.absolute(t, w))
		for _, err := os.Stat(dir); err != nil; _, err = os.Stat(dir) {
			dir = filepath.Dir(dir)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// absolute is a path of the tool's, by its physical folder.
func (s *Subject) absolute(t T, path string) string {
	t.Helper()
	if !filepath.IsAbs(path) {
		if s.Dir == "" {
			t.Fatalf("the tool names the relative path %q: say in Subject.Dir where it works", path)
		}
		path = filepath.Join(s.Dir, path)
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, strings.TrimPrefix(path, dir))
		}
	}
}

// look returns the mode and content of every file and link below some folders.
func look(t T, dirs []string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			content := ""
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				content, err = os.Readlink(path)
			case info.Mode().IsRegular():
				var raw []byte
				raw, err = os.ReadFile(path)
				content = string(raw)
			}
			files[path] = info.Mode().String() + " " + content
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// differences are the files that are not the same.
func differences(a, b map[string]string) []string {
	var paths []string
	for path := range a {
		if was, ok := b[path]; !ok || was != a[path] {
			paths = append(paths, path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// promised is how files should be after a change. The mode that a preview leaves to the
// system is taken as it is.
func promised(before, after map[string]string, p *tool.Preview) map[string]string {
	want := map[string]string{}
	for path, file := range before {
		want[path] = file
	}
	for _, f := range p.Files {
		delete(want, f.From)
		if f.After == nil {
			delete(want, f.Path)
			continue
		}
		mode := f.After.Mode.String()
		if f.After.Mode == 0 {
			mode, _, _ = strings.Cut(after[f.Path], " ")
		}
		want[f.Path] = mode + " " + string(f.After.Raw)
	}
	return want
}

func (s *Subject) watchGoroutines() goroutineWatch {
	if !s.Here {
		return nil
	}
	w := make(goroutineWatch)
	for id := range goroutines() {
		w[id] = true
	}
	return w
}

func (s *Subject) words(t T) {
	d := s.Tool.Describe(s.Session)
	if strings.TrimSpace(d) == "" {
		t.Error("the description is empty")
	}
	if d != s.Tool.Describe(s.Session) {
		t.Error("the description changes from call to call: the prompt cache would never hit")
	}
	if s.Tool.Prompt != nil {
		if first := s.Tool.Prompt(s.Session); first != s.Tool.Prompt(s.Session) {
			t.Error("the prompt changes from call to call")
		}
	}
	if n := s.Tool.ResultLimit(); n > maxLimit {
		t.Errorf("a result may have %d characters, more than any conversation should take", n)
	}
	if s.Tool.Deferred && s.Tool.SearchHint == "" {
		t.Error("a deferred tool without a search hint is hard to find")
	}
}

func (s *Subject) schema(t T) {
	raw := s.Tools.View(&s.Tool).JSON()
	if !bytes.Equal(raw, s.Tools.View(&s.Tool).JSON()) {
		t.Error("the schema changes from call to call")
	}
	var sch jsonschema.Schema
	if err := json.Unmarshal(raw, &sch); err != nil {
		t.Fatalf("the schema is not a JSON Schema: %v", err)
	}
	if _, err := sch.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		t.Errorf("the schema does not resolve: %v", err)
	}
	if sch.Type != "object" {
		t.Errorf("the schema's type is %q, want object", sch.Type)
	}
	if s.Tool.Source == "" && !bytes.Contains(raw, []byte(`"additionalProperties":false`)) {
		t.Error("the schema lets unknown fields through")
	}
	for name, p := range sch.Properties {
		if s.Tool.Source == "" && p.Description == "" {
			t.Errorf("the field %s is not described", name)
		}
	}
	if example := s.Tools.View(&s.Tool).Example(); s.Tool.Source == "" && example == nil {
		t.Error("no correct example can be made from the schema for error messages: give the fields with patterns an example")
	}
}

func (s *Subject) accepts(t T) {
	for _, in := range s.Valid {
		fixed, repairs, err := s.Tools.View(&s.Tool).Check([]byte(in))
		switch {
		case err != nil:
			t.Errorf("input %s: %v", in, err)
		case len(repairs) > 0 || string(fixed) != in:
			t.Errorf("input %s was changed to %s: %v", in, fixed, repairs)
		}
	}
}

func (s *Subject) marks(t T) {
	for _, in := range s.Valid {
		m := s.Tool.MarksOf(s.call(t, in))
		if m.ReadOnly && m.Destructive {
			t.Errorf("input %s: a read-only call cannot be destructive", in)
		}
		if m.Effect == tool.Pure && !m.ReadOnly {
			t.Errorf("input %s: a call without effect is read-only", in)
		}
		if s.Tool.Marks == nil && (m != tool.Marks{}) {
			t.Errorf("input %s: marks out of nowhere: %+v", in, m)
		}
	}
}

// survives sends inputs that are wrong in every simple way, and asks everything
// but Run about those that the schema lets through.
func (s *Subject) survives(t T) {
	for _, valid := range s.Valid {
		for _, in := range mutations(t, valid) {
			s.ask(t, in)
		}
	}
}

func (s *Subject) ask(t T, in string) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("input %s: panic: %v", in, p)
		}
	}()
	fixed, _, err := s.Tools.View(&s.Tool).Check([]byte(in))
	if err != nil {
		if err.Error() == "" {
			t.Errorf("input %s: an error without words", in)
		}
		return
	}
	c := s.call(t, string(fixed))
	s.Tool.MarksOf(c)
	if s.Tool.Validate != nil {
		if p := s.Tool.Validate(t.Context(), c); p != nil && strings.TrimSpace(p.Message) == "" {
			t.Errorf("input %s: a problem without words", in)
		}
	}
	if s.Tool.Permission != nil {
		s.Tool.Permission(t.Context(), c)
	}
	if s.Tool.Classify != nil {
		s.Tool.Classify(c)
	}
	if s.Tool.Summarize != nil && strings.Contains(s.Tool.Summarize(c), "\n") {
		t.Errorf("input %s: the summary has more than one line", in)
	}
}

// mutations returns inputs near to valid that may be wrong.
func mutations(t T, valid string) []string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(valid), &fields); err != nil {
		t.Fatalf("input %s: %v", valid, err)
	}
	out := []string{`{}`, `[]`, `null`, `""`, `0`, `{"no_such_field":1}`, strings.Repeat(`{"a":`, 50) + `1` + strings.Repeat(`}`, 50)}
	wrong := []any{nil, true, 0, -1, 1e300, 0.5, "", "x", "5", "true", "[]", "\x00", "é\n", strings.Repeat("y", 5000), []any{}, []any{nil}, map[string]any{}, map[string]any{"a": 1}}
	for name, value := range fields {
		for _, w := range wrong {
			fields[name] = w
			out = append(out, encode(t, fields))
		}
		delete(fields, name)
		out = append(out, encode(t, fields))
		fields[name] = value
	}
	return out
}

func encode(t T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
