package house

import (
	"go/ast"
	"go/types"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ownsStdout are the packages that may name standard output and the loggers
// of the process, next to commands (package main). In stream-json mode stdout
// carries events and nothing else; one stray print breaks every reader.
var ownsStdout = matcher("./internal/cli/... ./cmd/...")

// processWide are names through which text leaves without an io.Writer or a
// *slog.Logger having been given.
var processWide = regexp.MustCompile(`^(` +
	`os\.Stdout|syscall\.Stdout|fmt\.Print(f|ln)?|` +
	`log\.(Print|Fatal|Panic)(f|ln)?|log\.(Output|Writer|Default|SetOutput|SetFlags|SetPrefix)|` +
	`log/slog\.(Debug|Info|Warn|Error)(Context)?|log/slog\.(Log|LogAttrs|Default|SetDefault|With)|` +
	`builtin\.print(ln)?)$`)

func TestStdoutBelongsToTheCommands(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		findings = append(findings, prints(p)...)
	}
	report(t, findings,
		"Take an io.Writer or a *slog.Logger through the constructor; only the command line decides where they lead.")
}

// prints returns the uses of process-wide outputs in p.
func prints(p *pkg) []string {
	if p.name == "main" || ownsStdout(node(module+"/"+p.dir)) {
		return nil
	}
	_, info := p.resolve()
	var out []string
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if name := globalName(info, n); processWide.MatchString(name) {
				out = append(out, p.at(n, "%s", name))
			}
			return true
		})
	}
	return out
}

// globalName returns "import/path.Name" for a use of another package's name,
// "builtin.name" for a built-in function and "" for anything else.
func globalName(info *types.Info, n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		if b, ok := info.Uses[n].(*types.Builtin); ok {
			return "builtin." + b.Name()
		}
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok {
			if imported, ok := info.Uses[x].(*types.PkgName); ok {
				return imported.Imported().Path() + "." + n.Sel.Name
			}
		}
	}
	return ""
}

func TestPrintsAreFound(t *testing.T) {
	tests := []struct {
		name, dir, src string
		want           []string
	}{
		{"writers that are given are fine", "a", `package a
			import ("fmt"; "io"; "log/slog")
			func f(w io.Writer, log *slog.Logger) { fmt.Fprintln(w, "x"); log.Info("x") }`, nil},
		{"standard output is found under any import name", "a", `package a
			import system "os"
			var w = system.Stdout`, []string{"a/x.go:3: os.Stdout"}},
		{"prints are found", "a", `package a
			import "fmt"
			func f() { fmt.Println(); println() }`, []string{"a/x.go:3: fmt.Println", "a/x.go:3: builtin.println"}},
		{"the loggers of the process are found", "a", `package a
			import ("log"; "log/slog")
			func f() { log.Fatalf("x"); slog.Info("x") }`, []string{"a/x.go:3: log.Fatalf", "a/x.go:3: log/slog.Info"}},
		{"a local name is not the package", "a", `package a
			type out struct{}
			func (out) Println() {}
			func f(fmt out) { fmt.Println() }`, nil},
		{"the command line may print", "internal/cli/flags", `package flags
			import "os"
			var w = os.Stdout`, nil},
		{"a command anywhere may print", "internal/x", `package main
			func main() { println() }`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, prints(snippet(t, tt.dir, tt.src))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
