package house

import (
	"go/ast"
	"go/types"
	"regexp"
	"testing"
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
