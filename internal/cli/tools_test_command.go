package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/toolcheck"
	"github.com/haftdev/haft/tool"
	"github.com/spf13/cobra"
)

// toolTestName is what the test of a tool is called, after the name of its file.
const toolTestName = ".test.json"

func newToolsTest(f *toolsFlags) *cobra.Command {
	return &cobra.Command{
		Use: "test [NAME...]", Short: message("Hold tools that run a command against their contract"), Args: cobra.ArbitraryArgs,
		Long: `Hold tools that run a command against their contract: the marks, paths, answers and results
that their files promise. Without names, all that have a test.

A test is the file NAME.test.json beside NAME.md: "valid" has inputs to run with, "files" what
the temporary folder has in which they run, and "slow", if there is one, an input that takes at
least 10 seconds unless it is cancelled.`,
		RunE: func(c *cobra.Command, args []string) error { return testTools(c.Context(), f, args) },
	}
}

// errToolBroken is the end of a command that has found a fault.
var errToolBroken = errors.New("a tool does not keep its contract")

// testTools tests those of these names, or all that have a test.
func testTools(ctx context.Context, f *toolsFlags, names []string) error {
	say := remarks{f.Err}
	w, err := harness.Open(&harness.Options{Reexec: f.reexec, Notice: say.notice})
	if err != nil {
		return err
	}
	defer w.Close()
	say.all(w.Warnings())
	tools, _ := w.CommandTools() // what is wrong with others was a warning
	var known []string
	for _, t := range tools {
		known = append(known, t.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return usageError{fmt.Errorf("there is no trusted tool %q that runs a command.%s", name, near.Hint(name, known))}
		}
	}
	failed, tested := false, 0
	for _, t := range tools {
		if len(names) > 0 && !slices.Contains(names, t.Name) {
			continue
		}
		path := strings.TrimSuffix(w.CommandToolPath(t.Name), ".md") + toolTestName
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && len(names) == 0 {
			continue
		}
		if err != nil {
			return fmt.Errorf("could not read the test of %s: %w", t.Name, err)
		}
		broken, err := testTool(ctx, f.Out, t, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		tested, failed = tested+1, failed || broken
	}
	switch {
	case failed:
		return errToolBroken
	case tested == 0:
		fmt.Fprintln(f.Err, "None of the trusted tools that run a command has a test. Trust those of the project with: haft trust. Write one with: haft tools new NAME")
	}
	return nil
}

// A toolTest is a test as its file has it.
type toolTest struct {
	Valid []json.RawMessage `json:"valid"`
	Files map[string]string `json:"files"`
	Slow  json.RawMessage   `json:"slow"`
}

// testTool holds a tool against its contract, in a folder of its own.
func testTool(ctx context.Context, out io.Writer, t tool.Tool, raw []byte) (broken bool, err error) {
	var test toolTest
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&test); err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "haft-tool-test-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return false, fmt.Errorf("could not make a folder for the test: %w", err)
	}
	defer os.RemoveAll(dir)
	s := toolcheck.Subject{Tool: t, Slow: string(test.Slow), Dir: dir, Reset: func(r toolcheck.T) {
		if err := fillFolder(dir, test.Files); err != nil {
			r.Fatalf("the files of the test could not be written: %v", err)
		}
	}}
	for _, in := range test.Valid {
		var compact bytes.Buffer
		if err := json.Compact(&compact, in); err != nil {
			return false, err
		}
		s.Valid = append(s.Valid, compact.String())
	}
	if err := fillFolder(dir, test.Files); err != nil {
		return false, err
	}
	r := &toolReport{ctx: ctx, out: out}
	r.Run(t.Name, func(r toolcheck.T) { toolcheck.Run(r, s) })
	return r.broken, nil
}

// fillFolder makes a folder have these files, and no others.
func fillFolder(dir string, files map[string]string) error {
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range left {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, text := range files {
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(filepath.FromSlash(name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A toolReport writes what is found about a tool. It belongs to one goroutine at a time.
type toolReport struct {
	ctx    context.Context
	out    io.Writer
	depth  int
	broken bool
}

// Helper has no meaning here.
func (r *toolReport) Helper() {}

// Context is that of the command.
func (r *toolReport) Context() context.Context { return r.ctx }

// Error reports a fault.
func (r *toolReport) Error(args ...any) { r.fault(strings.TrimSuffix(fmt.Sprintln(args...), "\n")) }

// Errorf reports a fault.
func (r *toolReport) Errorf(format string, args ...any) { r.fault(fmt.Sprintf(format, args...)) }

// Fatal reports a fault and ends the part.
func (r *toolReport) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

// Fatalf reports a fault and ends the part.
func (r *toolReport) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *toolReport) fault(text string) {
	r.broken = true
	fmt.Fprintf(r.out, "%s  %s\n", strings.Repeat("  ", r.depth), visible.Indented(text))
}

// Run runs a part, and says whether it found a fault.
func (r *toolReport) Run(name string, part func(toolcheck.T)) {
	p := &toolReport{ctx: r.ctx, out: new(bytes.Buffer), depth: r.depth + 1}
	done := make(chan struct{})
	go func() {
		defer close(done)
		part(p)
	}()
	<-done
	word := "ok  "
	if p.broken {
		word, r.broken = "FAIL", true
	}
	fmt.Fprintf(r.out, "%s%s %s\n%s", strings.Repeat("  ", r.depth), word, name, p.out)
}
